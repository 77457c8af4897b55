"""Checks of the arguments of ``jaxbern.certify``, before any work."""

import numbers
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax.typing import ArrayLike

from jaxbern.certify._ball import NORMS, Ball
from jaxbern.certify._modules import check_evaluation
from jaxbern.certify._rounding import Bounds, gamma, size
from jaxbern.nn import MLP, BernsteinAct
from jaxbern.op import arithmetic, floating

_MOST_SPLITS = 16


def check_network(network: Any) -> None:
    """Check for a network or an activation whose numbers do not depend on a batch."""
    if not isinstance(network, MLP | BernsteinAct):
        raise TypeError(
            "network must be a jaxbern.MLP or a jaxbern.BernsteinAct, got "
            f"{type(network).__name__}; of other modules there are bounds, but no "
            "Lipschitz constants yet"
        )
    check_evaluation(network)


def check_choice(name: str, value: Any, choices: tuple) -> None:
    """Check that an option is one of a few values."""
    if value not in choices:
        listed = " or ".join(map(repr, choices))
        raise ValueError(f"{name} must be {listed}, got {value!r}")


def check_splits(splits: Any, *, has_box: bool = True) -> None:
    """Check the number of splits."""
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


def check_rigorous(rigorous: Any, method: str, splits: int, ball: Any) -> None:
    """Check that ``rigorous=False`` is used with intervals only."""
    if not isinstance(rigorous, bool):
        raise TypeError(f"rigorous must be True or False, got {rigorous!r}")
    if not rigorous and (method != "interval" or splits or ball is not None):
        raise ValueError(
            'rigorous=False is for training, with method="interval" and without splits '
            f"or ball; got method={method!r}, splits={splits}, ball={ball!r}"
        )


def region_of(
    lower: ArrayLike | None,
    upper: ArrayLike | None,
    ball: Ball | None,
    shape: tuple[int, ...] | None,
    *others: Any,
) -> tuple[Bounds, Ball | None]:
    """Return the box, and the ball within it if there is one."""
    if ball is None:
        if lower is None or upper is None:
            raise ValueError("give lower and upper, the ends of a box, or a ball")
        return box_of(lower, upper, shape, *others), None
    if not isinstance(ball, Ball):
        raise TypeError(
            f"ball must be a jb.certify.Ball(centre, radius, norm), got {ball!r}"
        )
    check_choice("norm", ball.norm, NORMS)
    centre = floating("centre", ball.centre)
    _check_shape("centre", centre, shape)
    leading = centre.shape[: centre.ndim - (centre.ndim - 1 if shape is None else 1)]
    if lower is None and upper is None:
        everything = jnp.full(centre.shape, jnp.inf, centre.dtype)
        lower, upper = -everything, everything
    if lower is None or upper is None:
        raise ValueError("lower and upper belong together: give both or neither")
    box = box_of(lower, upper, shape, centre.dtype, *others)
    dtype = box.lower.dtype
    radius = jnp.asarray(_outward("radius", np.asarray(ball.radius, float)
                         if isinstance(ball.radius, float | int) else ball.radius, np.inf),
                         dtype)  # fmt: skip
    if not isinstance(radius, jax.core.Tracer) and not bool(jnp.all(radius >= 0)):
        raise ValueError(f"radius must not be negative, got {ball.radius!r}")
    if radius.shape not in ((), leading):
        raise ValueError(
            f"radius must be a number or have shape {list(leading)}, one for each centre, "
            f"got {list(radius.shape)}"
        )
    if box.lower.shape != centre.shape:
        raise ValueError(
            f"centre and box must have one shape, got {list(centre.shape)} and "
            f"{list(box.lower.shape)}"
        )
    centre = centre.astype(dtype)
    spread = radius.reshape(*radius.shape, *[1] * (centre.ndim - radius.ndim))
    step = gamma(0, dtype) * (size(centre) + spread)
    box = Bounds(
        jnp.maximum(box.lower, centre - spread - step),
        jnp.minimum(box.upper, centre + spread + step),
    )
    return box, Ball(centre, radius, ball.norm)


