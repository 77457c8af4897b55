"""The part of a hidden layer after the matrix product: normalise, activate, add the skip.

All activations share one function, so that comparisons differ in the activation alone.
In the *lean* form the residuals are ``z``, the matrix product, and statistics per neuron;
everything else is recomputed, which trades arithmetic for memory traffic, the usual
bottleneck. In the *standard* form JAX keeps the residuals of separate operations.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name

from jaxbern.nn._network_config import BERNSTEIN, FIXED, NetworkConfig
from jaxbern.op import arithmetic, bernstein, bernstein_norm

Statistics = tuple[jax.Array, jax.Array]  # mean and variance, each [W]

# The name by which a policy of jax.checkpoint saves the statistics: they are small, and
# recomputing them would read all of z.
KEPT = "jaxbern_statistics"
keep_statistics = jax.checkpoint_policies.save_only_these_names(KEPT)


def hidden_layer(
    h: jax.Array,
    weights: dict[str, jax.Array],
    coeffs: jax.Array | None,
    running: Statistics | None,
    skip: jax.Array | None,
    *,
    config: NetworkConfig,
    with_saturation: bool = False,
    columns: bool = False,
) -> tuple[jax.Array, tuple[Statistics, jax.Array | None]]:
    """Compute ``skip + act((z - mean) / std)`` for ``z = h kernel + bias``.

    Args:
      h: ``[batch, in]``, or ``[in, batch]`` if ``columns``.
      weights: ``kernel [in, W]`` and ``bias [W]``.
      coeffs: ``[n+1, W]`` for ``"bernstein"``, else None.
      running: running statistics to use; None to use those of the batch.
      skip: ``[batch, W]``, or None; ``[W, batch]`` if ``columns``.
      config: a ``NetworkConfig``.
      with_saturation: whether to count inputs outside the interval.
      columns: whether ``h``, ``skip`` and the output have the batch as their last axis.

    Returns:
      The output; the statistics of ``z``; the fraction outside the interval per neuron.
    """
    run = functools.partial(
        _after_product, config=config, with_saturation=with_saturation
    )
    kernel = weights["kernel"].astype(h.dtype)
    if columns:
        z, run = _column_product(kernel, h), _by_neuron(run)
    else:
        z = h @ kernel
    return run(z, weights["bias"], coeffs, running, skip)


@jax.custom_vjp
def _column_product(kernel: jax.Array, h: jax.Array) -> jax.Array:
    """Compute ``kernel.T h`` for ``h [in, batch]``.

    XLA:CPU has faster code for ``A B`` than for ``A.T B``, which autodiff would write for two
    of the three products of a training step. The barrier keeps the transpose, of a small
    array, from being merged into the product.
    """
    return lax.optimization_barrier(kernel.T) @ h


def _column_product_bwd(
    residuals: tuple[jax.Array, jax.Array], dz: jax.Array
) -> tuple[jax.Array, jax.Array]:
    kernel, h = residuals
    return h @ dz.T, kernel @ dz


_column_product.defvjp(
    lambda kernel, h: (_column_product(kernel, h), (kernel, h)), _column_product_bwd
)


def _by_neuron(run: Callable) -> Callable:
    """Vmap ``run`` over neurons, for arrays ``[W, batch]``.

    The innermost loop of XLA:CPU then runs over all rows with constant parameters of one
    neuron; with ``[batch, 16]`` it would be only 16 elements long.
    """
    return jax.vmap(run, in_axes=(0, 0, 1, 0, 0))


def _after_product(z, bias, coeffs, running, skip, *, config, with_saturation):
    """Compute the layer's output from ``z = h kernel``; see :func:`hidden_layer`.

    ``z`` is ``[batch, W]``, or ``[batch]`` for one neuron. The lean form subtracts the bias
    from the mean instead of adding it to ``z``, which saves a pass over ``z``. In training
    the bias then has no effect, and its gradient is exactly zero instead of rounding noise.
    """
    run = functools.partial(_lean if config.lean else _standard, config=config)
    if config.lean:
        # prevent_cse is not needed: forward and backward passes are separate loops.
        run = jax.checkpoint(run, policy=keep_statistics, prevent_cse=False)
    else:
        z, bias = z + bias.astype(z.dtype)[None], jnp.zeros_like(bias)
    bias = bias.astype(arithmetic(z.dtype))
    if running is not None:
        mean, var = (statistic.astype(bias.dtype) for statistic in running)
        running = mean - bias, var
    y, statistics = run(z, coeffs, running, skip)
    share = _saturated(z, statistics, config) if with_saturation else None
    mean, var = statistics
    return y, ((mean + bias, var), share)


def linear(h: jax.Array, weights: dict[str, jax.Array]) -> jax.Array:
    """Compute ``h kernel + bias`` in the dtype of ``h``."""
    return h @ weights["kernel"].astype(h.dtype) + weights["bias"].astype(h.dtype)[None]


def _saturated(z, statistics, config: NetworkConfig):
    """Return the fraction of each neuron's inputs outside the interval, ``[W]``."""
    mean, var = statistics
    deviation = jnp.sqrt(var + config.epsilon)
    lower, upper = mean + config.lower * deviation, mean + config.upper * deviation
    wide = z.astype(mean.dtype)
    inside = (wide >= lower[None]) & (wide <= upper[None])  # NaN counts as outside
    return jnp.mean((~inside).astype(jnp.float32), axis=0)


