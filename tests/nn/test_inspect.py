"""``jb.inspect``: networks that learn are fine, those that died are told from them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from jaxbern.linen import BernsteinAct as LinenAct

PAPER = {"lower": -3.0, "upper": 3.0, "outside": "clamp", "init": "paper"}


def deep(depth, width, act, seed=0, inputs=8):
    """No normalisation, Flax's default start of the weights."""
    rngs, layers = nnx.Rngs(seed), []
    for k in range(depth):
        linear = nnx.Linear(width if k else inputs, width, rngs=rngs)
        layers += [linear, act(width, rngs)]
    return nnx.Sequential(*layers, nnx.Linear(width, 1, rngs=rngs))


def default(width, rngs):
    return jb.BernsteinAct(width, rngs=rngs)


def gelu(width, rngs):
    return nnx.gelu


@nnx.jit
def start(net, x):
    """Spread of the outputs, and norm of the gradient of the first kernel.

    The loss is the square error to targets of unit size, whatever the size of the outputs.
    """
    targets = jax.random.normal(jax.random.key(2), (len(x), 1))

    def loss(net):
        return jnp.mean(jnp.square(net(x) - targets))

    gradient = nnx.grad(loss)(net)["layers"][0]["kernel"][...]
    return jnp.std(net(x)), jnp.linalg.norm(gradient)


@pytest.fixture(scope="module")
def x():
    return jax.random.normal(jax.random.key(1), (256, 8))


@pytest.mark.slow
@pytest.mark.parametrize("depth, width", [(5, 256), (20, 64)])
def test_the_default_layer_starts_like_gelu(depth, width, x):
    """Gradient of the first kernel and spread of the outputs, without normalisation."""
    ratios = []
    for seed in range(5):
        nets = [deep(depth, width, act, seed) for act in (default, gelu)]
        mine, its = (start(net, x) for net in nets)
        ratios.append(np.divide(mine, its))
    spread, gradient = np.exp(np.mean(np.log(ratios), axis=0))
    print(f"{depth}x{width}: spread {spread:.2f}, gradient {gradient:.2f} of gelu's")
    assert 0.5 < spread < 2
    assert 0.5 < gradient < 2


@pytest.mark.slow
def test_a_network_that_learns_is_fine(x):
    found = jb.inspect(deep(5, 64, default), x)
    assert found.fine, str(found)
    assert [layer.name for layer in found.layers] == [
        f"layers.{k}" for k in (1, 3, 5, 7, 9)
    ]


@pytest.mark.slow
def test_a_signal_that_dies_is_seen_where_it_dies(x):
    found = jb.inspect(
        deep(4, 256, lambda w, rngs: jb.BernsteinAct(w, **PAPER, rngs=rngs)), x
    )
    verdicts = [layer.verdict for layer in found.layers]
    assert verdicts[0] == "outputs hardly move: their spread is 0.1% of the inputs'"
    assert verdicts[1].startswith("signal dies in layers.3: inputs use 0.0")
    assert verdicts[2] == verdicts[3] == "dead since layers.3"
    assert not found.fine
    assert "signal dies in layers.3" in str(found)


@pytest.mark.slow
def test_a_signal_that_shrinks_as_with_gelu_is_not_dead(x):
    """20x64: behind the default layer and behind gelu the last inputs are as small."""
    spreads = []
    for act in (default, gelu):
        net = deep(20, 64, act)
        h = x
        for layer in net.layers[:-2]:
            h = layer(h)
        spreads.append(float(jnp.mean(jnp.std(h, axis=0))))
    assert 0.5 < spreads[0] / spreads[1] < 2
    found = jb.inspect(deep(20, 64, default), x)
    small = [layer for layer in found.layers if layer.spread < 0.01]
    assert small  # else this test shows nothing
    assert all(layer.verdict.startswith("as small as with gelu") for layer in small)
    assert all(u.verdict == "fine" for u in found.layers if u.spread >= 0.01)


def test_a_signal_that_shrinks_faster_than_with_gelu_dies(x):
    """One tenth of gelu is left after a few layers whose slope is a third of its."""

    def flat(width, rngs):
        return jb.BernsteinAct(width, init=lambda x: 0.15 * x, rngs=rngs)

    found = jb.inspect(deep(8, 64, flat), x)
    verdicts = [layer.verdict for layer in found.layers]
    first = next(k for k, v in enumerate(verdicts) if v.startswith("signal dies"))
    assert 2 <= first <= 4
    assert all(v.startswith("dead since") for v in verdicts[first + 1 :])


@pytest.mark.slow
def test_the_numbers_are_those_of_the_definition(x):
    act = jb.BernsteinAct(8, lower=-1.0, upper=3.0, init="tanh", rngs=nnx.Rngs(0))
    (layer,) = jb.inspect(act, x).layers
    y = np.asarray(act(x))
    np.testing.assert_allclose(layer.outside, np.mean((x < -1) | (x > 3)), rtol=1e-6)
    spread = 4 * np.sqrt(np.mean(np.var(x, axis=0))) / 4
    np.testing.assert_allclose(layer.spread, spread, rtol=1e-5)
    gain = np.sqrt(np.var(y, axis=0).mean() / np.var(x, axis=0).mean())
    np.testing.assert_allclose(layer.gain, gain, rtol=1e-5)


