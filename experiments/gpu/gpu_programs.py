"""The programs whose cost is asked: an activation's forward pass and its gradient."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp

import jaxbern as jb

PASSES = ("forward", "gradient")


@dataclass(frozen=True)
class Workload:
    """Rows (the batch) of ``width`` neurons in ``dtype``; ``outside`` of the interval."""

    rows: int = 16384
    width: int = 256
    dtype: str = "float32"
    outside: str = "clamp"

    @property
    def elements(self) -> int:
        """Numbers that the activation is applied to."""
        return self.rows * self.width

    @property
    def itemsize(self) -> int:
        """Bytes of one."""
        return jnp.dtype(self.dtype).itemsize


def bernstein(workload: Workload, degree: int, implementation: str, which: str):
    """Make the program of ``jb.bernstein`` with a polynomial per neuron."""
    coeffs = jax.ShapeDtypeStruct((workload.width, degree + 1), jnp.float32)

    def apply(x, c):
        return jb.bernstein(
            x, c, outside=workload.outside, implementation=implementation
        )

    return program(apply, which, _rows(workload), coeffs)


def relu(workload: Workload, which: str):
    """Make the program of ``jax.nn.relu``."""
    return program(jax.nn.relu, which, _rows(workload))


def program(apply: Callable, which: str, x, *params):
    """Return ``apply`` or its gradient alone, and the shapes of its arguments.

    The gradient is given ``x``, the parameters and ``dy``: what a backward pass finds.
    """
    if which == "forward":
        return apply, (x, *params)

    def gradient(dy, *args):
        return jax.vjp(apply, *args)[1](dy)

    return gradient, (x, x, *params)


def _rows(workload: Workload) -> jax.ShapeDtypeStruct:
    shape = (workload.rows, workload.width)
    return jax.ShapeDtypeStruct(shape, jnp.dtype(workload.dtype))