def box_of(
    lower: ArrayLike, upper: ArrayLike, shape: tuple[int, ...] | None, *others: Any
) -> Bounds:
    """Return both ends, ``[..., *shape]``, in the dtype to compute in."""
    given = lower, upper
    ends = Bounds(_outward("lower", lower, -np.inf), _outward("upper", upper, np.inf))
    for name, end in zip(("lower", "upper"), ends, strict=True):
        _check_shape(name, end, shape)
        if end.shape != ends.lower.shape:
            raise ValueError(
                f"lower and upper must have the same shape, one number for each input; "
                f"lower has {list(ends.lower.shape)}, {name} has {list(end.shape)}"
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


def _check_shape(name: str, array: Any, shape: tuple[int, ...] | None) -> None:
    if shape is None:
        if array.ndim < 2:
            raise ValueError(
                f"{name} must have shape [batch, ...] as the module takes its inputs, got "
                f"{list(array.shape)}; write {name}[None] for one input"
            )
    elif array.shape[-1:] != shape:
        raise ValueError(
            f"lower and upper must both have shape [..., {shape[0]}], one number for "
            f"each input; {name} has {list(array.shape)}"
        )


def _outward(name: str, end: ArrayLike, direction: float) -> jax.Array:
    """Convert an end to an array of JAX, rounding outward."""
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
    lower: ArrayLike | None,
    upper: ArrayLike | None,
    shape: tuple[int, ...],
    *others: Any,
) -> Bounds | None:
    """Return a box, or None for all inputs."""
    if (lower is None) != (upper is None):
        raise ValueError(
            "lower and upper belong together: give both for a box, or neither for all "
            f"inputs; got lower={lower!r}, upper={upper!r}"
        )
    if lower is None or upper is None:
        return None
    return box_of(lower, upper, shape, *others)


def weights_of(
    weights: ArrayLike | None,
    outputs: int | None,
    leading: tuple[int, ...],
    *,
    per_box: bool = True,
) -> jax.Array | None:
    """Check ``weights``: ``[k, outputs]``, or ``[..., k, outputs]`` for each box."""
    if weights is None:
        return None
    if outputs is None:
        raise ValueError(
            "weights combine outputs of shape [batch, out]; this network's have another"
        )
    array = floating("weights", weights)
    shapes = [(), leading] if per_box else [()]
    if array.ndim < 2 or array.shape[-1] != outputs or array.shape[:-2] not in shapes:
        each = f" or {[*leading, 'k', outputs]}".replace("'", "") if per_box else ""
        raise ValueError(
            f"weights must have shape [k, {outputs}]{each}, one row for each combination "
            f"of the outputs, got {list(array.shape)}"
        )
    return array


def refuse_for_activation(**options: Any) -> None:
    """Reject options that apply only to networks."""
    for name, value in options.items():
        if value is not None and not (isinstance(value, int) and value == 0):
            raise ValueError(
                f"{name} is for networks; an activation acts on each input by itself, "
                f"so leave it out (got {name}={value!r})"
            )


def shape_of(network: Any) -> tuple[int, ...] | None:
    """Return the shape of one input; None if only the module knows it."""
    if isinstance(network, MLP):
        return (network.config.in_features,)
    if not isinstance(network, BernsteinAct):
        return None
    if network.features is None:
        raise ValueError(
            "a shared BernsteinAct must know the width that it is certified for: make it "
            "with features=..., as in BernsteinAct(16, shared=True)"
        )
    return (network.features,)


def dtypes_of(network: Any) -> list[Any]:
    """Collect the floating dtypes of all stored numbers."""
    leaves = jax.tree.leaves(nnx.state(network))
    return [a.dtype for a in leaves if jnp.issubdtype(a.dtype, jnp.floating)]
