"""Real compilation for an absent GPU, which needs the extra ``gpu-aot``."""

import jax
import jax.numpy as jnp
import pytest

from experiments.gpu import gpu_targets, hlo_traffic, roofline, sass
from tests.experiments.gpu_cases import needs_compiler


def struct(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


@needs_compiler
@pytest.mark.parametrize(
    "name",
    ["a30", *(pytest.param(name, marks=pytest.mark.slow) for name in ("h100", "l4"))],
)
def test_xla_kernel_compiles_for_an_absent_gpu(name):
    from experiments.gpu.gpu_compile import compile_for

    compiled = compile_for(name, lambda x: jnp.maximum(x, 0), struct(1024, 256))
    [(kernel_name, ptx)] = compiled.ptx.items()
    kernel = compiled.kernels[kernel_name]
    assert f".target {compiled.target.arch}" in ptx
    report = sass.analyse(ptx, compiled.target.arch)[kernel_name]
    elements, threads = 1024 * 256, kernel.blocks * kernel.threads
    counts = roofline.executed(report, threads=threads, elements=elements, itemsize=4)
    assert counts["compare"] == elements  # one FMNMX each
    assert report.spills == 0
    assert hlo_traffic.traffic(compiled.hlo) == 8 * elements
    assert compiled.peak_memory == 8 * elements


def _square(x_ref, y_ref):
    from jax.experimental import pallas as pl

    @pl.loop(0, x_ref.shape[0])
    def _(i):
        row = x_ref[pl.ds(i, 1), :]
        y_ref[pl.ds(i, 1), :] = jnp.maximum(row * row, 0.5)


@needs_compiler
@pytest.mark.filterwarnings("ignore:.*[Tt]riton.*:DeprecationWarning")
def test_pallas_kernel_compiles_again_and_again():
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton as plgpu

    from experiments.gpu.gpu_compile import compile_for

    block = pl.BlockSpec((256, 128), lambda i, j: (i, j))
    call = pl.pallas_call(
        _square,
        grid=(64, 2),
        in_specs=[block],
        out_specs=block,
        out_shape=struct(16384, 256),
        name="square",
        compiler_params=plgpu.CompilerParams(num_warps=4, num_stages=1),
    )
    for target in (gpu_targets.A30, gpu_targets.A30, gpu_targets.H100):
        compiled = compile_for(target, call, struct(16384, 256))
        kernel = compiled.kernels["square"]
        assert (kernel.grid, kernel.threads) == ((64, 2, 1), 128)
        report = sass.analyse(kernel.ptx, target.arch)["square"]
        loop = report.hot_loop
        assert loop.fp32 / (loop.stored / 4) == 2
        counts = roofline.executed(
            report, threads=64 * 2 * 128, elements=16384 * 256, itemsize=4
        )
        # A pass that ptxas peeled off the loop is counted twice.
        assert 1 <= counts["fma"] / (16384 * 256) < 1.02


@needs_compiler
@pytest.mark.parametrize(
    "implementation", ["pallas", pytest.param("triton", marks=pytest.mark.slow)]
)
def test_kernels_move_what_relu_moves(implementation):
    from experiments.gpu import gpu_measure, gpu_programs

    workload = gpu_programs.Workload()
    for which, accesses in roofline.RELU_ACCESSES.items():
        row = gpu_measure.measure(gpu_targets.A30, workload, 9, implementation, which)
        assert row.kernel.startswith("jaxbern_bernstein")
        assert row.spills == 0
        assert row.fp32_per_element > 10  # a coefficient is at least one multiply-add
        # Coefficients, and partial sums of their gradient, come on top: how many is the
        # launch configuration's choice.
        assert 1 <= row.bytes_per_element / (4 * accesses) < 1.1
        assert row.ratio < 1.1
