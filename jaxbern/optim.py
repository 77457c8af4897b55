"""PyTorch's AdamW and ``ReduceLROnPlateau`` for optax.

The optimiser is updated once per batch, the learning rate once per epoch:

    plateau = jb.optim.reduce_on_plateau(1e-3, mode="max", factor=0.5)
    tx = jb.optim.adamw(plateau, weight_decay=1e-4)
    state = tx.init(params)
    updates, state = tx.update(gradients, state, params)  # after each batch
    state = plateau.step(state, auc)  # after each epoch
    jb.optim.learning_rate(state)
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import jax
import jax.numpy as jnp
import optax

from jaxbern._plateau import (
    PlateauRule,
    PlateauState,
    check_not_negative,
    find_plateau,
)
from jaxbern.kernels.array_types import Array, ArrayLike, Float, Shaped

__all__ = [
    "PlateauState",
    "ReduceOnPlateau",
    "adamw",
    "learning_rate",
    "reduce_on_plateau",
    "set_learning_rate",
]

_State = TypeVar("_State")


class ReduceOnPlateau(optax.GradientTransformation):
    """The transformation of `reduce_on_plateau`: optax's ``init``, ``update``, and ``step``.

    ``step(state, metric)`` ends an epoch. ``state`` is the state of any optimiser that
    holds one `PlateauState`, or a `PlateauState`; the updated state is returned.
    ``metric`` is a scalar, or has one entry per seed if the state has.
    """

    step: Callable[[_State, Shaped[ArrayLike, "*seeds"]], _State]
    arguments: tuple[ArrayLike, dict[str, Any]]  # of reduce_on_plateau, for pickling

    def __reduce__(self) -> tuple:
        """Let ``pickle`` and ``copy`` rebuild it, as nested functions cannot be pickled."""
        rate, options = self.arguments
        return functools.partial(reduce_on_plateau, **options), (rate,)


def reduce_on_plateau(
    learning_rate: Shaped[ArrayLike, ""],
    *,
    mode: Literal["min", "max"] = "min",
    factor: float = 0.1,
    patience: int = 10,
    threshold: float = 1e-4,
    threshold_mode: Literal["rel", "abs"] = "rel",
    cooldown: int = 0,
    min_lr: float = 0.0,
    eps: float = 1e-8,
    start_epoch: int = 0,
) -> ReduceOnPlateau:
    """Cut the learning rate when a metric stops improving, by PyTorch's rule.

    The transformation multiplies updates by minus the learning rate; in a chain it comes
    last, in place of ``optax.scale_by_learning_rate``. After each epoch,
    ``state = plateau.step(state, metric)`` follows ``ReduceLROnPlateau.step``:

    1. The metric is better if it lies beyond ``best * (1 + threshold)`` (``max``, ``rel``;
       ``1 - threshold`` for ``min``) or ``best + threshold`` (``max``, ``abs``; ``-`` for
       ``min``). It becomes the best and the count of bad epochs is reset; otherwise the
       epoch is bad. NaN is never better. The relative rule is meant for positive
       metrics: with a negative best, even a slightly worse metric counts as better.
    2. During a cooldown, bad epochs are not counted.
    3. With more than ``patience`` bad epochs, the learning rate becomes
       ``max(learning_rate * factor, min_lr)``, unless that lowers it by ``eps`` or less;
       the count is reset and the cooldown begins.

    (``optax.contrib.reduce_on_plateau`` cuts one epoch earlier and has no ``mode``.)
    The state is made of arrays; ``step`` works inside ``jit``, ``vmap`` and ``scan``. PyTorch
    computes in float64: with ``jax_enable_x64`` both agree to the last bit, in float32
    a metric within rounding of the threshold may fall on the other side of it.

    Args:
      learning_rate: initial learning rate; may be traced, so that ``vmap`` can vary it.
      mode: ``"min"`` if smaller metrics are better, ``"max"`` if larger ones are.
      factor: factor of each cut, at least 0 and below 1.
      patience: number of consecutive bad epochs tolerated without a cut.
      threshold: smallest change that counts as an improvement.
      threshold_mode: ``"rel"`` or ``"abs"``.
      cooldown: number of epochs after a cut in which bad epochs are not counted.
      min_lr: lower bound of the learning rate.
      eps: cuts that lower the rate by this much or less are skipped.
      start_epoch: metrics of earlier epochs are ignored. With 5, the first that counts
        is that of epoch 5, from 0, as if PyTorch's scheduler were first stepped then.

    Returns:
      An ``optax.GradientTransformation`` that also has ``step``.

    Example:
      >>> import jax.numpy as jnp, jaxbern as jb, optax
      >>> plateau = jb.optim.reduce_on_plateau(0.5, mode="max", factor=0.5, patience=1)
      >>> tx = optax.chain(optax.clip(1.0), plateau)
      >>> params = {"w": jnp.ones(2)}
      >>> state = tx.init(params)
      >>> for auc in (0.7, 0.8, 0.8, 0.8):
      ...     updates, state = tx.update({"w": jnp.array([3.0, 0.5])}, state, params)
      ...     state = plateau.step(state, auc)
      >>> updates["w"].tolist(), float(jb.optim.learning_rate(state))
      ([-0.5, -0.25], 0.25)
    """
    rule = PlateauRule(
        mode=mode,
        factor=factor,
        patience=patience,
        threshold=threshold,
        threshold_mode=threshold_mode,
        cooldown=cooldown,
        min_lr=min_lr,
        eps=eps,
        start_epoch=start_epoch,
    )
    if jnp.ndim(learning_rate):
        raise ValueError(
            f"learning_rate must be a scalar, got {list(jnp.shape(learning_rate))}; "
            "for several write jax.vmap"
        )
    if isinstance(learning_rate, int | float):  # an array's value may be unknown
        check_not_negative("learning_rate", learning_rate)

    def init(params: optax.Params) -> PlateauState:
        del params
        # Five new buffers, none shared with the caller: the state may be donated.
        rate = jnp.array(learning_rate, jnp.result_type(float))
        zeros = (jnp.zeros((), jnp.int32) for _ in range(3))
        return PlateauState(rate, jnp.full_like(rate, rule.worst), *zeros)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        del params

        def scaled(update: Shaped[Array, "*shape"]) -> Shaped[Array, "*shape"]:
            wide = _widened(update)  # half precision would round the rate
            return (wide * -state.learning_rate.astype(wide.dtype)).astype(update.dtype)

        return jax.tree.map(scaled, updates), state

    def step(state: _State, metric: Shaped[ArrayLike, "..."]) -> _State:
        plateau, put_back = find_plateau(state)
        return put_back(rule.after(plateau, metric))

    transformation = ReduceOnPlateau(init, update)
    transformation.step = step
    transformation.arguments = learning_rate, dataclasses.asdict(rule)
    return transformation


def learning_rate(state: Any) -> Float[Array, "*seeds"]:
    """Return the learning rate in the state of an optimiser with `reduce_on_plateau`.

    Example:
      >>> import jax.numpy as jnp, jaxbern as jb
      >>> tx = jb.optim.adamw(jb.optim.reduce_on_plateau(0.25))
      >>> float(jb.optim.learning_rate(tx.init(jnp.ones(3))))
      0.25
    """
    return find_plateau(state)[0].learning_rate


def set_learning_rate(state: Any, learning_rate: Shaped[ArrayLike, "*seeds"]) -> Any:
    """Return the state with another learning rate; everything else is kept.

    Example:
      >>> import jax.numpy as jnp, jaxbern as jb
      >>> tx = jb.optim.adamw(jb.optim.reduce_on_plateau(0.25))
      >>> state = jb.optim.set_learning_rate(tx.init(jnp.ones(3)), 0.5)
      >>> float(jb.optim.learning_rate(state))
      0.5
    """
    plateau, put_back = find_plateau(state)
    rate = jnp.broadcast_to(learning_rate, plateau.learning_rate.shape)
    rate = rate.astype(plateau.learning_rate.dtype)
    return put_back(plateau._replace(learning_rate=rate))


def adamw(
    learning_rate: float | optax.Schedule | ReduceOnPlateau,
    *,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: Any = 1e-2,
    mask: Any = None,
) -> optax.GradientTransformationExtraArgs:
    """Return ``torch.optim.AdamW`` for optax, with PyTorch's defaults, for real parameters.

    ``p <- p - lr (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + weight_decay p)``,
    ``m`` and ``v`` being the running means of the gradient and of its square, kept in
    float32 at least. The weight decay is scaled by the learning rate and falls with it.

    Args:
      learning_rate: a number, a schedule of optax, or `reduce_on_plateau`.
      b1: decay of the running mean of gradients.
      b2: decay of the running mean of squared gradients.
      eps: added to the square root.
      weight_decay: 0.01 as in PyTorch; optax has 0.0001. Or a tree of numbers, one for each
        part of the parameters, like PyTorch's parameter groups.
      mask: as in ``optax.adamw``: a tree of booleans, or a function from parameters to
        one, that says which of them decay. All by default. Only with a single decay.

    Example:
      >>> import jax.numpy as jnp, jaxbern as jb
      >>> plateau = jb.optim.reduce_on_plateau(1e-3, mode="max", factor=0.5, patience=10)
      >>> tx = jb.optim.adamw(plateau, weight_decay=1e-4)
      >>> params = {"w": jnp.ones(2)}
      >>> updates, state = tx.update({"w": jnp.array([3.0, -0.5])}, tx.init(params), params)
      >>> [f"{update:.6f}" for update in updates["w"]]
      ['-0.001000', '0.001000']

    Reference: I. Loshchilov and F. Hutter, *Decoupled weight decay regularization*,
    ICLR 2019.
    """
    if isinstance(learning_rate, optax.GradientTransformation):
        by_learning_rate = learning_rate
    else:
        by_learning_rate = optax.scale_by_learning_rate(learning_rate)
    return optax.chain(
        _scale_by_adam(b1, b2, eps),
        _add_decayed_weights(weight_decay, mask),
        by_learning_rate,
    )


def _scale_by_adam(b1: float, b2: float, eps: float) -> optax.GradientTransformation:
    """Like ``optax.scale_by_adam``, with ``1 - b2^t`` accurate from the first step on.

    The original also relies on dtype promotion, which the user may have disabled.
    """

    def init(params: Any) -> optax.ScaleByAdamState:
        m, v = (
            jax.tree.map(lambda p: jnp.zeros_like(_widened(p)), params)
            for _ in range(2)
        )
        return optax.ScaleByAdamState(jnp.zeros((), jnp.int32), m, v)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        del params
        count = state.count + 1
        steps = count.astype(jnp.result_type(float))
        logs = (math.log(b) if b else -math.inf for b in (b1, b2))
        sum1, sum2 = (-jnp.expm1(steps * log) for log in logs)  # 1 - b^t
        gradients = jax.tree.map(_widened, updates)
        mu = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state.mu, gradients)
        nu = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, state.nu, gradients)

        def direction(
            m: Float[Array, "*shape"],
            v: Float[Array, "*shape"],
            update: Shaped[Array, "*shape"],
        ) -> Shaped[Array, "*shape"]:
            root = jnp.sqrt(v / sum2.astype(v.dtype))
            return (m / sum1.astype(m.dtype) / (root + eps)).astype(update.dtype)

        directions = jax.tree.map(direction, mu, nu, updates)
        return directions, optax.ScaleByAdamState(count, mu, nu)

    return optax.GradientTransformation(init, update)


def _add_decayed_weights(weight_decay: Any, mask: Any) -> optax.GradientTransformation:
    """Like ``optax.add_decayed_weights``, also for a tree of decays."""
    if jax.tree.structure(weight_decay) == jax.tree.structure(0.0):
        return optax.add_decayed_weights(weight_decay, mask)
    if mask is not None:
        raise ValueError(
            "mask needs a single weight_decay, got a tree of them; write 0.0 in the tree "
            "for parts that must not decay"
        )

    def decayed(decay: ArrayLike, updates: Any, params: Any) -> Any:
        return jax.tree.map(lambda u, p: u + decay * p, updates, params)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        return jax.tree.map(decayed, weight_decay, updates, params), state

    return optax.GradientTransformation(optax.init_empty_state, update)


def _widened(array: Shaped[Array, "*shape"]) -> Shaped[Array, "*shape"]:
    return array.astype(jnp.float32) if array.dtype.itemsize < 4 else array
