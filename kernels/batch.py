"""``vmap`` of the primitives: one more axis, wherever it is needed."""

from collections.abc import Callable

import jax.numpy as jnp


def by_kinds(bind: Callable, operands: str, result: str | None = None) -> Callable:
    """The batching rule of a primitive, from how its operands and results are shaped.

    A letter for each: like ``x``, coefficients (``c``) or the interval (``i``). Without
    ``result`` there are several, those ``wanted``. The new axis comes first, in
    coefficients and interval behind their own. It has the whole batch in ``x``, and in
    coefficients and interval when one of their kind is batched or the result has a
    gradient of that kind for each member of the batch. Else it has size 1, which
    broadcasts.
    """

    def rule(args, dims, **params):
        inputs = operands[: len(args)]
        outputs = result or params["wanted"]
        sizes = (a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None)
        size = next(sizes)
        batched = {k for k, d in zip(inputs, dims, strict=True) if d is not None}
        whole = {"x", *batched, *outputs}
        moved = []
        for kind, a, d in zip(inputs, args, dims, strict=True):
            axis = int(kind != "x")
            a = jnp.expand_dims(a, axis) if d is None else jnp.moveaxis(a, d, axis)
            if kind in whole:
                a = jnp.broadcast_to(a, (*a.shape[:axis], size, *a.shape[axis + 1 :]))
            moved.append(a)
        if "shape" in params:
            degree, *rest = params["shape"]
            params["shape"] = (degree, size, *rest)
        out_dims = [int(kind != "x") for kind in outputs]
        return bind(*moved, **params), out_dims[0] if result else out_dims

    return rule
