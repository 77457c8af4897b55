"""``python -m jaxbern doctor``: it finds what is wrong, and nothing else."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

import jaxbern as jb
from jaxbern.__main__ import main
from jaxbern.doctor import _doctor, _selfcheck


@pytest.fixture
def healthy(monkeypatch):
    """The checks that compile are quick and find nothing."""
    monkeypatch.setattr(_selfcheck, "problems", lambda implementation: [])


def doctor(capsys) -> tuple[int, str]:
    status = main(["doctor"])
    return status, capsys.readouterr().out


@pytest.mark.slow
def test_all_is_well(capsys):
    """As it is, with everything compiled."""
    status, out = doctor(capsys)
    assert status == 0, out
    assert out.endswith("All is well.\n")
    for text in (jb.__version__, jax.__version__, "cpu:0", jb.explain()):
        assert text in out
    assert "not tried: the kernels are for CUDA" in out
    assert out.count("values, gradients and second derivatives are right") >= 2
    assert "WRONG" not in out


def test_as_a_command():
    """Wrong usage needs no JAX; the rest is tested in this process."""
    result = subprocess.run(
        [sys.executable, "-c",
         "import sys; sys.modules['jax'] = None; sys.argv = ['jaxbern', 'docter'];"
         f"exec(open({main.__code__.co_filename!r}).read())"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode == 2
    assert "no such command: docter" in result.stderr
    assert "python -m jaxbern doctor" in result.stderr


def test_help(capsys):
    assert main([]) == main(["--help"]) == 0
    assert "exit status is 1" in capsys.readouterr().out


@jax.custom_jvp
def wrong_slope(x, coeffs):
    return jb.bernstein(x, coeffs, implementation="xla")


@wrong_slope.defjvp
def _(primals, tangents):
    y, dy = jax.jvp(right, primals, tangents)
    return y, dy * 1.0001


right = jb.bernstein
FAULTS = {
    "values": lambda x, c, **_: right(x, c) + jnp.where(x == 3.0, 1e-5, 0.0),
    "derivatives in x": lambda x, c, **_: wrong_slope(x, c),
    "gradients of the coefficients": lambda x, c, **_: wrong_slope(x, c),
    "second derivatives": lambda x, c, **_: right(
        jnp.where(x == 3.0, jnp.clip(x, -3.0, 3.0), x), c
    ),
    "nan": lambda x, c, **_: jnp.where(x > 4.0, jnp.nan, right(x, c)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_wrong_numbers_are_seen(fault, monkeypatch):
    monkeypatch.setattr(jb, "bernstein", FAULTS[fault])
    wrong = "; ".join(_selfcheck.problems(None))
    assert f"{fault}" in wrong
    assert "instead of" in wrong


def test_wrong_numbers_are_reported(capsys, monkeypatch):
    text = "values: 1 instead of 2"
    monkeypatch.setattr(_selfcheck, "problems", lambda implementation: [text])
    status, out = doctor(capsys)
    assert status == 1
    assert f"WRONG: {text}" in out
    assert "-> set JAXBERN_IMPLEMENTATION=xla" in out
    assert "Wrong: as chosen, pallas, interpreted" in out


def test_a_compiler_that_fails(capsys, monkeypatch):
    def problems(implementation):
        if implementation == "pallas:interpret":
            raise RuntimeError("ptxas exited with 255\nand more")
        return []

    monkeypatch.setattr(_selfcheck, "problems", problems)
    status, out = doctor(capsys)
    assert status == 1
    assert "WRONG: RuntimeError: ptxas exited with 255\n" in out


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize(
    "name, message", [("pallas", "cannot run here"), ("cuda", "must be one of 'xla'")]
)
def test_an_environment_that_cannot_work(capsys, monkeypatch, name, message):
    monkeypatch.setenv("JAXBERN_IMPLEMENTATION", name)
    status, out = doctor(capsys)
    assert status == 1
    assert message in out
    assert "-> unset JAXBERN_IMPLEMENTATION" in out


@pytest.mark.usefixtures("healthy")
def test_no_device(capsys, monkeypatch):
    def devices(*_):
        raise RuntimeError("Unknown backend 'cuda'\nand more")

    monkeypatch.setattr(jax, "devices", devices)
    status, out = doctor(capsys)
    assert status == 1
    assert "WRONG: Unknown backend 'cuda'\n" in out
    assert "set JAX_PLATFORMS=cpu" in out
    assert "Optional packages" in out  # the other checks still run


@pytest.fixture
def installed(monkeypatch):
    """Pretend that packages have these versions; None is missing."""
    original = _doctor._version

    def pretend(**versions):
        named = {name.replace("_", "-"): v for name, v in versions.items()}
        monkeypatch.setattr(
            _doctor, "_version", lambda p: named[p] if p in named else original(p)
        )

    return pretend


@pytest.mark.usefixtures("healthy")
def test_packages(capsys, installed):
    installed(triton=None, jax_triton=None, jax_cuda12_plugin="0.1", ray="2.0")
    status, out = doctor(capsys)
    assert status == 1
    assert "WRONG: 0.1 does not fit jaxlib" in out
    assert '-> pip install -U "jaxbern[cuda12]"' in out
    assert (
        "triton, interpreted    not tried: triton and jax-triton not installed" in out
    )
    assert 'missing; for the Triton kernels: pip install "jaxbern[triton]"' in out
    assert "2.0, for sweeps" in out


@pytest.mark.parametrize("plugin, driver, says", [
    (None, None, "no NVIDIA driver"),
    (None, "/bin/nvidia-smi", 'pip install "jaxbern[cuda12]"'),
    ("1.0", "/bin/nvidia-smi", "see what it said"),
])  # fmt: skip
def test_why_there_is_no_gpu(installed, monkeypatch, plugin, driver, says):
    installed(jax_cuda12_plugin=plugin, jax_cuda13_plugin=None)
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    monkeypatch.setattr(_doctor.shutil, "which", lambda name: driver)
    assert says in _doctor._why_no_gpu()


def test_on_a_gpu_the_kernels_are_compiled_and_run(capsys, monkeypatch, installed):
    tried = []
    monkeypatch.setattr(_selfcheck, "problems", lambda name: tried.append(name) or [])
    monkeypatch.setattr(jb, "explain", lambda **_: "pallas: it has capability 8.0")
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    installed(triton="3.4", jax_triton="0.4")
    status, out = doctor(capsys)
    assert status == 0, out
    assert "pallas: it has capability 8.0" in out
    assert tried == [
        None, "xla", "pallas", "pallas:interpret", "mosaic", "mosaic:interpret",
        "triton", "triton:interpret"
    ]  # fmt: skip
