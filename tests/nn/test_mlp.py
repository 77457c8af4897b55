"""``jb.MLP`` as a module: its two modes, what it refuses, and that it learns."""

import logging

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import jaxbern as jb
from tests.nn.networks import network
from tests.oracles import network_oracle as oracle

X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)


def running(model):
    return np.stack([model.mean[...], model.var[...]]).astype(np.float64)


@pytest.fixture(scope="module")
def shared():
    """A network whose parameters no test changes; compiled once."""
    return network(depth=3, width=4, degree=3)


@pytest.mark.slow
def test_training_normalises_by_the_batch_and_updates_the_statistics(shared):
    before = running(shared)
    shared.train()
    logits = shared(X)
    want, statistics, _ = oracle.forward(shared.config, shared.params(), X)
    np.testing.assert_allclose(logits, want, atol=1e-5)
    after = oracle.updated(shared.config, before, statistics, len(X))
    np.testing.assert_allclose(running(shared), after, rtol=1e-5, atol=1e-6)


def test_evaluation_normalises_by_the_statistics_and_leaves_them(shared):
    before = running(shared)
    shared.eval()
    logits = shared(X)
    want, _, _ = oracle.forward(shared.config, shared.params(), X, before)
    np.testing.assert_allclose(logits, want, atol=1e-5)
    np.testing.assert_array_equal(running(shared), before)


@pytest.mark.slow
def test_only_parameters_have_gradients(shared):
    gradients = nnx.grad(lambda model: jnp.sum(model(X)[:, 0]))(shared)
    chex.assert_trees_all_equal_shapes(gradients, nnx.state(shared, nnx.Param))


def test_calls_outside_of_jit_are_compiled_once(shared, caplog):
    shared.eval()
    shared(X)
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        shared(X)
    assert "Compiling" not in caplog.text
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        shared(X[:7])
    assert "Compiling" in caplog.text, "else the above shows nothing"


def test_leading_axes(shared):
    """Sequences and images: all axes but the last are rows."""
    shared.eval()
    np.testing.assert_array_equal(
        shared(X.reshape(2, 5, 2, 3)), shared(X).reshape(2, 5, 2, 2)
    )


def test_empty_batches(shared):
    shared.eval()
    assert shared(X[:0]).shape == (0, 2)
    shared.train()
    with pytest.raises(ValueError, match=r"at least one row, got x of shape \[0, 3\]"):
        shared(X[:0])


@pytest.mark.slow
def test_one_row_has_no_variance_of_its_own(shared):
    """Unlike PyTorch, which refuses: the output is that of normalised zeros."""
    shared.train()
    chex.assert_tree_all_finite((shared(X[:1]), running(shared)))


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(
    "of_parameters, of_input", [("float32", "float64"), ("float64", "float32")]
)
def test_parameters_and_inputs_of_different_precision(of_parameters, of_input):
    model = network(param_dtype=of_parameters)
    for _ in ("train", "eval"):
        assert model(X.astype(of_input)).dtype == of_input
        assert model.mean.dtype == model.var.dtype == of_parameters
        model.eval()


@pytest.mark.slow
def test_saturation_comes_when_asked_for(shared):
    shared.train()
    far = np.concatenate([X, [[40.0, 0.0, -40.0]]]).astype(np.float32)
    _, seen = nnx.capture(shared, nnx.Intermediate)(far)
    kept = oracle.forward(shared.config, shared.params(), far)[2]
    outside = [(np.abs(normal) > 3).mean(axis=0) for _, normal, *_ in kept[:-1]]
    np.testing.assert_allclose(seen["saturation"][0], outside, atol=1e-7)
    assert np.max(outside) > 0
    _, seen = nnx.capture(network(activation="relu"), nnx.Intermediate)(X)
    assert "saturation" not in seen


