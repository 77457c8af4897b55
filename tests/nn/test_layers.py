"""The Flax layers: equal to each other and to the operator, in every option."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import jaxbern as jb
from jaxbern.linen import BernsteinAct as LinenAct
from tests.quick import quickly

FEATURES, DEGREE = 6, 9
OPTIONS = [
    {},
    {"lower": -2.0, "upper": 1.0},
    {"lower": np.linspace(-3, -2, FEATURES), "upper": 2.0},
    {"init": "relu"},
    {"init": "identity", "monotone": True},
    {"monotone": True},
    {"domain": "learned"},
    {"domain": "batch"},
    {"domain": "batch", "use_running_average": True},
    {"dtype": jnp.bfloat16},
    {"param_dtype": jnp.bfloat16},
    {"init": "smooth", "outside": "clamp"},
    {"shared": True},
    {"shared": True, "domain": "learned", "init": jnp.tanh},
    {"shared": True, "domain": "batch"},
]
# By their place: the address of a function is another in every process.
each_options = pytest.mark.parametrize("options", OPTIONS, ids=range(len(OPTIONS)))


def inputs() -> jax.Array:
    rng = np.random.default_rng(1)
    return jnp.asarray(rng.normal(size=(20, FEATURES)) * 1.5 + 0.3, jnp.float32)


@pytest.mark.slow
@each_options
def test_nnx_equals_linen(options):
    act = jb.BernsteinAct(FEATURES, DEGREE, **options, rngs=nnx.Rngs(0))
    x = inputs()
    linen_options = dict(options)
    if options.get("domain") == "batch":
        linen_options.setdefault("use_running_average", False)
    layer = LinenAct(DEGREE, **linen_options)
    shapes = jax.eval_shape(layer.init, jax.random.key(0), x)
    params = nnx.to_pure_dict(nnx.state(act, nnx.Param))
    variables = {"params": params}
    if options.get("domain") == "batch":
        variables["batch_stats"] = nnx.to_pure_dict(nnx.state(act, nnx.BatchStat))
    chex.assert_trees_all_equal_shapes_and_dtypes(variables, shapes)

    def linen_loss(params, variables):
        variables = variables | {"params": params}
        y, changed = layer.apply(variables, x, mutable=["batch_stats"])
        return jnp.sum(jnp.sin(y.astype(jnp.float32))), (y, changed)

    def nnx_loss(act):
        y = act(x)
        return jnp.sum(jnp.sin(y.astype(jnp.float32))), y

    linen_grad = jax.jit(jax.grad(linen_loss, has_aux=True))
    grads, (y, changed) = linen_grad(params, variables)
    nnx_grads, nnx_y = nnx.jit(nnx.grad(nnx_loss, has_aux=True))(act)
    assert nnx_y.dtype == options.get("dtype", jnp.float32)
    chex.assert_trees_all_equal(nnx_y, y)
    chex.assert_trees_all_equal(nnx.to_pure_dict(nnx_grads), grads)
    if changed:
        stats = nnx.to_pure_dict(nnx.state(act, nnx.BatchStat))
        chex.assert_trees_all_equal(stats, changed["batch_stats"])


@each_options
def test_layer_is_the_operator(options):
    act = jb.BernsteinAct(FEATURES, DEGREE, **options, rngs=nnx.Rngs(0))
    act.use_running_average = True
    x = inputs().astype(options.get("dtype", jnp.float32))
    lower, upper = act.interval
    want = jb.bernstein(
        x, act.coefficients, lower=lower, upper=upper, outside=act.config.outside
    )
    np.testing.assert_array_equal(act(x), want)


def test_coefficients_have_the_shape_of_the_paper():
    act = jb.BernsteinAct(FEATURES, DEGREE, rngs=nnx.Rngs(0))
    state = nnx.to_pure_dict(nnx.state(act))
    assert jax.tree.map(jnp.shape, state) == {"coeffs": (FEATURES, DEGREE + 1)}


@pytest.mark.slow
@pytest.mark.parametrize("init", ["smooth", "normal", "relu"])
def test_monotone_is_monotone_after_training(init):
    act = jb.BernsteinAct(2, 7, monotone=True, init=init, rngs=nnx.Rngs(3))
    optimizer = nnx.Optimizer(act, optax.sgd(0.5), wrt=nnx.Param)
    x = jnp.linspace(-3, 3, 64)[:, None] * jnp.ones((1, 2))

    @nnx.jit
    def step(act, optimizer):
        grads = nnx.grad(lambda act: jnp.mean((act(x) + x) ** 2))(act)
        optimizer.update(act, grads)

    for _ in range(20):  # towards a decreasing function: it can only become flat
        step(act, optimizer)
    assert (jnp.diff(act.coefficients, axis=-1) > 0).all()
    assert (jnp.diff(act(x), axis=0) >= -1e-6).all()


def test_monotone_keeps_an_increasing_initialiser():
    act = jb.BernsteinAct(2, 5, monotone=True, init="identity", rngs=nnx.Rngs(0))
    x = jnp.linspace(-3, 3, 7)[:, None] * jnp.ones((1, 2))
    np.testing.assert_allclose(act(x), x, atol=1e-5)


@pytest.mark.slow
def test_learned_interval_is_trained_and_never_crosses():
    act = jb.BernsteinAct(FEATURES, 3, domain="learned", rngs=nnx.Rngs(0))
    grads = nnx.grad(lambda act: jnp.sum(act(inputs())))(act)
    assert (grads["center"][...] != 0).all()
    assert (grads["half_width"][...] != 0).all()
    for half_width in (-1.0, 0.0, 5.0):
        act.half_width[...] = jnp.full(FEATURES, half_width)
        lower, upper = act.interval
        assert (lower < upper).all()
        assert jnp.isfinite(act(inputs())).all()


def test_batch_domain_follows_the_inputs():
    act = jb.BernsteinAct(FEATURES, 3, domain="batch", rngs=nnx.Rngs(0))
    shifted = inputs() * 10 + 100
    _, seen = nnx.capture(act, nnx.Intermediate)(shifted)
    assert seen["saturation"][0].max() <= 0.05
    for _ in range(100):
        act(shifted)
    act.eval()
    before = act.interval
    np.testing.assert_allclose(act.mean[...], shifted.mean(axis=0), rtol=1e-3)
    _, seen = nnx.capture(act, nnx.Intermediate)(shifted)
    assert seen["saturation"][0].max() <= 0.05
    chex.assert_trees_all_equal(act.interval, before)  # evaluation changes nothing


def test_saturation_counts_what_is_outside():
    act = jb.BernsteinAct(2, 3, lower=-3.0, upper=3.0, rngs=nnx.Rngs(0))
    x = jnp.array([[0.0, 4.0], [3.0, -4.0], [-3.1, 0.0], [jnp.nan, jnp.inf]])
    _, seen = nnx.capture(act, nnx.Intermediate)(x)
    np.testing.assert_array_equal(seen["saturation"][0], [0.5, 0.75])
    layer = LinenAct(3, lower=-3.0, upper=3.0)
    variables = layer.init(jax.random.key(0), x)
    _, seen = layer.apply(variables, x, mutable=["intermediates"])
    np.testing.assert_array_equal(seen["intermediates"]["saturation"][0], [0.5, 0.75])


def test_saturation_costs_nothing_when_unused():
    """The program of a plain call holds no comparison for the count."""
    act, x = jb.BernsteinAct(2, 3, rngs=nnx.Rngs(0)), jnp.zeros((4, 2))
    graph, state = nnx.split(act)

    def plain(state, x):
        return nnx.merge(graph, state)(x)

    def captured(state, x):
        return nnx.capture(nnx.merge(graph, state), nnx.Intermediate)(x)

    assert " ge " not in str(jax.make_jaxpr(plain)(state, x))
    assert " ge " in str(jax.make_jaxpr(captured)(state, x))


@pytest.mark.slow
@jax.numpy_dtype_promotion("standard")  # optax.adam raises a float to an int power
def test_under_jit_in_a_network():
    class Net(nnx.Module):
        def __init__(self, rngs):
            self.first = nnx.Linear(3, 8, rngs=rngs)
            self.act = jb.BernsteinAct(8, 5, rngs=rngs)
            self.last = nnx.Linear(8, 1, rngs=rngs)

        def __call__(self, x):
            return self.last(self.act(self.first(x)))

    net = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(net, optax.adam(1e-2), wrt=nnx.Param)
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(64, 3)), jnp.float32)
    target = jnp.prod(x, axis=1, keepdims=True)

    @nnx.jit
    def step(net, optimizer):
        loss, grads = nnx.value_and_grad(lambda net: jnp.mean((net(x) - target) ** 2))(
            net
        )
        optimizer.update(net, grads)
        return loss

    losses = [float(step(net, optimizer)) for _ in range(150)]
    assert losses[-1] < 0.5 * losses[0]
    hessian = quickly(jax.hessian(lambda x: net(x)[0]))(x[0])
    chex.assert_shape(hessian, (3, 3))
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-5)
