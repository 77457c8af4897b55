"""What callers pass to ``jaxbern.certify``, checked before any work."""

import numbers
from typing import Any

import jax
import numpy as np
from flax import nnx
from jax.typing import ArrayLike

from jaxbern.certify._rounding import Bounds
from jaxbern.nn import MLP, BernsteinAct
from jaxbern.op import arithmetic, floating

_MOST_SPLITS = 16


def check_network(network: Any) -> None:
    """A network or an activation whose numbers do not depend on a batch."""
    if not isinstance(network, MLP | BernsteinAct):
        raise TypeError(
            "network must be a jaxbern.MLP or a jaxbern.BernsteinAct, got "
            f"{type(network).__name__}; bounds of other modules need their structure, "
            "which is not known here"
        )
    batch = isinstance(network, MLP) or network.config.domain == "batch"
    if batch and not network.use_running_average:
        raise ValueError(
            "network must be in evaluation mode: in training its outputs depend on the "
            "whole batch; call network.eval() first"
        )


def check_choice(name: str, value: Any, choices: tuple) -> None:
    """One of a few."""
    if value not in choices:
        listed = " or ".join(map(repr, choices))
        raise ValueError(f"{name} must be {listed}, got {value!r}")


def check_splits(splits: Any, *, has_box: bool = True) -> None:
    """A number of rounds."""
    if isinstance(splits, bool) or not isinstance(splits, numbers.Integral):
        raise TypeError(f"splits must be an int, got {splits!r}")
    if not 0 <= int(splits) <= _MOST_SPLITS:
        raise ValueError(
            f"splits must be from 0 to {_MOST_SPLITS}, as there are 2**splits boxes, "
            f"got {splits}"
        )
    if splits and not has_box:
        raise ValueError(
            f"splits is for a box, of which there is none: give lower and upper, or "
            f"leave out splits={splits}"
        )


def box_of(lower: ArrayLike, upper: ArrayLike, features: int, *others: Any) -> Bounds:
    """Both ends, ``[..., features]``, in the dtype to compute in."""
    given = lower, upper
    ends = Bounds(_outward("lower", lower, -np.inf), _outward("upper", upper, np.inf))
    for name, end in zip(("lower", "upper"), ends, strict=True):
        if end.shape[-1:] != (features,) or end.shape != ends.lower.shape:
            raise ValueError(
                f"lower and upper must both have shape [..., {features}], one number for "
                f"each input; {name} has {list(end.shape)}"
            )
    if not any(isinstance(end, jax.core.Tracer) for end in given):
        low, high = (np.asarray(end, np.float64) for end in given)
        if not (low <= high).all():
            raise ValueError(
                "lower must be at most upper everywhere, and neither may be NaN; got "
                f"lower={low.tolist()}, upper={high.tolist()}"
            )
    dtype = arithmetic(*(end.dtype for end in ends), *others)
    return Bounds(*(end.astype(dtype) for end in ends))


def _outward(name: str, end: ArrayLike, direction: float) -> jax.Array:
    """An end as JAX holds it; what it would round to the nearest goes outward."""
    if isinstance(end, jax.Array):
        return floating(name, end)
    wide = np.asarray(end)
    narrow = jax.dtypes.canonicalize_dtype(wide.dtype)
    if wide.dtype.kind != "f" or narrow == wide.dtype:
        return floating(name, wide)
    with np.errstate(over="ignore", under="ignore"):
        nearest = wide.astype(narrow)
    inside = nearest > wide if direction < 0 else nearest < wide
    step = np.nextafter(nearest, narrow.type(direction))
    return floating(name, np.where(inside, step, nearest))


def optional_box(
    lower: ArrayLike | None, upper: ArrayLike | None, features: int, *others: Any
) -> Bounds | None:
    """A box, or None for all inputs."""
    if (lower is None) != (upper is None):
        raise ValueError(
            "lower and upper belong together: give both for a box, or neither for all "
            f"inputs; got lower={lower!r}, upper={upper!r}"
        )
    if lower is None or upper is None:
        return None
    return box_of(lower, upper, features, *others)


def weights_of(weights: ArrayLike | None, outputs: int) -> jax.Array | None:
    """``[k, outputs]``, one row for each combination of the outputs."""
    if weights is None:
        return None
    array = floating("weights", weights)
    if array.ndim != 2 or array.shape[1] != outputs:
        raise ValueError(
            f"weights must have shape [k, {outputs}], one row for each combination of "
            f"the outputs, got {list(array.shape)}"
        )
    return array


def refuse_for_activation(**options: Any) -> None:
    """Of what an activation alone has no use for."""
    for name, value in options.items():
        if value is not None and value != 0:
            raise ValueError(
                f"{name} is for networks; an activation acts on each input by itself, "
                f"so leave it out (got {name}={value!r})"
            )


def width_of(network: MLP | BernsteinAct) -> int:
    """How many inputs it has."""
    if isinstance(network, MLP):
        return network.config.in_features
    if network.features is None:
        raise ValueError(
            "a shared BernsteinAct must know the width that it is certified for: make it "
            "with features=..., as in BernsteinAct(16, shared=True)"
        )
    return network.features


def dtypes_of(network: MLP | BernsteinAct) -> list[Any]:
    """Of all numbers stored."""
    return [array.dtype for array in jax.tree.leaves(nnx.state(network))]
