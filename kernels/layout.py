"""Every shape the operator allows, brought to the one the GPU kernels know.

    x, y, dx, dy    [S, B, W]      S groups of B rows of W columns
    coeffs          [n+1, S, W]    constant over rows
    lower, upper    [S, W]         constant over rows

A *column* axis is one along which coefficients or interval vary, at the end of ``x``;
*rows* are all axes along which neither varies; a *group* is what varies further in
front, such as the seeds of a ``vmap``. Where everything is shared, every axis is rows
and ``W`` is 1.
"""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class Layout:
    """How one call maps to ``[S, B, W]``; made by :func:`plan`."""

    shape: tuple[int, ...]  # of x
    groups: tuple[int, ...]  # axes of x
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, int, int]:
        """``(S, B, W)``."""
        s, b, w = (
            math.prod(self.shape[axis] for axis in axes)
            for axes in (self.groups, self.rows, self.columns)
        )
        return s, b, w

    @property
    def _order(self) -> tuple[int, ...]:
        return (*self.groups, *self.rows, *self.columns)

    def pack(self, x: jax.Array) -> jax.Array:
        """``x``, ``dy``: from their own shape to ``[S, B, W]``.

        The transpose moves no data unless an axis of rows stands in front of a group.
        """
        return jnp.transpose(x, self._order).reshape(self.sizes)

    def unpack(self, y: jax.Array) -> jax.Array:
        """``y``, ``dx``: from ``[S, B, W]`` to the shape of ``x``."""
        y = y.reshape([self.shape[axis] for axis in self._order])
        inverse = sorted(range(len(self.shape)), key=self._order.__getitem__)
        return jnp.transpose(y, inverse)

    def pack_bound(self, bound: jax.Array, *, broadcast: bool = True) -> jax.Array:
        """``lower``, ``upper``: to ``[S, W]``; else to ``[S or 1, W or 1]``."""
        return self.pack_coeffs(bound[None], broadcast=broadcast)[0]

    def pack_coeffs(self, coeffs: jax.Array, *, broadcast: bool = True) -> jax.Array:
        """``[n+1, *C]`` to ``[n+1, S, W]``.

        Without ``broadcast`` to ``[n+1, S or 1, W or 1]``: nothing is copied that is
        the same for all groups or all columns.
        """
        sizes = []
        for axes in (self.groups, self.columns):
            shared = not broadcast and all(coeffs.shape[1 + a] == 1 for a in axes)
            sizes.append([1 if shared else self.shape[axis] for axis in axes])
        groups, columns = sizes
        rows = [1] * len(self.rows)
        coeffs = jnp.transpose(coeffs, (0, *(1 + axis for axis in self._order)))
        coeffs = jnp.broadcast_to(coeffs, (len(coeffs), *groups, *rows, *columns))
        return coeffs.reshape(-1, math.prod(groups), math.prod(columns))

    def unpack_sums(
        self, sums: jax.Array, coeffs: tuple[int, ...], *bounds: tuple[int, ...]
    ) -> tuple[jax.Array, ...]:
        """Sums over rows ``[n+1 + bounds, S, W]`` to the shapes of ``coeffs``, ``bounds``."""
        terms = coeffs[0]
        ends = (
            self.unpack_coeffs(sums[k : k + 1], (1, *shape))[0]
            for k, shape in enumerate(bounds, start=terms)
        )
        return self.unpack_coeffs(sums[:terms], coeffs), *ends

    def unpack_coeffs(self, sums: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        """Sums over rows ``[n+1, S, W]`` to the coefficients' ``shape`` ``[n+1, *C]``.

        An axis of ``C`` that is 1 although something else varies along it is summed here.
        """
        sizes = [1 if axis in self.rows else self.shape[axis] for axis in self._order]
        sums = sums.reshape(-1, *sizes)
        inverse = sorted(range(len(self.shape)), key=self._order.__getitem__)
        sums = jnp.transpose(sums, (0, *(1 + axis for axis in inverse)))
        axes = tuple(
            axis for axis in range(1, sums.ndim) if sums.shape[axis] != shape[axis]
        )
        return jnp.sum(sums, axis=axes, keepdims=True) if axes else sums


def plan(
    x_shape: tuple[int, ...],
    coeffs_shape: tuple[int, ...],
    lower_shape: tuple[int, ...],
    upper_shape: tuple[int, ...],
) -> Layout:
    """Sort the axes of ``x`` into groups, rows and columns.

    ``coeffs_shape`` is ``[n+1, *C]``; ``C`` and the bounds have the rank of ``x``.

    >>> plan((3, 64, 16), (10, 3, 1, 16), (1, 1, 1), (1, 1, 1)).sizes
    (3, 64, 16)
    >>> plan((8, 64, 16), (10, 1, 1, 1), (1, 1, 1), (1, 1, 1)).sizes
    (1, 8192, 1)
    """
    sizes = zip(coeffs_shape[1:], lower_shape, upper_shape, strict=True)
    varies = [size != (1, 1, 1) for size in sizes]
    axes = range(len(x_shape))
    rows = tuple(axis for axis in axes if not varies[axis] and x_shape[axis] != 1)
    last = rows[-1] if rows else -1
    # Axes of size one vary along nothing; they go where they are in nobody's way.
    columns = tuple(axis for axis in axes if axis > last)
    groups = tuple(axis for axis in axes if axis < last and axis not in rows)
    return Layout(tuple(x_shape), groups, rows, columns)
