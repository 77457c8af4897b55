"""Memory and traffic of a whole residual layer, forward and backward, on a GPU.

The layer is the paper's, ``h + act(batchnorm(h w + b))``. Its products run in NVIDIA's
library, whose code is not compiled here, so there is no count of instructions.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp

import jaxbern as jb
from experiments.gpu.gpu_compile import compile_for
from experiments.gpu.gpu_programs import Workload
from experiments.gpu.gpu_targets import Target
from experiments.gpu.hlo_traffic import traffic


@dataclass(frozen=True)
class LayerRow:
    """One layer on one GPU."""

    target: str
    activation: str
    degree: int | None
    bytes_per_element: float
    peak_memory: int


def measure_layer(
    target: Target, workload: Workload, degree: int | None, implementation: str
) -> LayerRow:
    """Compile a layer with ReLU (``degree=None``) or a Bernstein activation."""
    width = workload.width
    shapes = [(width, width), (width,)]
    act: Callable = jax.nn.relu
    if degree is not None:
        shapes.append((width, degree + 1))

        def act(z, c):
            return jb.bernstein(
                z, c, outside=workload.outside, implementation=implementation
            )

    rows = jax.ShapeDtypeStruct((workload.rows, width), jnp.dtype(workload.dtype))
    params = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]

    def step(dout, *args):
        return jax.vjp(lambda *a: _layer(act, *a), *args)[1](dout)

    compiled = compile_for(target, step, rows, rows, *params)
    return LayerRow(
        target=target.name,
        activation="relu" if degree is None else implementation,
        degree=degree,
        bytes_per_element=traffic(compiled.hlo) / workload.elements,
        peak_memory=compiled.peak_memory,
    )


def _layer(act: Callable, h, weight, bias, *params):
    z = h @ weight.astype(h.dtype) + bias.astype(h.dtype)[None]
    mean = jnp.mean(z, axis=0, keepdims=True)
    var = jnp.var(z, axis=0, keepdims=True)
    return h + act((z - mean) * jax.lax.rsqrt(var + 1e-5), *params)
