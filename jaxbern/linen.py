"""``BernsteinAct`` for ``flax.linen``: the same layer, the same numbers."""

import jax
import jax.numpy as jnp
from flax import linen
from jax.typing import ArrayLike, DTypeLike

from jaxbern.initializers import Initializer
from jaxbern.nn import _act_core as core
from jaxbern.nn._option_checks import checked_epsilon, checked_momentum
from jaxbern.nn._saturation import saturation
from jaxbern.op._operator import bernstein


class BernsteinAct(linen.Module):
    """A learnable activation: one Bernstein polynomial per neuron.

    The options are those of :class:`jaxbern.BernsteinAct`. Parameters are ``coeffs``
    (and ``center``, ``half_width`` for ``domain="learned"``); running statistics are in the
    collection ``batch_stats``; the fraction of inputs outside the interval is sown as
    ``saturation`` in ``intermediates``, and computed only if that is mutable.

    >>> import jax, jax.numpy as jnp
    >>> from jaxbern.linen import BernsteinAct
    >>> act = BernsteinAct(degree=9)
    >>> variables = act.init(jax.random.key(0), jnp.zeros((1, 16)))
    >>> act.apply(variables, jnp.zeros((32, 16))).shape
    (32, 16)
    """

    degree: int
    lower: ArrayLike = -3.0
    upper: ArrayLike = 3.0
    init_coeffs: str | Initializer = "smooth"
    monotone: bool = False
    domain: core.Domain = "fixed"
    momentum: float = 0.9
    epsilon: float = 1e-5
    use_running_average: bool | None = None
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    implementation: str | None = None

    @linen.compact
    def __call__(
        self, x: jax.Array, use_running_average: bool | None = None
    ) -> jax.Array:
        """Apply each neuron's polynomial to ``x [..., features]``."""
        config = core.LayerConfig(
            self.degree,
            self.lower,
            self.upper,
            self.monotone,
            self.domain,
            param_dtype=self.param_dtype,
        )
        x = jnp.asarray(x) if self.dtype is None else jnp.asarray(x).astype(self.dtype)
        features = x.shape[-1]
        parameters = self.param(
            "coeffs",
            lambda key: config.init_coeffs(
                self.init_coeffs, key, (features, self.degree + 1), self.param_dtype
            ),
        )
        lower, upper = self._interval(config, x, use_running_average)
        if self.is_mutable_collection("intermediates"):
            self.sow(
                "intermediates", "saturation", saturation(x, lower=lower, upper=upper)
            )
        return bernstein(
            x,
            config.coefficients(parameters),
            lower=lower,
            upper=upper,
            implementation=self.implementation,
        )

    def _interval(self, config, x, use_running_average):
        features = x.shape[-1]
        if self.domain == "learned":
            center, half_width = config.init_interval(features, self.param_dtype)
            return core.learned_interval(
                self.param("center", lambda key: center),
                self.param("half_width", lambda key: half_width),
            )
        if self.domain == "fixed":
            return config.lower, config.upper
        mean = self.variable(
            "batch_stats", "mean", jnp.zeros, features, self.param_dtype
        )
        var = self.variable("batch_stats", "var", jnp.ones, features, self.param_dtype)
        momentum = checked_momentum(self.momentum)
        epsilon = checked_epsilon(self.epsilon)
        averaged = linen.merge_param(
            "use_running_average", self.use_running_average, use_running_average
        )
        # Modules are initialised with any input, as a rule of one row.
        if averaged or self.is_initializing():
            return config.interval_from_statistics(mean.value, var.value, epsilon)
        batch = core.batch_statistics(x, self.param_dtype)
        for running, new in zip((mean, var), batch, strict=True):
            kept = momentum * running.value + (1 - momentum) * new
            running.value = jax.lax.stop_gradient(kept)
        return config.interval_from_statistics(*batch, epsilon)
