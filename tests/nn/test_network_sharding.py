"""A batch over eight devices: the numbers of one device, statistics of the whole batch.

Eight devices on one CPU need a flag set before JAX starts, so the checks run in a
process of their own and print what they saw.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROGRAM = r"""
import json, re
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
from jaxbern.nn import _network
from jaxbern.nn import NetworkConfig
from tests.oracles import network_oracle as oracle
from tests.nn.networks import random_params
from tests.quick import QUICKLY

ROWS, DEVICES = 128, 8
rng = np.random.default_rng(0)
# Every shard has a mean of its own, far from the others'.
x = rng.normal(size=(ROWS, 6)) + 10.0 * (np.arange(ROWS) // (ROWS // DEVICES))[:, None]
x, dlogits = np.float32(x), np.float32(rng.normal(size=(ROWS, 2)) / ROWS)
found = {}

def check(name, config, mesh):
    def loss(params, x, dlogits):
        out = _network.forward(config, params, x, None)
        statistics = jnp.stack(out.statistics)
        return jnp.sum(out.logits * dlogits), (out.logits, statistics)

    params = random_params(config)
    put = lambda a, spec: jax.device_put(a, NamedSharding(mesh, spec))
    args = put(params, P()), put(x, P("batch")), put(dlogits, P("batch"))
    step = jax.jit(jax.value_and_grad(loss, has_aux=True))
    compiled = step.lower(*args).compile(QUICKLY)
    got = compiled(*args)
    logits, statistics, _ = oracle.forward(config, params, x)
    gradients, _ = oracle.gradients(config, params, x, dlogits)
    want = (np.sum(logits * dlogits), (logits, statistics)), gradients
    first = params["first"]
    shards = (x @ first["kernel"] + first["bias"][None]).reshape(DEVICES, -1, 5)
    found[name] = {
        "error": max(
            float(np.abs(a - b).max() / (1 + np.abs(b).max()))
            for a, b in zip(*map(jax.tree.leaves, (jax.device_get(got), want)))
        ),
        "per shard": float(
            np.abs(shards.mean(axis=1) - statistics[0][:1]).min(axis=0).max()
        ),
        "gathered": re.findall(r"= (\S+) (?:all-gather|all-to-all)\(", compiled.as_text()),
        "logits": str(got[0][1][0].sharding.spec),
    }

mesh = jax.make_mesh((DEVICES,), ("batch",), axis_types=(AxisType.Auto,))
check("bernstein", NetworkConfig(6, 3, 5, degree=9), mesh)
check("standard", NetworkConfig(6, 3, 5, activation="gelu", lean=False), mesh)
# Axes whose sharding is part of the type, the default of make_mesh.
typed = jax.make_mesh((DEVICES,), ("batch",), axis_types=(AxisType.Explicit,))
check("explicit", NetworkConfig(6, 3, 5, degree=3), typed)
check("explicit relu", NetworkConfig(6, 3, 5, activation="relu"), typed)
print(json.dumps(found))
"""
CASES = ["bernstein", "standard", "explicit", "explicit relu"]


@pytest.fixture(scope="module")
def found():
    flags = os.environ.get("XLA_FLAGS", "")
    flags += " --xla_force_host_platform_device_count=8"
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env=os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("case", CASES)
def test_statistics_are_those_of_the_whole_batch(found, case):
    """Loss, logits, statistics, gradients; the mean of a shard would be far away."""
    assert found[case]["error"] < 2e-5
    assert found[case]["per shard"] > 1


@pytest.mark.parametrize("case", CASES)
def test_rows_stay_where_they_are(found, case):
    assert "batch" in found[case]["logits"]
    assert not found[case]["gathered"]
