"""Batch-sharded arrays stay where they are; only coefficient gradients travel.

Eight devices on one CPU need a flag set before JAX starts, so the checks run in a
process of their own and print what they saw.
"""

import json
import math
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import functools, json, re, sys
import jax, jax.numpy as jnp, numpy as np
import jaxbern as jb
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

implementation, = sys.argv[1:]
rng = np.random.default_rng(0)
found = {}

def step(x, coeffs, dy):
    run = functools.partial(jb.bernstein, implementation=implementation)
    y, pull = jax.vjp(run, x, coeffs)
    return y, *pull(dy)

def check(name, mesh, x_spec, coeffs_spec, x_shape, coeffs_shape, function=step):
    x, dy = (jnp.asarray(rng.normal(size=x_shape), jnp.float32) for _ in range(2))
    coeffs = jnp.asarray(rng.normal(size=coeffs_shape), jnp.float32)
    want = jax.jit(function)(x, coeffs, dy)
    put = lambda a, spec: jax.device_put(a, NamedSharding(mesh, spec))
    args = put(x, x_spec), put(coeffs, coeffs_spec), put(dy, x_spec)
    compiled = jax.jit(function).lower(*args).compile()
    got = compiled(*args)
    text = compiled.as_text()
    kinds = re.findall(r"= \\S+ (all-gather|all-reduce|all-to-all|collective-permute)", text)
    kinds += re.findall(r"(all-gather|all-to-all|collective-permute)\\(", text)
    found[name] = {
        "collectives": sorted(set(kinds)),
        "reduced": sorted(re.findall(r"f32\\[([\\d,]*)\\]\\S* all-reduce\\(", text)),
        "y": str(got[0].sharding.spec), "dx": str(got[1].sharding.spec),
        "error": max(
            float(jnp.abs(a - b).max() / (1 + jnp.abs(b).max()))
            for a, b in zip(jax.device_get(got), jax.device_get(want))
        ),
    }

mesh = jax.make_mesh((8,), ("batch",), axis_types=(AxisType.Auto,))
both = jax.make_mesh((4, 2), ("batch", "model"), axis_types=(AxisType.Auto,) * 2)
check("batch", mesh, P("batch"), P(), (64, 6), (6, 4))
check("shared", mesh, P("batch"), P(), (64, 6), (4,))
check("sequence", mesh, P("batch"), P(), (16, 5, 6), (6, 4))
check("model", both, P("batch", "model"), P("model"), (64, 6), (6, 4))
seeds = jax.vmap(step)
check("seeds", mesh, P(None, "batch"), P(), (3, 64, 6), (3, 6, 4), seeds)
# Axes whose sharding is part of the type, the default of make_mesh.
typed = jax.make_mesh((8,), ("batch",), axis_types=(AxisType.Explicit,))
check("explicit", typed, P("batch"), P(), (64, 6), (6, 4))
check("explicit seeds", typed, P(None, "batch"), P(), (3, 64, 6), (3, 6, 4), seeds)
with jax.set_mesh(typed):
    check("set mesh", typed, P("batch"), P(), (64, 6), (6, 4))
print(json.dumps(found))
"""


# Triton's interpreter is a call back to the host, which cannot be partitioned; on a GPU
# its kernels go through the same wrapper as those of Pallas.
@pytest.fixture(scope="module", params=["xla", "pallas:interpret"])
def found(request):
    flags = (
        os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
        " --xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    )
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, request.param],
        capture_output=True,
        text=True,
        env=os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


CASES = ["batch", "shared", "sequence", "model", "seeds"]
CASES += ["explicit", "explicit seeds", "set mesh"]


@pytest.mark.parametrize("case", CASES)
def test_numbers_equal_those_of_one_device(found, case):
    assert found[case]["error"] < 1e-6


@pytest.mark.parametrize("case", CASES)
def test_only_the_coefficient_gradient_travels(found, case):
    assert found[case]["collectives"] == ["all-reduce"]
    sizes = [
        math.prod(map(int, size.split(","))) for size in found[case]["reduced"] if size
    ]
    assert sum(sizes) <= 3 * 6 * 4  # no more than the coefficients of three seeds


@pytest.mark.parametrize("case", CASES)
def test_results_stay_sharded(found, case):
    assert "batch" in found[case]["y"]
    assert found[case]["y"] == found[case]["dx"]
