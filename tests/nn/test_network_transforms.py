"""vmap over seeds, forward mode, second derivatives, narrow dtypes, retracing."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import jaxbern as jb
from jaxbern.nn import NetworkConfig, _network
from tests.nn.networks import network, random_params
from tests.oracles import network_oracle as oracle
from tests.quick import quickly

RNG = np.random.default_rng(0)
X, DLOGITS = RNG.normal(size=(24, 3)), RNG.normal(size=(24, 2))


def stacked(trees):
    return jax.tree.map(lambda *arrays: jnp.stack(arrays), *trees)


def step(config, params, x):
    """What the forward pass gives, and the gradient of ``sum(DLOGITS * logits)``."""

    def loss(params):
        out = _network.forward(config, params, x, None)
        return jnp.vdot(jnp.asarray(DLOGITS, out.logits.dtype), out.logits), out

    (_, out), gradients = jax.value_and_grad(loss, has_aux=True)(params)
    return out.logits, jnp.stack(out.statistics), gradients


def exact(config, params, x):
    """The same for one seed in NumPy, float64."""
    logits, statistics, _ = oracle.forward(config, params, x)
    gradients, _ = oracle.gradients(config, params, x, DLOGITS)
    return logits, statistics, gradients


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"degree": 4}, {"activation": "selu"}])
def test_vmapped_seeds_are_each_what_it_is_alone(options):
    config = NetworkConfig(3, 3, 4, **options)
    seeds = [random_params(config, seed=seed) for seed in range(3)]
    x = np.float32(X)
    together = quickly(jax.vmap(lambda params: step(config, params, x)))(stacked(seeds))
    for i, params in enumerate(seeds):
        got = jax.tree.map(lambda a, i=i: np.asarray(a[i], np.float64), together)
        chex.assert_trees_all_close(got, exact(config, params, x), atol=2e-5)


@pytest.mark.slow
def test_vmapped_modules():
    """Each has its own statistics."""
    models = [network(seed=seed) for seed in range(3)]
    graph = nnx.split(models[0])[0]
    several = nnx.merge(graph, stacked([nnx.state(model) for model in models]))
    x = np.float32(X)
    logits = nnx.vmap(lambda model, x: model(x), in_axes=(0, None))(several, x)
    for i, model in enumerate(models):
        want, statistics, _ = oracle.forward(model.config, model.params(), x)
        np.testing.assert_allclose(logits[i], want, atol=1e-5)
        running = np.stack([model.mean[...], model.var[...]])
        mean, var = oracle.updated(model.config, running, statistics, len(x))
        np.testing.assert_allclose(several.mean[i], mean, atol=1e-5)
        np.testing.assert_allclose(several.var[i], var, atol=1e-5)


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
def test_forward_mode_and_second_derivatives():
    """Along a direction: of the loss both ways, of the gradient by differences."""
    config = NetworkConfig(3, 2, 3, degree=3)
    params, direction = (random_params(config, np.float64, seed) for seed in (0, 1))

    def loss(params):
        logits = _network.forward(config, params, X, None).logits
        return jnp.mean(jax.nn.logsumexp(logits, axis=1) - logits[:, 0])

    @quickly
    def derivatives(params):
        return jax.jvp(jax.value_and_grad(loss), (params,), (direction,))

    (_, gradient), (slope, second) = derivatives(params)
    np.testing.assert_allclose(slope, optax.tree.vdot(gradient, direction), rtol=1e-11)
    step = 1e-6
    (_, ahead), (_, behind) = (
        derivatives(optax.tree.add_scale(params, sign * step, direction))[0]
        for sign in (1, -1)
    )
    difference = optax.tree.scale(0.5 / step, optax.tree.sub(ahead, behind))
    chex.assert_trees_all_close(second, difference, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    "dtype, lean",
    [(jnp.bfloat16, True), (jnp.bfloat16, False), (jnp.float16, True)],
)
def test_narrow_computation(dtype, lean):
    """Logits are narrow, statistics and gradients in float32 and as good as z allows."""
    config = NetworkConfig(3, 3, 8, degree=9, lean=lean, dtype=dtype)
    params = random_params(config)
    x = np.float32(X.astype(dtype))
    logits, statistics, gradients = got = quickly(lambda p: step(config, p, x))(params)
    assert logits.dtype == dtype
    assert {a.dtype.name for a in jax.tree.leaves((statistics, gradients))} == {
        "float32"
    }
    chex.assert_tree_all_finite(got)
    want = exact(config, params, x)
    eps = float(jnp.finfo(dtype).eps)
    first = np.asarray(statistics)[:, 0], want[1][:, 0]
    np.testing.assert_allclose(*first, rtol=eps, atol=eps / 4)
    largest = max(np.abs(a).max() for a in jax.tree.leaves(want))
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(np.float64(a), b, atol=10 * eps * largest)


@pytest.mark.slow
def test_a_training_step_is_traced_once():
    model = network(depth=4)
    optimizer = nnx.Optimizer(model, optax.sgd(1e-3), wrt=nnx.Param)

    @nnx.jit
    @chex.assert_max_traces(n=1)
    def step(model, optimizer, x):
        def loss(model):
            return jnp.mean(model(x) ** 2)

        optimizer.update(model, nnx.grad(loss)(model))

    for _ in range(3):
        step(model, optimizer, np.float32(X))


def test_the_implementation_of_the_context_is_traced():
    """Layers are kept between calls, but not those of another implementation."""
    config = NetworkConfig(3, 3, 4)
    params = random_params(config)

    def program():
        text = jax.make_jaxpr(
            lambda p: _network.forward(config, p, jnp.float32(X), None).logits
        )
        return str(text(params))

    default = program()
    with jb.implementation("pallas:interpret"):
        assert program().count("pallas:interpret") == 2  # the first layer, the scan
    assert program() == default
