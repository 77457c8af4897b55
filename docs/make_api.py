"""Writes ``api.md`` from the docstrings: ``python docs/make_api.py``."""

import importlib
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("api.md")
# Module, and the names in the order in which a reader meets them.
NAMES = {
    "jaxbern": (
        "bernstein",
        "bernstein_norm",
        "BernsteinAct",
        "MLP",
        "saturation",
        "explain",
        "implementation",
        "autotune",
    ),
    "jaxbern.linen": ("BernsteinAct",),
    "jaxbern.initializers": (
        "smooth",
        "normal",
        "xavier",
        "from_function",
        "identity",
        "relu",
        "ramp",
    ),
    "jaxbern.poly": (
        "basis",
        "derivative",
        "elevate",
        "restrict",
        "from_function",
        "to_power",
    ),
    "jaxbern.certify": ("bounds", "lipschitz"),
    "jaxbern.train": (
        "fit",
        "TrainConfig",
        "NetworkConfig",
        "Result",
        "Stop",
        "Callback",
        "JsonLines",
        "TensorBoard",
        "WandB",
    ),
    "jaxbern.optim": ("adamw", "reduce_on_plateau"),
    "jaxbern.metrics": ("auc",),
    "jaxbern.data": ("load", "higgs", "susy", "split", "Dataset", "Split"),
    "jaxbern.plot": ("activations", "activation_evolution", "decision_boundary"),
}

_OF_PYTHON = ("self", "cls", "parent", "name")  # the last two are every Linen module's


def page() -> str:
    """The whole reference."""
    parts = [
        "# Reference\n",
        "Written by `python docs/make_api.py` from the docstrings.\n",
    ]
    for module, names in NAMES.items():
        found = importlib.import_module(module)
        short = module.replace("jaxbern", "jb")
        parts.append(f"## `{short}`\n")
        parts.append(_text(found))
        parts += [_entry(f"{short}.{name}", getattr(found, name)) for name in names]
    return "\n".join(parts)


def _entry(name: str, thing: Any) -> str:
    lines = [f"### `{name}`\n", "```python", f"{name}{_signature(thing)}", "```\n"]
    lines.append(_text(thing))
    if inspect.isclass(thing):
        for method, function in vars(thing).items():
            function = getattr(function, "__func__", function)  # a class method's
            if not method.startswith("_") and inspect.isfunction(function):
                lines.append(f"**`.{method}{_signature(function)}`**\n")
                lines.append(_text(function))
    return "\n".join(lines)


def _signature(thing: Any) -> str:
    """Names and defaults; the types are in the text, and JAX writes them in many ways."""
    called = inspect.signature(thing.__init__ if inspect.isclass(thing) else thing)
    named = [
        parameter.replace(annotation=parameter.empty)
        for name, parameter in called.parameters.items()
        if name not in _OF_PYTHON and parameter.kind is not parameter.VAR_POSITIONAL
    ]
    text = str(inspect.Signature(named))
    text = re.sub(
        r"<(?:class|built-in function|function) '?(?:\w+\.)*(\w+)'?>", r"\1", text
    )
    return text.replace("'", '"')


def _text(thing: Any) -> str:
    """A docstring as Markdown, paragraph by paragraph."""
    paragraphs = (inspect.getdoc(thing) or "").split("\n\n")
    return "\n".join(_paragraph(textwrap.dedent(text)) for text in paragraphs) + "\n"


def _paragraph(text: str) -> str:
    if text.startswith(">>>"):
        return f"```pycon\n{text}\n```\n"
    if text.startswith(".. math::"):
        return f"$${text.removeprefix('.. math::').strip()}$$\n"
    title, _, rest = text.partition("\n")
    if title in ("Args:", "Returns:", "Raises:", "Attributes:", "Example:"):
        return f"**{title[:-1]}**\n\n{_paragraph(textwrap.dedent(rest))}"
    text = re.sub(r":(?:func|class|meth|mod|data):`~?([^`]+)`", r"`\1`", text)
    if not text.startswith("Reference"):
        text = re.sub(r"^(\w+): ", r"- `\1`: ", text, flags=re.MULTILINE)
    return text.replace("``", "`") + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE}")
