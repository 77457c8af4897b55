"""The gradient on TPUs that are not here reads its arguments once."""

import importlib.util

import jax
import pytest

from experiments.gpu import gpu_command, toolchain, tpu_compile, tpu_targets
from experiments.gpu.gpu_programs import Workload

needs_libtpu = [
    pytest.mark.skipif(
        importlib.util.find_spec("libtpu") is None,
        reason=f"needs {toolchain.TPU_INSTALL}",
    ),
    pytest.mark.skipif(
        jax.config.jax_platforms != "cpu", reason="needs JAX_PLATFORMS=cpu"
    ),
]


def test_missing_package_is_named(monkeypatch, capsys):
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    assert gpu_command.main(["--target", "v5e"]) == 1
    assert 'pip install "jaxbern[tpu-aot]"' in capsys.readouterr().err


@pytest.mark.parametrize("tpu", tpu_targets.TARGETS.values(), ids=lambda tpu: tpu.name)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
class TestTraffic:
    pytestmark = needs_libtpu

    def test_gradient_of_high_degree(self, tpu, dtype):
        workload = Workload(16384, 256, dtype)
        row = tpu_compile.measure(tpu, workload, 25, "gradient")
        assert row.kernel
        assert row.bytes_per_element <= 1.04 * row.least

    @pytest.mark.slow
    @pytest.mark.parametrize("degree, which", [(17, "gradient"), (25, "forward")])
    def test_what_is_left_to_xla(self, tpu, dtype, degree, which):
        row = tpu_compile.measure(tpu, Workload(16384, 256, dtype), degree, which)
        assert not row.kernel
        assert row.bytes_per_element <= 1.04 * row.least


def test_the_table():
    row = tpu_compile.TpuRow("v5e", 25, "float32", "gradient", 12.03, 12, True, 2**20)
    text = tpu_compile.text([row])
    assert "TPU v5e, float32" in text
    assert "12.03" in text
    assert "kernel" in text
