"""Wrong arguments: what must hold, what came, what to write instead."""

import jax
import jax.numpy as jnp
import pytest
from flax import nnx

import jaxbern as jb
from jaxbern.linen import BernsteinAct as LinenAct

X, COEFFS = jnp.zeros((3, 2)), jnp.ones((2, 4))


@pytest.mark.parametrize(
    "x, coeffs, error, message",
    [
        (
            X.astype(int),
            COEFFS,
            TypeError,
            r"x must be floating point, got int32.*astype",
        ),
        (3, COEFFS[0], TypeError, "x must be floating point"),
        (X, COEFFS.astype(int), TypeError, "coeffs must be floating point, got int32"),
        (X.astype(complex), COEFFS, TypeError, "got complex64"),
        (X, jnp.zeros((2, 0)), ValueError, r"degree n >= 0, got \[2, 0\]"),
        (X, jnp.float32(1), ValueError, r"got \[\]"),
        (X, COEFFS[None], ValueError, r"\[W, n\+1\] or \[n\+1\].*got \[1, 2, 4\]"),
        (X, jnp.ones((3, 4)), ValueError, r"x is \[3, 2\].*3 neurons.*\[n\+1\]"),
        (jnp.float32(0), COEFFS, ValueError, r"x is \[\]"),
        (X, jnp.ones(102), ValueError, "degree 101 is too high for float32.*float64"),
    ],
)
def test_arrays(x, coeffs, error, message):
    with pytest.raises(error, match=message):
        jb.bernstein(x, coeffs)
    with pytest.raises(error, match=message):
        jax.jit(jb.bernstein)(x, coeffs)


@pytest.mark.parametrize(
    "lower, upper",
    [(3.0, -3.0), (1.0, 1.0), (float("nan"), 1.0), (0.0, float("inf")),
     (jnp.array([0.0, 2.0]), jnp.array([1.0, 1.0]))],
)  # fmt: skip
def test_interval(lower, upper):
    with pytest.raises(ValueError, match="lower must be less than upper"):
        jb.bernstein(X, COEFFS, lower=lower, upper=upper)
    with pytest.raises(ValueError, match="lower must be less than upper"):
        jax.jit(lambda x: jb.bernstein(x, COEFFS, lower=lower, upper=upper))(X)


def test_interval_of_the_wrong_shape():
    with pytest.raises(ValueError, match=r"lower must be a scalar.*\[2\].*got.*\[3\]"):
        jb.bernstein(X, COEFFS, lower=jnp.zeros(3) - 3)


def test_unknown_implementation(monkeypatch):
    known = "'xla', 'mosaic', 'pallas', 'triton'.*'cuda'"
    with pytest.raises(ValueError, match=f"implementation= must be one of {known}"):
        jb.bernstein(X, COEFFS, implementation="cuda")
    with pytest.raises(ValueError, match=known), jb.implementation("cuda"):
        pass
    monkeypatch.setenv("JAXBERN_IMPLEMENTATION", "cuda")
    with pytest.raises(ValueError, match=f"JAXBERN_IMPLEMENTATION .* {known}"):
        jb.bernstein(X, COEFFS)


@pytest.mark.parametrize("name", ["pallas", "triton"])
def test_kernels_say_why_they_cannot_run_here(name, monkeypatch):
    message = f"implementation='{name}' cannot run.*CUDA.*compiled for 'cpu'.*'xla'"
    with pytest.raises(NotImplementedError, match=message):
        jb.bernstein(X, COEFFS, implementation=name)
    with jb.implementation(name), pytest.raises(NotImplementedError, match=message):
        jb.bernstein(X, COEFFS)
    monkeypatch.setenv("JAXBERN_IMPLEMENTATION", name)
    with pytest.raises(NotImplementedError, match=message):
        jb.bernstein(X, COEFFS)
    # The argument wins over the environment.
    assert jb.bernstein(X, COEFFS, implementation="xla").shape == X.shape


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"degree": -1}, ValueError, "degree must be an int of at least 0, got -1"),
        ({"degree": 2.5}, TypeError, "degree must be an int of at least 0, got 2.5"),
        ({"lower": 1.0, "upper": 1.0}, ValueError, "lower must be less than upper"),
        ({"domain": "moving"}, ValueError, "'fixed', 'learned', 'batch', got 'moving'"),
        (
            {"init": "he"},
            ValueError,
            "'silu'.*'smooth'.*'identity'.*jax.nn.silu.*got 'he'",
        ),
        ({"init": 3}, TypeError, 'such as "silu".*got 3'),
        ({"outside": "wrap"}, ValueError, '"clamp".*"linear".*wrap'),
        (
            {"shared": True, "lower": [-1.0, -2.0]},
            ValueError,
            r"shared=True .* one interval.*got lower=\(-1.0, -2.0\)",
        ),
        (
            {"init": lambda key, shape, dtype: jnp.zeros(3)},
            ValueError,
            r"shape \[2, 4\], got \[3\]",
        ),
    ],
)
def test_layers(options, error, message):
    options = {"degree": 3, **options}
    with pytest.raises(error, match=message):
        jb.BernsteinAct(2, **options, rngs=nnx.Rngs(0))
    with pytest.raises(error, match=message):
        LinenAct(**options).init(jax.random.key(0), X)


@pytest.mark.parametrize("features", [0, -2])
def test_features(features):
    with pytest.raises(ValueError, match="features must be an int of at least 1"):
        jb.BernsteinAct(features, 3, rngs=nnx.Rngs(0))


def test_layer_given_the_wrong_width():
    act = jb.BernsteinAct(4, 3, rngs=nnx.Rngs(0))
    with pytest.raises(ValueError, match=r"features=4.*\[3, 2\].*features=2.*shared"):
        act(X)


def test_features_may_be_left_out_only_if_shared():
    with pytest.raises(TypeError, match=r"features must be an int.*got None"):
        jb.BernsteinAct(rngs=nnx.Rngs(0))
    act = jb.BernsteinAct(shared=True, rngs=nnx.Rngs(0))
    assert act(X).shape == X.shape
    assert act(jnp.float32(1)).shape == ()


@pytest.mark.parametrize("make", [
    lambda low: jb.BernsteinAct(2, lower=low, rngs=nnx.Rngs(0)),
    lambda low: LinenAct(lower=low).init(jax.random.key(0), X),
])  # fmt: skip
def test_a_traced_end_says_what_to_write(make):
    with pytest.raises(TypeError, match=r'lower must be a number.*traced.*"learned"'):
        jax.jit(lambda low: make(low) and None)(-3.0)


@pytest.mark.parametrize("shape", [(2,), (1, 2)])
def test_one_row_has_no_variance(shape):
    act = jb.BernsteinAct(2, domain="batch", rngs=nnx.Rngs(0))
    with pytest.raises(ValueError, match=r"at least two rows.*evaluation mode"):
        act(jnp.zeros(shape))
    act.eval()
    assert act(jnp.zeros(shape)).shape == shape