def test_monotone_polynomials():
    model = network(monotone=True)
    model.eval()
    params = model.params()
    steps = np.log1p(np.exp(np.asarray(params["coeffs"], np.float64)[..., 1:]))
    params["coeffs"] = np.cumsum(
        np.concatenate([params["coeffs"][..., :1], steps], axis=-1), axis=-1
    )
    want, _, _ = oracle.forward(model.config, params, X, running(model))
    np.testing.assert_allclose(model(X), want, rtol=1e-5, atol=1e-5)


def test_options_come_back(shared):
    options = shared.config.to_dict() | {"degree": 5, "lower": -2.0, "remat": True}
    config = type(shared.config)(**options)
    built = nnx.eval_shape(lambda: jb.MLP.from_config(config, rngs=nnx.Rngs(0)))
    assert built.config == config
    assert built.config.to_dict() == options


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"depth": 0}, ValueError, "depth must be an int of at least 1, got 0"),
        ({"width": 2.5}, TypeError, "width must be an int of at least 1, got 2.5"),
        ({"in_features": -1}, ValueError, "in_features must be an int of at least 1"),
        ({"out_features": True}, TypeError, "out_features must be an int.*True"),
        ({"activation": "tanh"}, ValueError, "'relu', 'leaky_relu'.*'bernstein'.*tanh"),
        ({"degree": -1}, ValueError, "degree must be an int of at least 0, got -1"),
        ({"degree": 2.5}, TypeError, "degree must be an int of at least 0, got 2.5"),
        ({"lower": 3.0}, ValueError, "lower must be less than upper"),
        ({"upper": [1.0, 2.0]}, TypeError, "upper must be one number, got"),
        ({"momentum": 1.0}, ValueError, r"momentum must be in \[0, 1\), got 1.0"),
        ({"epsilon": 0.0}, ValueError, "epsilon must be positive and finite, got 0.0"),
        ({"dtype": jnp.int32}, ValueError, "dtype must be floating point, got 'int32'"),
        ({"param_dtype": bool}, ValueError, "param_dtype must be floating point"),
        ({"init": "he"}, ValueError, "'silu'.*'smooth'.*'identity'.*got 'he'"),
    ],
)
def test_refused_options(options, error, message):
    with pytest.raises(error, match=message):
        network(**options)


@pytest.mark.parametrize(
    "x, error, message",
    [
        (X[:, :2], ValueError, r"x must have shape \[batch, 3\].*got \[20, 2\]"),
        (X[0], ValueError, r"got \[3\]; write x\[None\] for a single row"),
        (X.astype(int), TypeError, r"got int.*write x\.astype\(jnp\.float32\)"),
    ],
)
def test_refused_inputs(shared, x, error, message):
    with pytest.raises(error, match=message):
        shared(x)


def test_an_unknown_implementation():
    with pytest.raises(
        ValueError, match=r"'xla', 'mosaic', 'pallas', 'triton'.*got 'cuda'"
    ):
        network(implementation="cuda")(X)


@pytest.mark.slow
@jax.numpy_dtype_promotion("standard")  # Optax's Adam needs it
@jax.default_prng_impl("unsafe_rbg")  # compiles in a third of the time
def test_the_deepest_network_learns():
    """150 layers of degree 9 from their own initialisation, 20 steps, a toy problem."""
    x = jax.random.normal(jax.random.key(1), (128, 8))
    labels = (x[:, 0] * x[:, 1] + x[:, 2] > 0).astype(int)
    model = jb.MLP(8, depth=150, width=16, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(3e-3), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer):
        def loss(model):
            losses = optax.softmax_cross_entropy_with_integer_labels(model(x), labels)
            return jnp.mean(losses)

        value, gradients = nnx.value_and_grad(loss)(model)
        optimizer.update(model, gradients)
        return value

    losses = [float(step(model, optimizer)) for _ in range(20)]
    assert losses[-1] < 0.75 * losses[0], losses
    chex.assert_tree_all_finite(nnx.state(model))
