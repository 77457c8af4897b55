"""Writes ``api.md`` from the docstrings: ``python docs/make_api.py``."""

import importlib
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

from flax import linen

PAGE = Path(__file__).with_name("api.md")
# Module, and its public names in the order in which a reader meets them.
NAMES = {
    "jaxbern": (
        "bernstein",
        "bernstein_norm",
        "BernsteinAct",
        "MLP",
        "NetworkConfig",
        "convert",
        "inspect",
        "saturation",
        "explain",
        "implementation",
        "autotune",
    ),
    "jaxbern.linen": ("BernsteinAct", "convert"),
    "jaxbern.initializers": (
        "smooth",
        "normal",
        "xavier",
        "paper",
        "from_function",
        "identity",
        "relu",
        "ramp",
        "get",
        "of_network",
        "Initializer",
    ),
    "jaxbern.poly": (
        "basis",
        "derivative",
        "elevate",
        "restrict",
        "from_function",
        "to_power",
    ),
    "jaxbern.certify": (
        "bounds",
        "robustness",
        "robust_loss",
        "RobustSchedule",
        "lipschitz",
        "margin_weights",
        "Ball",
        "Bounds",
        "Robustness",
    ),
    "jaxbern.train": (
        "fit",
        "TrainConfig",
        "NetworkConfig",
        "Result",
        "Stop",
        "Callback",
        "ProgressBar",
        "JsonLines",
        "TensorBoard",
        "WandB",
        "CheckpointError",
        "Epochs",
        "epoch_program",
        "Interrupts",
    ),
    "jaxbern.optim": (
        "adamw",
        "reduce_on_plateau",
        "learning_rate",
        "ReduceOnPlateau",
        "PlateauState",
    ),
    "jaxbern.metrics": ("auc",),
    "jaxbern.data": (
        "load",
        "higgs",
        "susy",
        "split",
        "Dataset",
        "Split",
        "DataError",
        "inventory",
        "DataFile",
        "DataCopy",
        "fingerprint",
        "cache_folder",
    ),
    "jaxbern.data.collider": ("higgs", "susy"),
    "jaxbern.plot": (
        "activations",
        "activation",
        "activation_evolution",
        "decision_boundary",
        "inspection",
    ),
}

_LINE = 88


def page() -> str:
    """The whole reference."""
    parts = [
        "# Reference\n",
        "Written by `python docs/make_api.py` from the docstrings.\n",
    ]
    for module, names in NAMES.items():
        found = importlib.import_module(module)
        if set(names) != (public := _public(found)):
            raise ValueError(
                f"NAMES must hold the public names of {module}; missing or too many: "
                f"{sorted(public ^ set(names))}"
            )
        short = module.replace("jaxbern", "jb")
        parts.append(f"## `{short}`\n")
        parts.append(_text(found))
        parts += [_entry(f"{short}.{name}", getattr(found, name)) for name in names]
    return "\n".join(parts)


def _public(module: Any) -> set[str]:
    """What ``__all__`` says; else what a module defines or a package re-exports."""
    if hasattr(module, "__all__"):
        return set(module.__all__)
    home = "jaxbern" if hasattr(module, "__path__") else module.__name__
    return {
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and str(getattr(thing, "__module__", "")).startswith(home)
    }


def _entry(name: str, thing: Any) -> str:
    parts = [f"### `{name}`\n", _fenced("text", _wrapped(name, _signature(thing)))]
    parts.append(_text(thing))
    if not inspect.isclass(thing):
        return "\n".join(parts)
    for member, value in vars(thing).items():
        function = getattr(value, "__func__", value)  # a class method's
        if member == "__init__" and function.__doc__:
            parts.append(_text(function))
        elif member.startswith("_"):
            continue
        elif isinstance(value, property):
            parts += [f"**`.{member}`**\n", _text(value)]
        elif inspect.isfunction(function) and function.__doc__:
            parts += [f"**`.{member}{_signature(function)}`**\n", _text(function)]
    return "\n".join(parts)


def _signature(thing: Any) -> str:
    """Names and defaults; the types are in the text, and JAX writes them in many ways."""
    left_out = {"self", "cls"}
    if inspect.isclass(thing):
        if issubclass(thing, Exception):
            return ""
        if issubclass(thing, linen.Module):
            left_out |= {"parent", "name"}  # every Linen module has them
        if getattr(thing, "_is_protocol", False):
            thing = thing.__call__
        elif thing.__init__ is not object.__init__:
            thing = thing.__init__
    named = [
        parameter.replace(annotation=parameter.empty)
        for name, parameter in inspect.signature(thing).parameters.items()
        if name not in left_out and parameter.kind is not parameter.VAR_POSITIONAL
    ]
    text = str(inspect.Signature(named))
    text = re.sub(
        r"<(?:class|built-in function|function) '?(?:\w+\.)*(\w+)'?(?: at \w+)?>",
        r"\1",
        text,
    )
    return text.replace("'", '"')


def _wrapped(name: str, signature: str) -> str:
    """One line, or one for each argument."""
    if len(name + signature) <= _LINE:
        return name + signature
    # A comma between arguments has a name, a star or a slash behind it; one in a
    # tuple has a number.
    arguments = re.split(r", (?=[A-Za-z_*/])", signature[1:-1])
    lines = "".join(f"    {argument},\n" for argument in arguments)
    return f"{name}(\n{lines})"


def _text(thing: Any) -> str:
    """A docstring as Markdown, paragraph by paragraph."""
    paragraphs = (inspect.getdoc(thing) or "").split("\n\n")
    return "\n".join(map(_paragraph, paragraphs)) + "\n"


def _paragraph(text: str) -> str:
    if text.startswith("    "):
        return _fenced("text", textwrap.dedent(text))
    text = textwrap.dedent(text)
    if text.startswith(">>>"):
        return _fenced("pycon", text.replace("  # doctest: +SKIP", ""))
    if text.startswith(".. math::"):
        return f"$${' '.join(text.removeprefix('.. math::').split())}$$\n"
    title, _, rest = text.partition("\n")
    if title in ("Args:", "Returns:", "Raises:", "Attributes:", "Example:"):
        return f"**{title[:-1]}**\n\n{_paragraph(textwrap.dedent(rest))}"
    text = re.sub(r":(?:func|class|meth|mod|data):`~?([^`]+)`", r"`\1`", text)
    if not text.startswith("Reference"):
        text = re.sub(r"^(\w+): ", r"- `\1`: ", text, flags=re.MULTILINE)
    return text.replace("``", "`") + "\n"


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE}")
