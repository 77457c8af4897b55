"""Every shape the operator allows, brought to the one the GPU kernels know.

    x, y, dx, dy    [S, B, W]      S groups of B rows of W columns
    coeffs          [n+1, S or 1, W or 1]    constant over rows
    interval        [2 or 3, S or 1, W or 1]
    sums over rows  [n+1 or n+3, S, W]

A *column* axis is one along which coefficients or interval vary, at the end of ``x``;
*rows* are all axes along which neither varies; a *group* is what varies further in
front, such as the seeds of a ``vmap``. Where everything is shared, every axis is rows
and ``W`` is 1.
"""

import math
from dataclasses import dataclass

import jax.numpy as jnp

from jaxbern.kernels.array_types import Array, Float


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

    def pack(self, x: Float[Array, "*batch"]) -> Float[Array, "groups rows columns"]:
        """``x``, ``dy``: from their own shape to ``[S, B, W]``.

        The transpose moves no data unless an axis of rows stands in front of a group.
        """
        return jnp.transpose(x, self._order).reshape(self.sizes)

    def unpack(self, y: Float[Array, "groups rows columns"]) -> Float[Array, "*batch"]:
        """``y``, ``dx``: from ``[S, B, W]`` to the shape of ``x``."""
        y = y.reshape([self.shape[axis] for axis in self._order])
        inverse = sorted(range(len(self.shape)), key=self._order.__getitem__)
        return jnp.transpose(y, inverse)

    def pack_parameters(
        self, values: Float[Array, "terms *neurons"]
    ) -> Float[Array, "terms groups columns"]:
        """``[k, *C]``, of coefficients or an interval, to ``[k, S or 1, W or 1]``.

        Nothing is copied that is the same for all groups or all columns.
        """
        sizes = []
        for axes in (self.groups, self.columns):
            shared = all(values.shape[1 + a] == 1 for a in axes)
            sizes.append([1 if shared else self.shape[axis] for axis in axes])
        groups, columns = sizes
        rows = [1] * len(self.rows)
        values = jnp.transpose(values, (0, *(1 + axis for axis in self._order)))
        values = jnp.broadcast_to(values, (len(values), *groups, *rows, *columns))
        return values.reshape(-1, math.prod(groups), math.prod(columns))

    def unpack_sums(
        self, sums: Float[Array, "sums groups columns"]
    ) -> Float[Array, "sums ..."]:
        """``[k, S, W]`` to ``[k, *J]``: ``J`` is 1 along rows, else as ``x``."""
        sizes = [1 if axis in self.rows else self.shape[axis] for axis in self._order]
        inverse = sorted(range(len(self.shape)), key=self._order.__getitem__)
        order = (0, *(1 + axis for axis in inverse))
        return jnp.transpose(sums.reshape(-1, *sizes), order)


def plan(
    x_shape: tuple[int, ...],
    coeffs_shape: tuple[int, ...],
    interval_shape: tuple[int, ...],
) -> Layout:
    """Sort the axes of ``x`` into groups, rows and columns.

    ``coeffs_shape`` is ``[n+1, *C]``, ``interval_shape`` is ``[2 or 3, *I]``; ``C`` and ``I``
    have the rank of ``x``.

    >>> plan((3, 64, 16), (10, 3, 1, 16), (2, 1, 1, 1)).sizes
    (3, 64, 16)
    >>> plan((8, 64, 16), (10, 1, 1, 1), (2, 1, 1, 1)).sizes
    (1, 8192, 1)
    """
    sizes = zip(coeffs_shape[1:], interval_shape[1:], strict=True)
    varies = [size != (1, 1) for size in sizes]
    axes = range(len(x_shape))
    rows = tuple(axis for axis in axes if not varies[axis] and x_shape[axis] != 1)
    last = rows[-1] if rows else -1
    # Axes of size one vary along nothing; they go where no transpose is needed.
    columns = tuple(axis for axis in axes if axis > last)
    groups = tuple(axis for axis in axes if axis < last and axis not in rows)
    return Layout(tuple(x_shape), groups, rows, columns)
