"""``jaxbern.certify.bounds`` and ``jaxbern.certify.lipschitz``."""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from jaxbern.certify import _arguments, _bernstein, _lipschitz, _propagate
from jaxbern.certify._layers import fold
from jaxbern.certify._lines import heights
from jaxbern.certify._rounding import Bounds, largest, only_if
from jaxbern.certify._split_boxes import split
from jaxbern.nn import MLP, BernsteinAct, NetworkConfig, forward
from jaxbern.op import arithmetic, widths

# So many boxes at a time: the affine method keeps matrices [2W, W] for each.
_AT_ONCE = 64


def bounds(
    network: MLP | BernsteinAct,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    method: str = "affine",
    weights: ArrayLike | None = None,
    splits: int = 0,
) -> Bounds:
    """``lower <= f(x) <= upper`` for all ``x`` in a box: sound, also in rounding.

    ``"interval"`` takes one layer after the other: the cheapest, and much too wide for deep
    networks. ``"affine"`` encloses each activation between two lines and substitutes them
    backward to the inputs, for every hidden neuron: ``depth`` times the work, and close to
    the true range. For an activation alone both are the range of its polynomials.

    Works under ``jit``, ``vmap`` and ``grad``; a batch of boxes is computed 64 at a time.

    Args:
      network: in evaluation mode.
      lower: ends of the box, ``[..., in]``; an infinite end is allowed.
      upper: the other ends.
      method: ``"affine"`` or ``"interval"``.
      weights: ``[k, out]``, to bound ``weights @ f(x)``, such as the margin ``[[-1.0, 1.0]]``
        between two logits: far tighter than the difference of their bounds.
      splits: halve the box so many times along the inputs that matter most, and
        return what encloses all ``2 ** splits`` parts.

    Returns:
      Bounds ``(lower, upper)``, each ``[..., out]`` or ``[..., k]``.

    >>> import jax.numpy as jnp, jaxbern as jb
    >>> from flax import nnx
    >>> model = jb.MLP(2, depth=3, width=8, degree=5, rngs=nnx.Rngs(0))
    >>> model.eval()
    >>> low, high = jb.certify.bounds(model, -0.1 * jnp.ones(2), 0.1 * jnp.ones(2))
    >>> logits = model(jnp.zeros((1, 2)))[0]
    >>> bool(jnp.all((low <= logits) & (logits <= high)))
    True
    """
    _arguments.check_network(network)
    _arguments.check_choice("method", method, ("affine", "interval"))
    _arguments.check_splits(splits)
    width, dtypes = _arguments.width_of(network), _arguments.dtypes_of(network)
    box = _arguments.box_of(lower, upper, width, *dtypes)
    if isinstance(network, BernsteinAct):
        _arguments.refuse_for_activation(weights=weights, splits=splits)
        return _of_activation(_ranges, network, box)
    weights = _arguments.weights_of(weights, network.config.out_features)
    numbers = network.params(), (network.mean[...], network.var[...]), weights
    return _bounds(network.config, *numbers, box, method=method, splits=int(splits))


def lipschitz(
    network: MLP | BernsteinAct,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    *,
    norm: float = 2,
    method: str = "jacobian",
    weights: ArrayLike | None = None,
    splits: int = 0,
) -> jax.Array:
    """``L`` with ``|f(x) - f(y)| <= L |x - y|``, in a box or everywhere.

    ``"product"`` multiplies the norms of the layers, each with the largest slopes of its
    activations. ``"jacobian"`` also encloses the Jacobian by intervals, layer by layer, and
    takes the smaller one. In a box both know how far each activation's input can move.

    Args:
      network: in evaluation mode.
      lower: ends of the box, ``[..., in]``; without a box ``L`` holds for all inputs.
      upper: the other ends.
      norm: of inputs and outputs, 2 or ``jnp.inf``.
      method: ``"jacobian"`` or ``"product"``.
      weights: ``[k, out]``, for ``weights @ f(x)`` instead of ``f(x)``.
      splits: as for :func:`bounds`; the largest constant of all parts.

    Returns:
      ``L``, of shape ``[...]``.

    >>> import jax.numpy as jnp, jaxbern as jb
    >>> from flax import nnx
    >>> act = jb.BernsteinAct(4, degree=5, init="identity", rngs=nnx.Rngs(0))
    >>> round(float(jb.certify.lipschitz(act)), 3)
    1.0
    """
    _arguments.check_network(network)
    _arguments.check_choice("method", method, ("jacobian", "product"))
    _arguments.check_choice("norm", norm, (2, math.inf))
    _arguments.check_splits(splits, has_box=lower is not None)
    width, dtypes = _arguments.width_of(network), _arguments.dtypes_of(network)
    box = _arguments.optional_box(lower, upper, width, *dtypes)
    if isinstance(network, BernsteinAct):
        _arguments.refuse_for_activation(weights=weights, splits=splits)
        if box is None:
            everything = jnp.full(width, jnp.inf, arithmetic(*dtypes))
            box = Bounds(-everything, everything)
        return _of_activation(_steepest, network, box)
    weights = _arguments.weights_of(weights, network.config.out_features)
    numbers = network.params(), (network.mean[...], network.var[...]), weights
    options = {"norm": norm, "method": method}
    if box is None:
        return _constant(network.config, *numbers, arithmetic(*dtypes), **options)
    return _constant_in(network.config, *numbers, box, splits=int(splits), **options)


