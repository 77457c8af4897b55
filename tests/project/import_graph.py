"""The imports of all modules, read from their source.

Imports inside functions are included. ``jaxbern.kernels`` is the folder ``kernels``. A
package that is asked for by name, as in ``importlib.import_module("pyarrow")`` or
``optional("pyarrow")``, counts as imported.
"""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "jaxbern": "jaxbern",
    "kernels": "jaxbern.kernels",
    "experiments": "experiments",
}
BY_NAME = {"__import__", "import_module", "optional", "_optional"}


class Import(NamedTuple):
    of: str
    inside_function: bool


@functools.cache
def modules() -> dict[str, Path]:
    found = {}
    for folder, package in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            own = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join([package, *own])] = path
    return found


@functools.cache
def imports() -> dict[str, list[Import]]:
    return {
        name: list(imports_in(ast.parse(path.read_text()), False))
        for name, path in modules().items()
    }


def imports_in(tree: ast.AST, inside: bool) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node = ast.Module(node.orelse, [])  # the rest is never run
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports of this repository name the whole path"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield Import(whole if whole in modules() else str(node.module), inside)
        elif isinstance(node, ast.Call) and called(node) in BY_NAME:
            yield from (Import(name, inside) for name in first_word(node))
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from imports_in(node, inside or function)


def called(node: ast.Call) -> str:
    return getattr(node.func, "attr", None) or getattr(node.func, "id", "")


def first_word(node: ast.Call) -> Iterator[str]:
    """The module asked for, as far as it is written out: ``f"matplotlib.{part}"``."""
    argument = node.args[0] if node.args else None
    if isinstance(argument, ast.JoinedStr):
        argument = argument.values[0]
    if isinstance(argument, ast.Constant):
        yield str(argument.value).rstrip(".")


def is_ours(name: str) -> bool:
    return name.partition(".")[0] in ("jaxbern", "experiments", "tests")


def loaded_by(start: str) -> set[str]:
    """Modules of ours that are loaded with one, by what they import at module level."""
    found, waiting = set(), [start]
    while waiting:
        name = waiting.pop()
        if name in found or name not in modules():
            continue
        found.add(name)
        waiting += [each.of for each in imports()[name] if not each.inside_function]
        waiting.append(name.rpartition(".")[0])
    return found