@pytest.mark.parametrize("outside, said", [
    ("clamp", "of inputs are clamped"), ("linear", "on the straight lines outside"),
])  # fmt: skip
def test_inputs_far_outside(outside, said, x):
    act = jb.BernsteinAct(8, outside=outside, rngs=nnx.Rngs(0))
    (layer,) = jb.inspect(act, 20 * x).layers
    assert said in layer.verdict


@pytest.mark.parametrize("factor, said", [
    (1e4, "explodes"), (1e-5, "dies"), (np.nan, "not finite"),
])  # fmt: skip
def test_extreme_inputs(factor, said, x):
    (layer,) = jb.inspect(jb.BernsteinAct(8, rngs=nnx.Rngs(0)), factor * x).layers
    assert said in layer.verdict


@pytest.mark.slow
def test_a_network_of_the_paper_and_its_saturation(x):
    model = jb.MLP(8, depth=3, width=4, degree=5, rngs=nnx.Rngs(0))
    model.eval()
    found = jb.inspect(model, 3 * x)
    _, seen = nnx.capture(model, nnx.Intermediate)(3 * x)
    want = seen["saturation"][0].mean(axis=1)
    np.testing.assert_allclose([u.outside for u in found.layers], want, atol=1e-6)


@pytest.mark.slow
def test_what_cannot_be_inspected(x):
    with pytest.raises(ValueError, match="no Bernstein activation"):
        jb.inspect(deep(2, 4, gelu), x)
    with pytest.raises(ValueError, match="must be a batch"):
        jb.inspect(deep(2, 4, default), x[:1])


def test_telemetry_of_both_layers_is_the_same(x):
    act = jb.BernsteinAct(8, lower=-1.0, upper=2.0, rngs=nnx.Rngs(0))
    _, seen = nnx.capture(act, nnx.Intermediate)(x)
    layer = LinenAct(lower=-1.0, upper=2.0)
    variables = {"params": {"coeffs": act.coeffs[...]}}
    _, sown = layer.apply(variables, x, mutable=["intermediates"])
    y = np.asarray(act(x))
    want = {
        "saturation": np.mean((x < -1) | (x > 2), axis=0),
        "spread": 4 * np.std(x, axis=0) / 3,
        "gain": np.std(y, axis=0) / np.std(x, axis=0),
    }
    for name, value in want.items():
        np.testing.assert_allclose(seen[name][0], value, rtol=1e-4)
        np.testing.assert_allclose(sown["intermediates"][name][0], value, rtol=1e-4)


def test_the_picture(x):
    figure = jb.plot.inspection(deep(3, 8, default), x)
    assert [t.get_text() for t in figure.axes[1].get_xticklabels()] == [
        "layers.1", "layers.3", "layers.5",
    ]  # fmt: skip


class Block(nnx.Module):
    """A Linear and an activation."""

    def __init__(self, width, rngs):
        self.linear = nnx.Linear(width, width, rngs=rngs)
        self.act = default(width, rngs)

    def __call__(self, x):
        return self.act(self.linear(x))


class Scanned(nnx.Module):
    """Blocks whose parameters are stacked, run by one scan."""

    def __init__(self, depth, width, rngs):
        @nnx.split_rngs(splits=depth)
        @nnx.vmap(in_axes=(0,), out_axes=0)
        def make(rngs):
            return Block(width, rngs)

        self.blocks = make(rngs)

    def __call__(self, x):
        @nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
        def run(block, x):
            return block(x)

        return run(self.blocks, x)


def test_scanned_layers_are_inspected_one_by_one(x):
    scanned = Scanned(3, 8, nnx.Rngs(0))
    graph, state = nnx.split(scanned.blocks)
    blocks = [
        nnx.merge(graph, jax.tree.map(lambda a, k=k: a[k], state)) for k in range(3)
    ]
    found = jb.inspect(scanned, x).layers
    expected = jb.inspect(nnx.Sequential(*blocks), x).layers
    assert [layer.name for layer in found] == [f"blocks.act.{k}" for k in range(3)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            [one.outside, one.spread, one.gain],
            [other.outside, other.spread, other.gain],
            rtol=1e-5,
        )


def test_an_ensemble_of_networks_is_inspected(x):
    @nnx.split_rngs(splits=2)
    @nnx.vmap(in_axes=(0,), out_axes=0)
    def make(rngs):
        return jb.MLP(8, depth=2, width=4, rngs=rngs)

    class Ensemble(nnx.Module):
        def __init__(self, rngs):
            self.networks = make(rngs)

        def __call__(self, x):
            return nnx.vmap(lambda network, x: network(x), in_axes=(0, None))(
                self.networks, x
            )

    found = jb.inspect(Ensemble(nnx.Rngs(0)), x).layers
    names = [f"networks.{k} layer {layer}" for k in range(2) for layer in range(2)]
    assert [layer.name for layer in found] == names
    assert all(np.isfinite([each.spread, each.gain]).all() for each in found)