@functools.partial(jax.jit, static_argnames=("config", "method", "splits"))
def _bounds(config, params, running, weights, box, *, method, splits):
    network = fold(config, params, running, weights, box.lower.dtype)
    one = functools.partial(_propagate.bounds, config, network, method=method)
    guide = _guide(config, params, running, weights)
    each = _over_parts(one, guide, box, splits)
    found = Bounds(jnp.min(each.lower, axis=-2), jnp.max(each.upper, axis=-2))
    return only_if((network.valid & _ordered(box))[..., None], found)


@functools.partial(jax.jit, static_argnames=("config", "dtype", "norm", "method"))
def _constant(config, params, running, weights, dtype, *, norm, method):
    network = fold(config, params, running, weights, dtype)
    found = _lipschitz.lipschitz(config, network, None, norm=norm, method=method)
    return _at_most(found, network.valid)


@functools.partial(jax.jit, static_argnames=("config", "norm", "method", "splits"))
def _constant_in(config, params, running, weights, box, *, norm, method, splits):
    network = fold(config, params, running, weights, box.lower.dtype)
    one = functools.partial(
        _lipschitz.lipschitz, config, network, norm=norm, method=method
    )
    guide = _guide(config, params, running, weights)
    found = jnp.max(_over_parts(one, guide, box, splits), axis=-1)
    return _at_most(found, network.valid & _ordered(box))


def _ordered(box: Bounds) -> jax.Array:
    """Whether a box is one, ``[...]``: under ``jit`` it cannot be refused."""
    return jnp.all(box.lower <= box.upper, axis=-1)


def _at_most(constant: jax.Array, holds: jax.Array) -> jax.Array:
    """The constant where ``holds``, else infinity; NaN says nothing either."""
    return jnp.where(holds & ~jnp.isnan(constant), constant, jnp.inf)


def _guide(config: NetworkConfig, params, running, weights) -> Callable:
    """The network at one input, as it is computed: it only chooses where to split."""

    def f(x: jax.Array) -> jax.Array:
        logits = forward(config, params, x[None], running).logits[0]
        return logits if weights is None else weights.astype(logits.dtype) @ logits

    return f


def _over_parts(one: Callable, guide: Callable, box: Bounds, splits: int) -> Any:
    """What ``one`` gives for each part of each box, ``[..., parts, *result]``."""
    leading = box.lower.shape[:-1]
    boxes = jax.tree.map(lambda end: end.reshape(-1, end.shape[-1]), box)
    if splits:
        boxes = jax.vmap(lambda box: split(guide, box, splits))(boxes)
        boxes = jax.tree.map(lambda end: end.reshape(-1, end.shape[-1]), boxes)
    few = len(boxes.lower) <= _AT_ONCE
    each = (
        jax.vmap(one)
        if few
        else functools.partial(jax.lax.map, one, batch_size=_AT_ONCE)
    )
    found = each(boxes)
    return jax.tree.map(lambda a: a.reshape(*leading, 2**splits, *a.shape[1:]), found)


def _of_activation(each: Callable, network: BernsteinAct, box: Bounds) -> Any:
    """What ``each`` gives for every ``[in]`` of a box ``[..., in]``."""
    coeffs, (lower, upper) = network.coefficients, network.interval
    numbers = [jnp.asarray(a, box.lower.dtype) for a in (coeffs, lower, upper)]
    # One polynomial for all inputs is as many equal ones.
    numbers[0] = jnp.broadcast_to(numbers[0], (box.lower.shape[-1], coeffs.shape[-1]))
    leading = box.lower.shape[:-1]
    rows = jax.tree.map(lambda end: end.reshape(-1, end.shape[-1]), box)
    found = each(*numbers, rows, network.config.outside)
    return jax.tree.map(lambda a: a.reshape(*leading, *a.shape[1:]), found)


@functools.partial(jax.jit, static_argnums=4)
def _ranges(coeffs, lower, upper, boxes: Bounds, outside: str) -> Bounds:
    def one(box):
        found = heights(_bernstein.points(coeffs, lower, upper, box, outside))
        return only_if(_usable(coeffs, lower, upper, box), found)

    return jax.vmap(one)(boxes)


@functools.partial(jax.jit, static_argnums=4)
def _steepest(coeffs, lower, upper, boxes: Bounds, outside: str) -> jax.Array:
    def one(box):
        found = _bernstein.slopes(coeffs, lower, upper, box, outside)
        return jnp.max(largest(only_if(_usable(coeffs, lower, upper, box), found)))

    return jax.vmap(one)(boxes)


def _usable(coeffs, lower, upper, box: Bounds) -> jax.Array:
    """Whether a neuron's numbers, its interval and its box say anything, ``[W]``."""
    narrowest, widest = widths(coeffs.dtype)
    width = upper - lower  # of a learned interval, or a batch's
    interval = (narrowest <= width) & (width <= widest)
    finite = jnp.all(jnp.isfinite(coeffs), axis=1)
    return finite & interval & (box.lower <= box.upper)
