"""Training for robustness: the loss at the worst margins, mixed with the clean one."""

import math
import numbers
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax.typing import ArrayLike

from jaxbern.certify import _graphs, _modules
from jaxbern.certify._nodes import intervals
from jaxbern.certify._rounding import Bounds
from jaxbern.op import floating


@dataclass(frozen=True)
class RobustSchedule:
    """Radius and mixture for every step: both rise along a line, then stay.

    A network that is asked for robustness at once learns a constant. So training starts
    with the clean loss alone; from ``begin`` to ``end``, as fractions of all steps, the
    radius goes from 0 to ``eps`` and the weight of the worst case from 0 to ``mix``.

    >>> schedule = RobustSchedule(0.1, steps=1000)
    >>> [round(float(number), 3) for number in schedule(300)]
    [0.05, 0.35]

    Attributes:
      eps: radius in the end.
      steps: number of steps of the whole training.
      mix: weight of the worst-case loss in the end, from 0 to 1.
      begin: fraction of the steps before the radius begins to grow.
      end: fraction of the steps after which nothing changes any more.
    """

    eps: float
    steps: int
    mix: float = 0.7
    begin: float = 0.0
    end: float = 0.6

    def __post_init__(self):
        """Raise ValueError for numbers that define no schedule."""
        eps = _plain("eps", self.eps)
        if not 0 <= eps < math.inf:
            raise ValueError(f"eps must be at least 0 and finite, got {self.eps!r}")
        if isinstance(self.steps, bool) or not isinstance(self.steps, numbers.Integral):
            raise TypeError(f"steps must be an int, got {self.steps!r}")
        if self.steps < 1:
            raise ValueError(f"steps must be at least 1, got {self.steps}")
        if not 0 <= _plain("mix", self.mix) <= 1:
            raise ValueError(f"mix must be from 0 to 1, got {self.mix!r}")
        if not 0 <= _plain("begin", self.begin) <= _plain("end", self.end) <= 1:
            raise ValueError(
                "begin and end must be fractions of all steps with 0 <= begin <= end "
                f"<= 1, got begin={self.begin!r}, end={self.end!r}"
            )

    def __call__(self, step: ArrayLike) -> tuple[jax.Array, jax.Array]:
        """Return radius and mixture at a step, an int or a traced array."""
        begin, end = self.begin * self.steps, self.end * self.steps
        share = (jnp.asarray(step, jnp.float32) - begin) / max(end - begin, 1e-9)
        share = jnp.clip(share, 0.0, 1.0)
        return self.eps * share, self.mix * share


def robust_loss(
    model: nnx.Module,
    x: ArrayLike,
    labels: ArrayLike,
    eps: ArrayLike,
    *,
    mix: ArrayLike = 0.7,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
) -> jax.Array:
    """Compute the cross-entropy of worst-case margins, mixed with the clean one.

    For each row, ``(1 - mix) CE(f(x), y) + mix CE(-m, y)``, where ``m_j`` is a lower bound
    of ``f_y - f_j`` for all inputs within ``eps`` of ``x`` in each entry, from interval
    bounds; the mean over rows. The bounds take one piece per polynomial and no rounding
    terms: they are for training, and :func:`robustness` proves afterwards.

    Replaces the loss in any training step. In training mode the model is called
    once: running statistics are updated, and the bounds use the statistics of that call.

    Args:
      model: a ``jb.MLP`` or another ``nnx`` module of known layers, with one row of logits
        for each row of ``x``.
      x: inputs ``[batch, ...]``.
      labels: classes ``[batch]``, whole numbers.
      eps: radius, a number that may be traced.
      mix: weight of the worst case, from 0 to 1.
      lower: least value an input can have, such as 0 for pixels: the box ends there.
      upper: largest value.

    >>> import jax.numpy as jnp, jaxbern as jb
    >>> from flax import nnx
    >>> model = jb.MLP(4, depth=2, width=8, degree=3, out_features=3, rngs=nnx.Rngs(0))
    >>> x, labels = jnp.ones((6, 4)), jnp.array([0, 1, 2, 0, 1, 2])
    >>> loss = jb.certify.robust_loss(model, x, labels, eps=0.1, lower=0.0, upper=1.0)
    >>> loss.shape
    ()
    """
    _modules.check_known(model)
    x = floating("x", x)
    labels = _labels(labels, x)
    whole, logits = _graphs.with_clean_pass(model, x)
    classes = logits.shape[-1]
    if logits.shape != (len(x), classes) or classes < 2:
        raise ValueError(
            "the model must give one row of at least two logits for each row of x, got "
            f"{list(logits.shape)} for x of shape {list(x.shape)}"
        )
    weights = margin_weights(labels, classes).astype(x.dtype)
    whole = _graphs.weighted(whole, weights)
    found = intervals(
        whole.graph, whole.output, _box(x, eps, lower, upper), rigorous=False
    )
    worst = found[whole.output].lower
    # Margins against the others, with a zero for the class itself.
    robust = jax.nn.logsumexp(jnp.pad(-worst, ((0, 0), (1, 0))), axis=1)
    picked = jnp.take_along_axis(logits, labels[:, None], axis=1)[:, 0]
    plain = jax.nn.logsumexp(logits, axis=1) - picked
    mix = jnp.asarray(mix, x.dtype)
    return jnp.mean((1 - mix) * plain) + jnp.mean(mix * robust)


def margin_weights(labels: ArrayLike, classes: int) -> jax.Array:
    """Make rows of ``e_y - e_j`` for every other class ``j``: ``weights`` of :func:`bounds`.

    ``labels [...]`` give ``[..., classes - 1, classes]``: times the logits these are the
    margins of the class over each of the others, in the order of the classes.

    >>> margin_weights(1, 3).tolist()
    [[-1.0, 1.0, 0.0], [0.0, 1.0, -1.0]]
    """
    labels = jnp.asarray(labels)
    if not jnp.issubdtype(labels.dtype, jnp.integer):
        raise TypeError(f"labels must be whole numbers, got {labels.dtype}")
    if isinstance(classes, bool) or not isinstance(classes, int) or classes < 2:
        raise ValueError(f"classes must be an int of at least 2, got {classes!r}")
    if not isinstance(labels, jax.core.Tracer) and labels.size:
        known = np.asarray(labels)  # under jit JAX would make a tracer of the least one
        least, most = int(known.min()), int(known.max())
        if least < 0 or most >= classes:
            raise ValueError(
                f"labels must be from 0 to {classes - 1}, got {least} to {most}"
            )
    eye = np.eye(classes, dtype=np.float32)
    each = [np.delete(eye[k] - eye, k, axis=0) for k in range(classes)]
    return jnp.asarray(np.stack(each))[labels]


def _box(x: jax.Array, eps: Any, lower: Any, upper: Any) -> Bounds:
    if isinstance(eps, numbers.Real) and not 0 <= float(eps) < math.inf:
        raise ValueError(f"eps must be a finite number of at least 0, got {eps!r}")
    eps = jnp.asarray(eps, x.dtype)
    return Bounds(jnp.clip(x - eps, lower, upper), jnp.clip(x + eps, lower, upper))


def _labels(labels: ArrayLike, x: jax.Array) -> jax.Array:
    found = jnp.asarray(labels)
    whole = jnp.issubdtype(found.dtype, jnp.integer)
    if not whole or x.ndim < 2 or found.shape != x.shape[:1]:
        raise ValueError(
            "x must have shape [batch, ...] and labels [batch], whole numbers; got x of "
            f"shape {list(x.shape)} and labels of shape {list(found.shape)}, {found.dtype}"
        )
    return found


def _plain(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    return float(value)
