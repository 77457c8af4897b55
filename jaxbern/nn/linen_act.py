"""``BernsteinAct`` for ``flax.linen``: the same layer, the same numbers."""

from collections.abc import Callable
from dataclasses import InitVar

import jax
import jax.numpy as jnp
from flax import linen
from jax.typing import DTypeLike

from jaxbern.kernels.array_types import Array, Ends, Float
from jaxbern.nn import _act_core as core
from jaxbern.nn import _telemetry
from jaxbern.nn._option_checks import checked_epsilon, checked_momentum
from jaxbern.op import bernstein


class BernsteinAct(linen.Module):
    """A learnable activation: one Bernstein polynomial per neuron.

    The options are those of :class:`jaxbern.BernsteinAct`, but for ``features``, which the
    first input tells. Parameters are ``coeffs`` (and ``center``, ``half_width`` for
    ``domain="learned"``); running statistics are in the collection ``batch_stats``; how the
    layer is used (``saturation``, ``spread``, ``gain``) is sown in ``intermediates``, and
    computed only if that is mutable.

    >>> import jax, jax.numpy as jnp
    >>> from jaxbern.linen import BernsteinAct
    >>> act = BernsteinAct(init="gelu")
    >>> variables = act.init(jax.random.key(0), jnp.zeros((1, 16)))
    >>> act.apply(variables, jnp.zeros((32, 16))).shape
    (32, 16)
    """

    degree: int = core.DEGREE
    lower: Ends = core.LOWER
    upper: Ends = core.UPPER
    outside: str = core.OUTSIDE
    # A module of linen has a method ``init``: the argument is kept as ``init_coeffs``.
    init: InitVar[str | Callable] = core.INIT  # pyrefly: ignore
    init_coeffs: str | Callable | None = None
    shared: bool = False
    monotone: bool = False
    domain: core.Domain = "fixed"
    momentum: float = 0.9
    epsilon: float = 1e-5
    use_running_average: bool | None = None
    dtype: DTypeLike | None = None
    param_dtype: DTypeLike = jnp.float32
    implementation: str | None = None

    def __post_init__(self, init=None):
        """Keep ``init`` under a name of its own; copies of the module bring that."""
        if self.init_coeffs is None:
            self.init_coeffs = init
        super().__post_init__()

    @linen.compact
    def __call__(
        self,
        x: Float[Array, "*batch width"],
        use_running_average: bool | None = None,
    ) -> Float[Array, "*batch width"]:
        """Apply each neuron's polynomial to ``x [..., features]``."""
        config = core.LayerConfig(
            self.degree, self.lower, self.upper, self.monotone, self.domain,
            self.outside, self.shared, self.param_dtype,
        )  # fmt: skip
        x = jnp.asarray(x) if self.dtype is None else jnp.asarray(x).astype(self.dtype)
        each = config.shape(x.shape[-1] if x.ndim else None)
        parameters = self.param(
            "coeffs",
            lambda key: config.init_coeffs(
                self.init_coeffs or core.INIT,
                key,
                (*each, self.degree + 1),
                self.param_dtype,
            ),
        )
        lower, upper = self._interval(config, x, each, use_running_average)
        y = bernstein(
            x,
            config.coefficients(parameters),
            lower=lower,
            upper=upper,
            outside=self.outside,
            implementation=self.implementation,
        )
        if self.is_mutable_collection("intermediates"):
            for name, value in _telemetry.of_layer(x, y, lower, upper).items():
                self.sow("intermediates", name, value)
        return y

    def _interval(self, config, x, each, use_running_average):
        if self.domain == "learned":
            center, half_width = config.init_interval(
                each[0] if each else None, self.param_dtype
            )
            return core.learned_interval(
                self.param("center", lambda key: center),
                self.param("half_width", lambda key: half_width),
            )
        if self.domain == "fixed":
            return config.lower, config.upper
        mean = self.variable("batch_stats", "mean", jnp.zeros, each, self.param_dtype)
        var = self.variable("batch_stats", "var", jnp.ones, each, self.param_dtype)
        momentum = checked_momentum(self.momentum)
        epsilon = checked_epsilon(self.epsilon)
        averaged = linen.merge_param(
            "use_running_average", self.use_running_average, use_running_average
        )
        # Modules are initialised with any input, as a rule of one row.
        if averaged or self.is_initializing():
            return config.interval_from_statistics(mean.value, var.value, epsilon)
        batch = core.batch_statistics(x, self.param_dtype, shared=self.shared)
        for running, new in zip((mean, var), batch, strict=True):
            kept = momentum * running.value + (1 - momentum) * new
            running.value = jax.lax.stop_gradient(kept)
        return config.interval_from_statistics(*batch, epsilon)


# The default of the argument is in the constructor; here it would hide the method.
del BernsteinAct.init
