"""``vmap`` of the primitives: one more axis, wherever it is needed."""

from collections.abc import Callable

import jax.numpy as jnp


def by_kinds(bind: Callable, kinds: Callable[..., tuple[str, str]]) -> Callable:
    """The batching rule of a primitive, from how its operands and results are shaped.

    ``kinds`` gives a letter for each: like ``x``, coefficients (``c``) or bounds (``b``). The
    new axis comes first, in coefficients behind k. It has the whole batch in ``x``, and in
    coefficients and bounds when one of their kind is batched or the result has a
    gradient of that kind for each member of the batch. Else it has size 1, which
    broadcasts.
    """

    def rule(args, dims, **params):
        size = next(
            a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None
        )
        flags = {name: params[name] for name in ("interval",) if name in params}
        inputs, outputs = kinds(len(args), **flags)
        batched = {k for k, d in zip(inputs, dims, strict=True) if d is not None}
        whole = {"x", *batched, *outputs}
        moved = []
        for kind, a, d in zip(inputs, args, dims, strict=True):
            axis = int(kind == "c")
            a = jnp.expand_dims(a, axis) if d is None else jnp.moveaxis(a, d, axis)
            if kind in whole:
                a = jnp.broadcast_to(a, (*a.shape[:axis], size, *a.shape[axis + 1 :]))
            moved.append(a)
        if "shape" in params:
            degree, *rest = params["shape"]
            params["shape"] = (degree, size, *rest)
        out_dims = tuple(int(kind == "c") for kind in outputs)
        return bind(*moved, **params), out_dims if len(out_dims) > 1 else out_dims[0]

    return rule
