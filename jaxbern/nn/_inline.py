"""Find activations that a module calls in its code, which cannot be replaced."""

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
    """List calls of known functions in the methods of these classes, in source order."""
    found = []
    for kind in dict.fromkeys(classes):
        for name, method in vars(kind).items():
            plain = inspect.unwrap(method) if callable(method) else method
            # Skip functions that are the default value of a dataclass field.
            own = getattr(plain, "__qualname__", "").startswith(kind.__qualname__ + ".")
            if own and isinstance(plain, FunctionType):
                found += _in_method(f"{kind.__name__}.{name}", plain, known)
    return found


def _in_method(name: str, method: FunctionType, known: Any) -> Iterator[Inline]:
    try:
        lines, first = inspect.getsourcelines(method)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    # Source not available, or a lambda inside an expression.
    except (OSError, SyntaxError):
        return
    file = method.__code__.co_filename.replace("\\", "/").rpartition("/")[2]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = _resolved(node.func, method)
            if function is not None and known(function):
                where = f"{name}, line {first + node.lineno - 1} of {file}"
                yield Inline(where, ast.unparse(node), function)


def _resolved(node: ast.expr, method: FunctionType) -> Any:
    """Resolve ``nnx.relu`` or ``relu`` in the method's module; None if unknown."""
    if isinstance(node, ast.Name):
        cells = zip(method.__code__.co_freevars, method.__closure__ or (), strict=False)
        enclosed = {name: cell.cell_contents for name, cell in cells}
        return enclosed.get(node.id, method.__globals__.get(node.id))
    if isinstance(node, ast.Attribute):
        owner = _resolved(node.value, method)
        return None if owner is None else getattr(owner, node.attr, None)
    return None