def _lean(z, coeffs, running, skip, *, config: NetworkConfig):
    mean, var = statistics = batch_statistics(z) if running is None else running
    if config.activation == BERNSTEIN:
        y = bernstein_norm(
            z,
            coeffs.T,
            mean=mean,
            var=var,
            eps=config.epsilon,
            residual=skip,
            lower=config.lower,
            upper=config.upper,
            outside=config.outside,
            implementation=config.implementation,
        )
        return y, statistics
    y = FIXED[config.activation](_normalise(z, statistics, config))
    if skip is not None:
        y = skip.astype(y.dtype) + y
    return y.astype(z.dtype), statistics


def _standard(z, coeffs, running, skip, *, config: NetworkConfig):
    statistics = running
    if statistics is None:
        wide = z.astype(arithmetic(z.dtype))
        statistics = jnp.mean(wide, axis=0), jnp.var(wide, axis=0)
    x = _normalise(z, statistics, config).astype(z.dtype)
    if config.activation == BERNSTEIN:
        y = bernstein(
            x,
            coeffs.T,
            lower=config.lower,
            upper=config.upper,
            outside=config.outside,
            implementation=config.implementation,
        )
    else:
        y = FIXED[config.activation](x)
    return y if skip is None else skip + y, statistics


def _normalise(z, statistics: Statistics, config: NetworkConfig):
    mean, var = statistics
    inverse = lax.rsqrt(var + config.epsilon)
    return (z.astype(mean.dtype) - mean[None]) * inverse[None]


def batch_statistics(z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Compute mean and (biased) variance of ``z [..., W]`` per neuron, each ``[W]``.

    Narrow types are summed in float32. For one neuron's ``[batch]`` both are scalars.
    """
    wide = z.astype(arithmetic(z.dtype))
    return _statistics(wide.reshape(-1, z.shape[-1]) if z.ndim > 2 else wide)


@jax.custom_jvp
def _statistics(z: jax.Array) -> tuple[jax.Array, jax.Array]:
    if jax.typeof(z).sharding.spec[0] is not None:
        # JAX cannot index a single row if rows are sharded over an explicit mesh axis.
        return _two_passes(z)
    # XLA:CPU would store `z - z[0]` to sum it twice; two passes over z are faster.
    return lax.platform_dependent(z, cpu=_two_passes, default=_one_pass)


def _two_passes(z):
    mean = jnp.mean(z, axis=0)
    return mean, jnp.mean(jnp.square(z - mean[None]), axis=0)


def _one_pass(z):
    """Compute mean and variance from sums of ``z - z_0`` and its square, ``z_0`` a row.

    Without a shift, ``E[z^2] - E[z]^2`` cancels when the mean is far from zero; with this
    one the loss is limited by the distance of the first row from the mean.
    """
    centred = z - z[:1]
    mean = jnp.mean(centred, axis=0)
    var = jnp.mean(jnp.square(centred), axis=0) - jnp.square(mean)
    return z[0] + mean, jnp.maximum(var, 0)


@_statistics.defjvp
def _statistics_jvp(primals, tangents):
    """Differentiate without the mean inside the variance, which has no first-order effect."""
    [z], [dz] = primals, tangents
    mean, var = (checkpoint_name(s, KEPT) for s in _statistics(z))
    dvar = 2 * jnp.mean((z - mean[None]) * dz, axis=0)
    return (mean, var), (jnp.mean(dz, axis=0), dvar)
