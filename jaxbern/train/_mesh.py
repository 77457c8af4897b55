"""One training over several devices: the rows of a batch are divided, all else copied."""

import warnings
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

_ROWS = "rows"


def mesh_for(batch_size: int, devices: Sequence[jax.Device] | None) -> Mesh:
    """Over these devices, or all there are, on all hosts."""
    found = jax.devices() if devices is None else list(devices)
    if not found:
        raise ValueError("devices must be at least one, got none; leave it out for all")
    if batch_size % len(found):
        warnings.warn(
            f"batch_size={batch_size} cannot be divided by {len(found)} devices, so each "
            f"computes all of it; write batch_size={batch_size // len(found) * len(found)}",
            stacklevel=4,
        )
    return Mesh(np.array(found), (_ROWS,))


def everywhere(mesh: Mesh, tree: Any) -> Any:
    """A copy of the arrays on each device."""
    return jax.device_put(tree, NamedSharding(mesh, PartitionSpec()))


def keep_everywhere(mesh: Mesh, tree: Any) -> Any:
    """Inside a program: the arrays stay whole on each device."""
    if mesh.size == 1:
        return tree
    whole = NamedSharding(mesh, PartitionSpec())
    return jax.lax.with_sharding_constraint(tree, whole)


def divide(mesh: Mesh, rows: Any) -> Any:
    """Inside a program: the leading axis of arrays is divided between the devices.

    The compiler then divides all that is computed row by row, and sums over rows, such
    as the statistics of BatchNorm and the gradients, are summed over the devices too.
    Rows that cannot be divided evenly are left whole: every device computes all of them.
    """
    if mesh.size == 1 or len(jax.tree.leaves(rows)[0]) % mesh.size:
        return rows
    divided = NamedSharding(mesh, PartitionSpec(_ROWS))
    return jax.lax.with_sharding_constraint(rows, divided)
