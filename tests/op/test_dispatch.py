"""Which implementation is chosen, and that the choice can be seen and forced."""

import importlib.util
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbern as jb
from jaxbern.kernels import backends


@pytest.fixture
def cuda_device(monkeypatch):
    """Pretend that a CUDA device of some capability is there."""

    def pretend(capability: str):
        device = types.SimpleNamespace(
            compute_capability=capability, device_kind="NVIDIA Test"
        )
        monkeypatch.setattr(jax, "devices", lambda platform: [device])

    return pretend


def choose(implementation=backends.AUTO, platform="cuda", dtype=np.float32, degree=9):
    return backends.choose(implementation, platform, np.dtype(dtype), degree)


@pytest.mark.parametrize("capability", ["8.0", "8.9", "9.0", "10.0", "12.0"])
def test_pallas_on_ampere_and_later(cuda_device, capability):
    cuda_device(capability)
    choice = choose()
    assert choice.name == "pallas"
    assert f"NVIDIA Test has capability {capability}" in choice.reason


def test_each_implementation_gives_way_to_the_next(cuda_device, monkeypatch):
    cuda_device("8.0")
    missing = set()
    monkeypatch.setattr(
        backends.importlib.util, "find_spec", lambda name: name not in missing or None
    )
    monkeypatch.setattr(jax, "__version_info__", (0, 12, 0))
    for name, needs in (
        ("pallas", "jax.experimental.pallas.triton"),
        ("mosaic", "jax.experimental.pallas.mosaic_gpu"),
        ("triton", "jax_triton"),
    ):
        assert choose().name == name
        missing.add(needs)
    choice = choose()
    assert choice.name == "xla"
    for reason in ("no Pallas for Triton", "no Pallas for Mosaic", "jax-triton is not"):
        assert reason in choice.reason


def test_mosaic_needs_a_new_jax(monkeypatch):
    monkeypatch.setattr(jax, "__version_info__", (0, 11, 9))
    with pytest.raises(NotImplementedError, match=r"Mosaic kernels need JAX 0\.12"):
        choose("mosaic")


@pytest.mark.parametrize("capability", ["6.0", "7.5"])
def test_xla_on_older_cards(cuda_device, capability):
    cuda_device(capability)
    choice = choose()
    assert choice.name == "xla"
    assert "kernels start at 8.0" in choice.reason


@pytest.mark.parametrize("platform", ["cpu", "tpu", "rocm"])
def test_xla_on_other_platforms(platform):
    choice = choose(platform=platform)
    assert choice.name == "xla"
    assert repr(platform) in choice.reason


@pytest.mark.parametrize(
    "options, reason",
    [({"dtype": np.float64}, "float64"), ({"degree": 65}, "up to degree 64")],
)
def test_xla_for_what_the_kernels_cannot_do(cuda_device, options, reason):
    cuda_device("9.0")
    choice = choose(**options)
    assert choice.name == "xla"
    assert reason in choice.reason
    for name in ("pallas", "mosaic", "triton"):
        with pytest.raises(NotImplementedError, match=reason):
            choose(name, **options)


def test_no_device_to_ask():
    choice = choose()
    assert choice.name == "xla"
    assert "no CUDA device here" in choice.reason


def test_explain():
    assert jb.explain() == (
        "xla: the kernels are for CUDA and this program is compiled for 'cpu'"
    )
    assert jb.explain(implementation="xla") == "xla: asked for by name"
    assert jb.explain(platform="cuda", implementation="pallas").startswith("pallas:")
    with pytest.raises(NotImplementedError, match="cannot run here"):
        jb.explain(implementation="pallas")


def test_a_package_that_is_missing_is_named(monkeypatch):
    find = importlib.util.find_spec
    hidden = lambda name: None if name == "jax_triton" else find(name)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", hidden)
    with pytest.raises(NotImplementedError, match=r"pip install 'jaxbern\[triton"):
        jb.explain(platform="cuda", implementation="triton")


def traced_with(call) -> str:
    """The implementation that a call's program names."""
    program = jax.make_jaxpr(call)(jnp.zeros((2, 3)))
    [found] = {
        e.params["implementation"]
        for e in program.eqns
        if e.primitive.name == "bernstein"
    }
    return found


def test_argument_then_context_then_environment(monkeypatch):
    coeffs = jnp.ones(4)

    def plain(x):
        return jb.bernstein(x, coeffs)

    assert traced_with(plain) == "auto"
    monkeypatch.setenv("JAXBERN_IMPLEMENTATION", "triton")
    assert traced_with(lambda x: jb.bernstein(x, coeffs)) == "triton"
    with jb.implementation("pallas"):
        assert traced_with(lambda x: jb.bernstein(x, coeffs)) == "pallas"
        named = traced_with(lambda x: jb.bernstein(x, coeffs, implementation="xla"))
        assert named == "xla"
    assert traced_with(lambda x: jb.bernstein(x, coeffs)) == "triton"
