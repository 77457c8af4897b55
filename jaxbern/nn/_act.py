"""``BernsteinAct`` for ``flax.nnx``."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from flax import nnx
from flax.errors import TraceContextError
from jax.typing import DTypeLike

from jaxbern.kernels.array_types import Array, Ends, Float
from jaxbern.nn import _act_core as core
from jaxbern.nn import _telemetry
from jaxbern.nn._option_checks import (
    checked_epsilon,
    checked_momentum,
    flag,
    parameter_key,
)
from jaxbern.op import bernstein


class BernsteinAct(nnx.Module):
    """A learnable activation: one Bernstein polynomial per neuron.

    Stands where ``nnx.relu`` stood: input ``[..., features]``, output of the same shape and
    dtype. It starts as ``silu`` and, beyond the interval, goes on along its tangents, so
    that a network needs no normalisation for it.

    >>> import jax.numpy as jnp, jaxbern as jb
    >>> from flax import nnx
    >>> act = jb.BernsteinAct(16, rngs=nnx.Rngs(0))
    >>> act(jnp.zeros((32, 16))).shape
    (32, 16)

    The layer of the paper, for networks with BatchNorm, is this line:

    >>> paper = {"lower": -3.0, "upper": 3.0, "outside": "clamp", "init": "paper"}
    >>> act = jb.BernsteinAct(16, degree=9, **paper, rngs=nnx.Rngs(0))

    How a layer is used comes with any call, per neuron, and costs nothing when it is not
    asked for: the fraction of inputs outside the interval (``saturation``), how much of the
    interval they use (``spread``), and by what the layer multiplies their spread (``gain``).
    :func:`jaxbern.inspect` says what to make of them.

    >>> y, seen = nnx.capture(act, nnx.Intermediate)(jnp.full((32, 16), 4.0))
    >>> float(seen["saturation"][0].mean())
    1.0
    """

    def __init__(
        self,
        features: int | None = None,
        degree: int = core.DEGREE,
        *,
        lower: Ends = core.LOWER,
        upper: Ends = core.UPPER,
        outside: str = core.OUTSIDE,
        init: str | Callable = core.INIT,
        shared: bool = False,
        monotone: bool = False,
        domain: core.Domain = "fixed",
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        use_running_average: bool = False,
        dtype: DTypeLike | None = None,
        param_dtype: DTypeLike = jnp.float32,
        implementation: str | None = None,
        rngs: nnx.Rngs,
    ):
        """Create the layer.

        Args:
          features: width of the last axis of the input, one polynomial each. Not needed
            if the polynomial is ``shared``: it then takes inputs of any shape.
          degree: degree ``n`` of the polynomials, ``n + 1`` coefficients each.
          lower: left end of the interval, a number or ``[features]``.
          upper: right end of the interval.
          outside: beyond the interval, ``"linear"``: go on along the tangent of the end;
            ``"clamp"``: keep the value of the end, as in the paper.
          init: what to start as: a name such as ``"silu"``, ``"gelu"``, ``"tanh"``, ``"relu"``
            or ``"smooth"`` (random), a function of ``x`` such as ``jax.nn.gelu``, or an
            initialiser ``f(key, shape, dtype)`` such as those of ``jb.initializers``.
          shared: use one polynomial for all features, ``n + 1`` parameters in all.
          monotone: make every polynomial increasing: the first coefficient is free,
            the increments are positive.
          domain: ``"fixed"``; ``"learned"``: centre and half-width of the interval are
            parameters; ``"batch"``: ``lower`` and ``upper`` count standard deviations around
            the mean of the batch, in evaluation around the running mean.
          momentum: of the running statistics of ``domain="batch"``, in Flax's sense.
          epsilon: added to the variance there.
          use_running_average: use the running statistics; ``model.eval()`` sets it.
          dtype: dtype of input and output; that of the input if not given.
          param_dtype: dtype of the parameters.
          implementation: as for :func:`jaxbern.bernstein`.
          rngs: where the initialiser's key comes from, stream ``params``.
        """
        features = core.checked_features(features, shared=shared)
        config = core.LayerConfig(
            degree, lower, upper, monotone, domain, outside, shared, param_dtype
        )
        self.features = features
        self.config = nnx.static(config)
        self.momentum = checked_momentum(momentum)
        self.epsilon = checked_epsilon(epsilon)
        self.use_running_average = flag("use_running_average", use_running_average)
        self.dtype = dtype
        self.implementation = implementation
        each = config.shape(features)
        shape = (*each, config.degree + 1)
        self.coeffs = nnx.Param(
            config.init_coeffs(init, parameter_key(rngs), shape, param_dtype)
        )
        if domain == "learned":
            center, half_width = config.init_interval(features, param_dtype)
            self.center, self.half_width = nnx.Param(center), nnx.Param(half_width)
        if domain == "batch":
            self.mean = nnx.BatchStat(jnp.zeros(each, param_dtype))
            self.var = nnx.BatchStat(jnp.ones(each, param_dtype))

    def __call__(self, x: Float[Array, "*batch width"]) -> Float[Array, "*batch width"]:
        """Apply each neuron's polynomial to ``x [..., features]``."""
        x = jnp.asarray(x) if self.dtype is None else jnp.asarray(x).astype(self.dtype)
        if not self.config.shared:
            core.check_input(x, self.features)
        lower, upper = self._interval(x)
        y = bernstein(
            x,
            self.coefficients,
            lower=lower,
            upper=upper,
            outside=self.config.outside,
            implementation=self.implementation,
        )
        if hasattr(self, "__captures__"):  # inside nnx.capture
            for name, value in _telemetry.of_layer(x, y, lower, upper).items():
                self.sow(nnx.Intermediate, name, value)
        return y

    @property
    def coefficients(self) -> Float[Array, "*neurons terms"]:
        """The Bernstein coefficients in use, ``[features, n+1]`` or, shared, ``[n+1]``."""
        return self.config.coefficients(self.coeffs[...])

    @property
    def interval(self) -> tuple[Ends, Ends]:
        """The ends of the interval in use in evaluation, scalars or ``[features]``."""
        if self.config.domain == "learned":
            return core.learned_interval(self.center[...], self.half_width[...])
        if self.config.domain == "batch":
            return self.config.interval_from_statistics(
                self.mean[...], self.var[...], self.epsilon
            )
        return self.config.lower, self.config.upper

    def _interval(self, x: jax.Array) -> tuple[Ends, Ends]:
        if self.config.domain != "batch" or self.use_running_average:
            return self.interval
        mean, var = core.batch_statistics(x, self.mean.dtype, shared=self.config.shared)
        try:
            for running, batch in ((self.mean, mean), (self.var, var)):
                kept = self.momentum * running[...] + (1 - self.momentum) * batch
                running[...] = jax.lax.stop_gradient(kept)
        except TraceContextError as error:
            raise ValueError(
                'domain="batch" updates running statistics, which jax.vmap or jax.jit '
                "around the layer cannot: use nnx.vmap or nnx.jit with the layer as an "
                "argument, or model.eval()"
            ) from error
        return self.config.interval_from_statistics(mean, var, self.epsilon)
