"""Activations that a module calls by name in its code, where nothing can be replaced."""

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any, NamedTuple


class Inline(NamedTuple):
    """One call in the source of a module."""

    where: str  # "Net.__call__, line 12 of net.py"
    call: str  # "nnx.relu(self.first(x))"
    function: Any


def inline_calls(classes: Iterable[type], known: Any) -> list[Inline]:
    """Calls of known functions in the methods of these classes, in order of the source."""
    found = []
    for kind in dict.fromkeys(classes):
        for name, method in vars(kind).items():
            plain = inspect.unwrap(method) if callable(method) else method
            # Not a function that is the default of a field.
            own = getattr(plain, "__qualname__", "").startswith(kind.__qualname__ + ".")
            if own and isinstance(plain, FunctionType):
                found += _in_method(f"{kind.__name__}.{name}", plain, known)
    return found


def _in_method(name: str, method: FunctionType, known: Any) -> Iterator[Inline]:
    try:
        lines, first = inspect.getsourcelines(method)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError):  # typed into an interpreter, or a lambda in a line
        return
    file = method.__code__.co_filename.replace("\\", "/").rpartition("/")[2]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = _resolved(node.func, method)
            if function is not None and known(function):
                where = f"{name}, line {first + node.lineno - 1} of {file}"
                yield Inline(where, ast.unparse(node), function)


def _resolved(node: ast.expr, method: FunctionType) -> Any:
    """What ``nnx.relu`` or ``relu`` stands for in the method's module; None if unknown."""
    if isinstance(node, ast.Name):
        cells = zip(method.__code__.co_freevars, method.__closure__ or (), strict=False)
        enclosed = {name: cell.cell_contents for name, cell in cells}
        return enclosed.get(node.id, method.__globals__.get(node.id))
    if isinstance(node, ast.Attribute):
        owner = _resolved(node.value, method)
        return None if owner is None else getattr(owner, node.attr, None)
    return None
