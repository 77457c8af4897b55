"""Kernels lowered from several threads at once leave everything as they found it."""

import threading
import time
import warnings

import jax
import jax.numpy as jnp
import pytest

from jaxbern.kernels import exclusive
from jaxbern.kernels.pallas import pallas_backend
from tests.op.absent_gpu import on_a_gpu

THREADS = 4


def in_threads(work):
    """Run ``work(i)`` in all threads at once; what went wrong in any."""
    failed, barrier = [], threading.Barrier(THREADS)

    def run(i):
        barrier.wait()
        try:
            work(i)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


def test_pallas():
    coeffs = jax.ShapeDtypeStruct((4, 1, 32), jnp.float32)
    interval = jax.ShapeDtypeStruct((2, 1, 1), jnp.float32)
    found = {}

    def work(i):
        x = jax.ShapeDtypeStruct((64 * (i + 1), 32), jnp.float32)

        def step(x, coeffs, interval):
            return pallas_backend.BACKEND.evaluate(x, coeffs, interval, outside="clamp")

        with on_a_gpu():
            traced = jax.jit(step).trace(x, coeffs, interval)
            found[i] = traced.lower(lowering_platforms=("cuda",)).as_text()

    before = list(warnings.filters)
    assert not in_threads(work)
    assert warnings.filters == before
    assert all('"jaxbern_bernstein"' in found[i] for i in range(THREADS))


def test_triton():
    compiler = pytest.importorskip("triton.backends.nvidia.compiler")
    from triton.backends.compiler import GPUTarget

    from jaxbern.kernels.triton import triton_call

    backend = compiler.CUDABackend(GPUTarget("cuda", 80, 32))
    original = compiler.CUDABackend.parse_options
    options = {"enable_fp_fusion": False}
    plain = backend.parse_options(options).ptx_version
    seen, others = [], []

    def work(i):
        if i:  # as a lowering of ours does
            with exclusive._lock, triton_call._portable_ptx():
                time.sleep(0.01)
                seen.append(backend.parse_options(options).ptx_version)
        else:  # somebody else's kernel, meanwhile
            for _ in range(200):
                others.append(backend.parse_options(options).ptx_version)
                time.sleep(0.0005)

    assert not in_threads(work)
    assert compiler.CUDABackend.parse_options is original
    assert seen == [85] * (THREADS - 1)
    assert set(others) == {plain}
