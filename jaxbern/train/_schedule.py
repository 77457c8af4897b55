"""Learning-rate schedules that do not depend on a metric."""

import jax.numpy as jnp

from jaxbern.kernels.array_types import Array, Float, Int

PLATEAU, COSINE = "plateau", "cosine"
SCHEDULES = (PLATEAU, COSINE)


def factor(epoch: Int[Array, ""], *, epochs: int, warmup: int) -> Float[Array, ""]:
    """Return the factor on the learning rate in an epoch, counted from 0.

    It rises in equal steps over the ``warmup`` epochs, is 1 in the next, and falls from
    there as half a cosine that would reach zero after the last.

    >>> [round(float(factor(jnp.int32(e), epochs=6, warmup=2)), 3) for e in range(6)]
    [0.333, 0.667, 1.0, 0.854, 0.5, 0.146]
    """
    epoch = epoch.astype(jnp.float32)
    rise = (epoch + 1) / (warmup + 1)
    done = (epoch - warmup) / (epochs - warmup)
    return jnp.where(epoch < warmup, rise, 0.5 * (1 + jnp.cos(jnp.pi * done)))
