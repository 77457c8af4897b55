"""``jaxbern.certify.bounds`` and ``jaxbern.certify.lipschitz``."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax.typing import ArrayLike

from jaxbern.certify import _arguments, _modules, _programs
from jaxbern.certify._ball import NORMS, Ball
from jaxbern.certify._rounding import Bounds
from jaxbern.nn import MLP, BernsteinAct
from jaxbern.op import arithmetic


def bounds(
    network: nnx.Module,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    *,
    method: str = "affine",
    weights: ArrayLike | None = None,
    splits: int = 0,
    ball: Ball | None = None,
    rigorous: bool = True,
) -> Bounds:
    """Bound ``f(x)`` for all ``x`` in a box, with rounding errors included.

    ``"interval"`` computes the box of each layer from the one before: cheap, and much too wide
    for deep networks. ``"affine"`` encloses each activation between two lines and substitutes
    them backward to the inputs, for every hidden neuron: ``depth`` times the work, close to
    the true range. For an activation alone both are the range of its polynomials.

    Works under ``jit``, ``vmap`` and ``grad``; a batch of boxes is computed 64 at a time.

    Args:
      network: in evaluation mode: a ``jb.MLP``, a ``jb.BernsteinAct``, or any ``nnx`` module
        made of Linear, Conv, BatchNorm, pooling, skips and activations.
      lower: ends of the box, ``[..., in]``, or ``[batch, ...]`` as the module takes its
        inputs; an infinite end is allowed.
      upper: the other ends.
      method: ``"affine"`` or ``"interval"``.
      weights: ``[k, out]``, to bound ``weights @ f(x)``, such as the margin ``[[-1.0, 1.0]]``
        between two logits: far tighter than the difference of their bounds. Or
        ``[..., k, out]``, others for each box.
      splits: how many times to halve the box along the inputs that matter most, and
        return bounds that enclose all ``2 ** splits`` parts.
      ball: a :class:`Ball`; the bounds are for inputs in the box that are in the ball too.
        The box may then be left out.
      rigorous: False leaves out rounding terms and takes each polynomial in one piece:
        fast to differentiate, for training, and no proof. Only for ``"interval"``.

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
    _modules.check_known(network)
    _modules.check_evaluation(network)
    _arguments.check_choice("method", method, ("affine", "interval"))
    _arguments.check_splits(splits)
    _arguments.check_rigorous(rigorous, method, splits, ball)
    dtypes = _arguments.dtypes_of(network)
    shape = _arguments.shape_of(network)
    box, ball = _arguments.region_of(lower, upper, ball, shape, *dtypes)
    if isinstance(network, BernsteinAct):
        _arguments.refuse_for_activation(weights=weights, splits=splits, ball=ball)
        return _programs.of_activation(_programs.ranges, network, box)
    kind, numbers = _programs.parts(network)
    row = box.lower.shape[1:] if shape is None else shape
    leading = box.lower.shape[: box.lower.ndim - len(row)]
    weights = _arguments.weights_of(
        weights, _programs.outputs(kind, numbers, row, box.lower.dtype), leading
    )
    options: dict[str, Any] = {"row": row, "splits": int(splits)}
    options["method"] = method if rigorous else "fast"
    return _programs.bounds(kind, numbers, box, weights, ball, **options)


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
    """Compute ``L`` with ``|f(x) - f(y)| <= L |x - y|``, in a box or everywhere.

    ``"product"`` multiplies the norms of the layers, each with the largest slopes of its
    activations. ``"jacobian"`` also encloses the Jacobian by intervals, layer by layer, and
    takes the smaller one. In a box both know how far each activation's input can move.

    Args:
      network: in evaluation mode.
      lower: ends of the box, ``[..., in]``; without a box ``L`` holds for all inputs.
      upper: the other ends.
      norm: of inputs and outputs, 1, 2 or ``jnp.inf``.
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
    _arguments.check_choice("norm", norm, NORMS)
    _arguments.check_splits(splits, has_box=lower is not None)
    shape, dtypes = _arguments.shape_of(network), _arguments.dtypes_of(network)
    assert shape is not None
    box = _arguments.optional_box(lower, upper, shape, *dtypes)
    if isinstance(network, BernsteinAct):
        _arguments.refuse_for_activation(weights=weights, splits=splits)
        if box is None:
            everything = jnp.full(shape, jnp.inf, arithmetic(*dtypes))
            box = Bounds(-everything, everything)
        return _programs.of_activation(_programs.steepest, network, box)
    leading = () if box is None else box.lower.shape[:-1]
    outputs = network.config.out_features
    weights = _arguments.weights_of(weights, outputs, leading, per_box=False)
    config, numbers = _programs.parts(network)
    options = {"norm": norm, "method": method}
    if box is None:
        dtype = arithmetic(*dtypes)
        return _programs.constant(config, numbers, weights, dtype, **options)
    splits = int(splits)
    return _programs.constant_in(
        config, numbers, box, weights, splits=splits, **options
    )
