"""Turn the operations of a traced module into the steps that bounds are computed on."""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbern.certify._nodes import Bernstein, Fixed, Graph, Increasing, Linear, Sum
from jaxbern.certify._patterns import recognised
from jaxbern.certify._places import chosen, joined
from jaxbern.certify._trace import Value

# Operations that copy, move or leave out entries, or write them in a wider type.
_MOVES = {
    "reshape", "transpose", "squeeze", "expand_dims", "slice", "rev", "copy",
    "convert_element_type",
}  # fmt: skip
_HIGHEST = jax.lax.Precision.HIGHEST


def steps(start: Value, end: Value) -> tuple[Graph, int]:
    """List the steps from the input to the output, and the number of the last one."""
    graph = Graph(start.shape)
    known = {start: 0}

    def number(value: Value) -> int:
        if value not in known:
            known[value] = _step(graph, value, number)
        return known[value]

    if end.constant:
        raise ValueError(
            "the module's output does not depend on its input, so there is nothing to bound"
        )
    return graph, number(end)


def _step(graph: Graph, value: Value, number: Any) -> int:
    """Add what computes one value; ``number`` gives the steps it depends on."""
    function = recognised(value)
    if function is not None:
        return _activation(graph, value, number, *function)
    moving = [source for source in value.sources if not source.constant]
    name, shape = value.name, value.shape
    if name in ("tanh", "logistic"):
        known = {"tanh": "tanh", "logistic": "sigmoid"}[name]
        return graph.append(Fixed(number(moving[0]), shape, known))
    if name in ("add", "add_any") and len(moving) == 2:
        return graph.append(Sum((number(moving[0]), number(moving[1])), shape))
    if name == "sub" and len(moving) == 2:
        minus = _scaled(graph, number(moving[1]), shape, -1.0)
        return graph.append(Sum((number(moving[0]), minus), shape))
    if name == "select_n" and value.sources[0].constant:
        return chosen(graph, value, number)
    if name == "concatenate":
        return joined(graph, value, number)
    if name in _RULES and len(moving) == 1:
        return _RULES[name](graph, value, number(moving[0]))
    if name in _MOVES and len(moving) == 1 and not _narrows(value):
        return _linear(graph, number(moving[0]), shape, value.bind)
    raise _unknown(value, len(moving))


def _activation(graph, value: Value, number, name: str, x: Value, slope: Any) -> int:
    source = number(x)
    if name != "leaky":
        return graph.append(Fixed(source, value.shape, name))
    # slope x + (1 - slope) relu(x): for slopes from 0 to 1 both rise, nothing is lost.
    line = _scaled(graph, source, value.shape, slope)
    bent = graph.append(Fixed(source, value.shape, "relu"))
    bent = _scaled(graph, bent, value.shape, 1 - slope)
    return graph.append(Sum((line, bent), value.shape))


def _scaled(graph: Graph, source: int, shape, factor: float) -> int:
    constant = jnp.full(shape, factor, jnp.result_type(float))
    return _linear(graph, source, shape, _times, constant, terms=1)


def _linear(graph: Graph, source: int, shape, apply, *constants, **options) -> int:
    before = graph.shape_of(source)
    return graph.append(Linear(source, before, shape, apply, constants, **options))


def _times(x, factors):
    return x * factors.astype(x.dtype)


def _same(x):
    return x


def _other(value: Value) -> Any:
    """Return the constant that a value is combined with."""
    return next(source.clean for source in value.sources if source.constant)


def _full(value: Value) -> jax.Array:
    """Broadcast the constant to the value's shape."""
    return jnp.broadcast_to(jnp.asarray(_other(value), value.dtype), value.shape)


def _add(graph: Graph, value: Value, source: int) -> int:
    source = _widened(graph, value, source)
    return _linear(graph, source, value.shape, _same, shift=_full(value), terms=1)


def _sub(graph: Graph, value: Value, source: int) -> int:
    source = _widened(graph, value, source)
    shift = _full(value)
    if value.sources[0].constant:
        source = _scaled(graph, source, value.shape, -1.0)
    else:
        shift = -shift
    return _linear(graph, source, value.shape, _same, shift=shift, terms=1)


def _mul(graph: Graph, value: Value, source: int) -> int:
    source = _widened(graph, value, source)
    return _linear(graph, source, value.shape, _times, _full(value), terms=1)


def _div(graph: Graph, value: Value, source: int) -> int:
    if value.sources[0].constant:
        raise _unknown(value, 1)
    source = _widened(graph, value, source)
    return _linear(graph, source, value.shape, _times, 1 / _full(value), terms=1)


def _neg(graph: Graph, value: Value, source: int) -> int:
    return _scaled(graph, source, value.shape, -1.0)


def _widened(graph: Graph, value: Value, source: int) -> int:
    """Broadcast the operand that depends on the input to the shape of the result."""
    have = graph.shape_of(source)
    if have == value.shape:
        return source

    def spread(x):
        return jnp.broadcast_to(x, value.shape)

    terms = math.prod(value.shape) // max(math.prod(have), 1)
    return _linear(graph, source, value.shape, spread, terms=terms)


def _dot(graph: Graph, value: Value, source: int) -> int:
    (left, right), (left_batch, right_batch) = value.params["dimension_numbers"]
    first = value.sources[0].constant
    constant = value.sources[0 if first else 1]
    mine, batch = (left, left_batch) if first else (right, right_batch)
    inner = math.prod(constant.shape[axis] for axis in mine)
    shared = math.prod(constant.shape[axis] for axis in batch)
    outer = math.prod(constant.shape) // max(inner * shared, 1)
    return _product(graph, value, source, max(inner, outer))


