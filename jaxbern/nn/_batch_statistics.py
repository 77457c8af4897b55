"""Mean and variance of a batch, with the least work and their exact derivative."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name

from jaxbern.op import arithmetic

# The name under which a policy of jax.checkpoint finds the statistics: they are small, and
# to compute them again reads all of z.
KEPT = "jaxbern_statistics"


def batch_statistics(z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Mean and (biased) variance of ``z [..., W]`` for each neuron, each ``[W]``.

    Narrow types are summed in float32.
    """
    wide = z.astype(arithmetic(z.dtype))
    return _statistics(wide.reshape(-1, z.shape[-1]))


@jax.custom_jvp
def _statistics(z: jax.Array) -> tuple[jax.Array, jax.Array]:
    if jax.typeof(z).sharding.spec[0] is not None:
        # Rows sharded over an explicit axis of a mesh: JAX cannot take one of them.
        return _two_passes(z)
    # XLA:CPU would store `z - z[0]` to sum it twice; two loops over z are faster.
    return lax.platform_dependent(z, cpu=_two_passes, default=_one_pass)


def _two_passes(z):
    mean = jnp.mean(z, axis=0)
    return mean, jnp.mean(jnp.square(z - mean[None]), axis=0)


def _one_pass(z):
    """Sums of ``z - z_0`` and of its square, where ``z_0`` is the first row.

    Without a shift ``E[z^2] - E[z]^2`` loses everything when the mean is far from zero;
    with this one, no more than the first row is far from the mean.
    """
    centred = z - z[:1]
    mean = jnp.mean(centred, axis=0)
    var = jnp.mean(jnp.square(centred), axis=0) - jnp.square(mean)
    return z[0] + mean, jnp.maximum(var, 0)


@_statistics.defjvp
def _statistics_jvp(primals, tangents):
    """The mean inside the variance has no first-order effect; autodiff would sum it up."""
    [z], [dz] = primals, tangents
    mean, var = (checkpoint_name(s, KEPT) for s in _statistics(z))
    dvar = 2 * jnp.mean((z - mean[None]) * dz, axis=0)
    return (mean, var), (jnp.mean(dz, axis=0), dvar)
