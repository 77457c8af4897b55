"""A module as a flat list of operations: what it does to its input, one step at a time.

The module is traced by JAX, and calls inside calls are written out. What does not depend
on the input, such as ``1 / sqrt(var + eps)`` of a BatchNorm with running statistics, is
computed on the way: it is a constant of the network. In training a statistic of the batch
is one too, that of the *clean* pass.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import flax
import jax
from jax.extend import core

import jaxbern

_INLINED = {
    "jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call", "remat",
    "remat2", "checkpoint",
}  # fmt: skip
# Lines of these are not the user's.
_LIBRARIES = tuple(
    str(Path(str(package.__file__)).parent)
    for package in (jax, flax, jaxbern, jaxbern.kernels)
)
_REDUCTIONS = {"reduce_sum", "reduce_max", "reduce_min", "reduce_prod"}


@dataclass(eq=False)
class Value:
    """One array of the program; ``clean`` is what it holds, if that is computed."""

    shape: tuple[int, ...]
    dtype: Any
    name: str = "input"  # of the operation that made it
    params: dict[str, Any] = field(default_factory=dict)
    sources: tuple["Value", ...] = ()
    clean: Any = None
    constant: bool = False
    place: str = ""  # file, line and function of the user's code
    bind: Any = None  # the operation, on arrays


def traced(
    function: Callable, state: Any, x: jax.Array, *, training: bool
) -> tuple[Value, Value, Any]:
    """Trace ``function(state, x) -> (output, aux)`` into values from input to output.

    In training all values are computed as well, and ``aux`` is returned as arrays.
    """
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(state, x)
    leaves = jax.tree.leaves(state)
    start = Value(x.shape, x.dtype, clean=x if training else None)
    given = [*(_constant(leaf) for leaf in leaves), start]
    found = _run(closed.jaxpr, closed.consts, given, training, x.shape[:1])
    output, *rest = found
    _, aux = jax.tree.unflatten(
        jax.tree.structure(shapes), [output.clean, *(value.clean for value in rest)]
    )
    return start, output, aux


def _constant(array: Any) -> Value:
    kind = jax.typeof(array)
    return Value(kind.shape, kind.dtype, "constant", clean=array, constant=True)


def _run(jaxpr, consts, given: Sequence[Value], training: bool, batch) -> list[Value]:
    known: dict[Any, Value] = {}
    known.update(zip(jaxpr.constvars, map(_constant, consts), strict=True))
    known.update(zip(jaxpr.invars, given, strict=True))

    def read(atom) -> Value:
        return _constant(atom.val) if isinstance(atom, core.Literal) else known[atom]

    for equation in jaxpr.eqns:
        sources = [read(atom) for atom in equation.invars]
        inner = equation.params.get("jaxpr", equation.params.get("call_jaxpr"))
        name = equation.primitive.name
        if name in _INLINED and inner is not None:
            closed = getattr(inner, "jaxpr", inner)
            made = _run(closed, getattr(inner, "consts", ()), sources, training, batch)
        else:
            made = _operation(equation, sources, training, batch)
        known.update(zip(equation.outvars, made, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _operation(equation, sources: list[Value], training: bool, batch) -> list[Value]:
    name, params = equation.primitive.name, equation.params
    constant = all(source.constant for source in sources)
    if training and name in _REDUCTIONS and 0 in params["axes"]:
        constant = constant or sources[0].shape[:1] == batch
    clean: Sequence[Any] = [None] * len(equation.outvars)

    def bind(*arrays):
        options = equation.primitive.get_bind_params(params)
        return equation.primitive.bind(*arrays, **options)

    if constant or training:
        arrays = [source.clean for source in sources]
        # Numbers written in the code stay numbers, by which formulas are recognised.
        written = not any(isinstance(array, jax.core.Tracer) for array in arrays)
        with jax.ensure_compile_time_eval() if written else contextlib.nullcontext():
            found = bind(*arrays)
        clean = found if equation.primitive.multiple_results else [found]
    place = "" if constant else _place(equation)
    return [
        Value(out.aval.shape, getattr(out.aval, "dtype", None), name, params,
              tuple(sources), array, constant, place, bind)
        for out, array in zip(equation.outvars, clean, strict=True)
    ]  # fmt: skip


def _place(equation) -> str:
    """Return the line of the user's code of an operation; empty if JAX does not know it."""
    frames = getattr(equation.source_info.traceback, "frames", None) or ()
    for frame in frames:  # innermost first
        if not frame.file_name.startswith(_LIBRARIES):
            return f"{Path(frame.file_name).name}, line {frame.line_num}"
    return ""
