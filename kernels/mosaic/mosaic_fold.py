"""Arrays narrower than a tile, made wide enough: several rows become one.

A Mosaic kernel reads 32 neighbouring columns at a time and cannot leave any out. So
``[S, B, W]`` with fewer columns is read as ``[S, B / r, r W]``, which moves no data: the
columns' parameters are repeated ``r`` times, and the sums of ``r`` columns are added up in
the end. Zeros are appended, at the cost of a copy, only where ``r`` does not divide ``B``.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from jaxbern.kernels import layout
from jaxbern.kernels.layout import Layout

COLUMNS = 32


@dataclass(frozen=True)
class Folded:
    """A :class:`~jaxbern.kernels.layout.Layout` of which ``times`` rows are one."""

    layout: Layout
    times: int

    @functools.cached_property
    def sizes(self) -> tuple[int, int, int]:
        """``(S, B / times, times W)``, where ``B`` includes rows that are appended."""
        groups, rows, width = self.layout.sizes
        return groups, -(-rows // self.times), width * self.times

    def pack(self, x: jax.Array) -> jax.Array:
        """``x``, ``dy``: from their own shape to :attr:`sizes`."""
        x = self.layout.pack(x)
        missing = -x.shape[1] % self.times
        if missing:
            x = jnp.pad(x, ((0, 0), (0, missing), (0, 0)))
        return x.reshape(self.sizes)

    def unpack(self, y: jax.Array) -> jax.Array:
        """``y``, ``dx``: from :attr:`sizes` to the shape of ``x``."""
        groups, rows, width = self.layout.sizes
        y = y.reshape(groups, -1, width)
        return self.layout.unpack(y[:, :rows] if y.shape[1] > rows else y)

    def pack_parameters(self, values: jax.Array) -> jax.Array:
        """To ``[k, S or 1, times W or 1]``."""
        values = self.layout.pack_parameters(values)
        return jnp.tile(values, self.times) if values.shape[-1] > 1 else values

    def unpack_sums(self, sums: jax.Array) -> jax.Array:
        """Add up the columns that are one, then as the layout does."""
        groups, _, width = self.layout.sizes
        parts = sums.reshape(-1, groups, self.times, width)
        return self.layout.unpack_sums(jnp.sum(parts, axis=2))


def plan(x_shape, coeffs_shape, interval_shape) -> Layout | Folded:
    """Plan as :func:`jaxbern.kernels.layout.plan` does, at least 32 columns wide.

    >>> plan((64, 48), (10, 1, 48), (2, 1, 1)).sizes
    (1, 64, 48)
    >>> plan((64, 3), (10, 1, 3), (2, 1, 1)).sizes  # 11 rows are no divisor of 64
    (1, 4, 48)
    """
    found = layout.plan(x_shape, coeffs_shape, interval_shape)
    _, rows, width = found.sizes
    if width >= COLUMNS:
        return found
    least = -(-COLUMNS // width)
    # A divisor of the batch that is not much larger needs no rows appended.
    times = next((r for r in range(least, 4 * least) if rows % r == 0), least)
    return Folded(found, times)
