"""Values put together entry by entry: side by side, or chosen by a mask."""

import functools
from typing import Any

import jax
import jax.numpy as jnp

from jaxbern.certify._nodes import Graph, Linear, Sum
from jaxbern.certify._trace import Value


def chosen(graph: Graph, value: Value, number: Any) -> int:
    """Entries of several values by a mask that does not depend on the input: dropout."""
    which, *cases = value.sources
    at = jnp.broadcast_to(jnp.asarray(which.clean), value.shape)

    def kept(x, k):
        return jnp.where(at == jnp.asarray(k, at.dtype), x, jnp.zeros_like(x))

    places = [functools.partial(kept, k=k) for k in range(len(cases))]
    return _placed(graph, value, cases, places, number)


def joined(graph: Graph, value: Value, number: Any) -> int:
    """Values side by side: each is padded with zeros to its place, and they are added."""
    axis, places, start = value.params["dimension"], [], 0
    for source in value.sources:
        around: list[tuple[int, int, int]] = [(0, 0, 0)] * len(value.shape)
        stop = start + source.shape[axis]
        around[axis] = (start, value.shape[axis] - stop, 0)
        places.append(functools.partial(_padded, around=around))
        start = stop
    return _placed(graph, value, value.sources, places, number)


def _padded(x, around):
    return jax.lax.pad(x, jnp.zeros((), x.dtype), around)


def _placed(graph: Graph, value: Value, sources, places, number: Any) -> int:
    """Sum values, each at its place; constants become a shift."""
    shift, found = None, []
    for source, place in zip(sources, places, strict=True):
        if source.constant:
            own = place(jnp.asarray(source.clean, value.dtype))
            shift = own if shift is None else shift + own
        else:
            step = Linear(number(source), source.shape, value.shape, place)
            found.append(graph.append(step))
    total = found[0]
    for other in found[1:]:
        total = graph.append(Sum((total, other), value.shape))
    if shift is None:
        return total
    step = Linear(total, value.shape, value.shape, _same, shift=shift, terms=1)
    return graph.append(step)


def _same(x):
    return x