def _conv(graph: Graph, value: Value, source: int) -> int:
    if value.params["batch_group_count"] != 1 or value.sources[0].constant:
        raise _unknown(value, 1)
    kernel = value.sources[1].shape
    out, inner, *window = (
        kernel[a] for a in value.params["dimension_numbers"].rhs_spec
    )
    out = out // value.params["feature_group_count"]
    return _product(graph, value, source, math.prod(window) * max(out, inner))


def _product(graph: Graph, value: Value, source: int, terms: int) -> int:
    """Add a product with a constant array, in full precision."""
    first = value.sources[0].constant
    run = {"dot_general": jax.lax.dot_general_p,
           "conv_general_dilated": jax.lax.conv_general_dilated_p}[value.name]  # fmt: skip
    options = value.params | {"precision": (_HIGHEST, _HIGHEST)}

    def apply(x, constant):
        pair = (constant, x) if first else (x, constant)
        return run.bind(*pair, **options)

    constant = jnp.asarray(_other(value))
    shape = value.shape
    return _linear(graph, source, shape, apply, constant, terms=terms, mixes=True)


def _spread(graph: Graph, value: Value, source: int) -> int:
    have = math.prod(value.sources[0].shape)
    terms = math.prod(value.shape) // max(have, 1)
    terms = terms if terms > 1 else 0
    return _linear(graph, source, value.shape, value.bind, terms=terms)


def _total(graph: Graph, value: Value, source: int) -> int:
    have = math.prod(value.sources[0].shape)
    terms = have // max(math.prod(value.shape), 1)
    return _linear(graph, source, value.shape, value.bind, terms=terms, mixes=True)


def _window_total(graph: Graph, value: Value, source: int) -> int:
    terms = math.prod(value.params["window_dimensions"])
    return _linear(graph, source, value.shape, value.bind, terms=terms, mixes=True)


def _largest(graph: Graph, value: Value, source: int) -> int:
    return graph.append(Increasing(source, value.shape, value.bind))


def _cut(graph: Graph, value: Value, source: int, *, sign: float) -> int:
    """Rewrite ``max(x, c) = c + relu(x - c)``, and ``min(x, c) = -max(-x, -c)``."""
    source = _widened(graph, value, source)
    shape, level = value.shape, _full(value)
    number = _other(value)
    zero = not isinstance(number, jax.core.Tracer) and not np.any(np.asarray(number))
    if sign < 0:
        source = _scaled(graph, source, shape, -1.0)
    if not zero:
        shift = -sign * level
        source = _linear(graph, source, shape, _same, shift=shift, terms=1)
    source = graph.append(Fixed(source, shape, "relu"))
    if sign < 0:
        source = _scaled(graph, source, shape, -1.0)
    if not zero:
        source = _linear(graph, source, shape, _same, shift=level, terms=1)
    return source


def _pad(graph: Graph, value: Value, source: int) -> int:
    """Pad with zeros; another padding value is added afterwards."""
    fill = value.sources[1].clean
    zero = jnp.zeros_like(fill)

    def apply(x):
        return value.bind(x, zero.astype(x.dtype))

    if value.sources[0].constant:
        raise _unknown(value, 1)
    shift = value.bind(jnp.zeros(value.sources[0].shape, value.dtype), fill)
    return _linear(graph, source, value.shape, apply, shift=shift, terms=1)


def _bernstein(graph: Graph, value: Value, source: int) -> int:
    if value.sources[0].constant or len(value.sources) > 3:
        raise _unknown(value, 1)
    coeffs, interval = (source.clean for source in value.sources[1:])
    if len(interval) != 2:  # of bernstein_norm, which subtracts a mean as well
        mean = jnp.broadcast_to(interval[2], value.shape)
        source = _linear(graph, source, value.shape, _same, shift=-mean, terms=1)
    step = Bernstein(
        source, value.shape, coeffs, interval[0], interval[1], value.params["outside"]
    )
    return graph.append(step)


_RULES = {
    "add": _add,
    "add_any": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "neg": _neg,
    "max": functools.partial(_cut, sign=1.0),
    "min": functools.partial(_cut, sign=-1.0),
    "pad": _pad,
    "dot_general": _dot,
    "conv_general_dilated": _conv,
    "broadcast_in_dim": _spread,
    "reduce_sum": _total,
    "reduce_window_sum": _window_total,
    "reduce_window_max": _largest,
    "reduce_max": _largest,
    "bernstein": _bernstein,
}


def _narrows(value: Value) -> bool:
    """Return whether an operation rounds to a narrower type."""
    if value.name != "convert_element_type":
        return False
    before, after = value.sources[0].dtype, value.dtype
    with jax.numpy_dtype_promotion("standard"):
        return jnp.promote_types(before, after) != after


def _unknown(value: Value, moving: int) -> NotImplementedError:
    what = f"the operation {value.name!r}"
    if value.name == "convert_element_type":
        what = f"rounding to {value.dtype}"
    elif value.name in ("mul", "dot_general", "div") and moving > 1:
        what = "a product or quotient of two values that both depend on the input"
    elif value.name in ("scan", "while", "cond"):
        what = f"a loop or a branch ({value.name})"
    where = f" ({value.place})" if value.place else ""
    return NotImplementedError(
        f"there are no bounds for {what}{where}; bounds are known for Linear, Conv, "
        "BatchNorm in evaluation mode, average and maximum pooling, reshaping, sums and "
        "skips, BernsteinAct, relu, leaky_relu, gelu, silu, elu, selu, softplus, tanh and "
        "sigmoid: write the network with these"
    )
