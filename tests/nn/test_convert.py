"""``jb.convert``: what is found, what is put there, and that nothing else changes."""

import functools
from pathlib import Path

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import linen as nn
from flax import nnx

import jaxbern as jb


class Block(nnx.Module):
    def __init__(self, inputs, outputs, act, rngs):
        self.linear, self.act = nnx.Linear(inputs, outputs, rngs=rngs), act

    def __call__(self, x):
        return self.act(self.linear(x))


class Net(nnx.Module):
    """Activations wherever a module can hold one."""

    def __init__(self, rngs):
        exact = functools.partial(jax.nn.gelu, approximate=False)
        self.blocks = nnx.List([Block(3, 8, nnx.silu, rngs), Block(8, 5, exact, rngs)])
        self.acts = [nnx.gelu, nnx.softplus]
        self.pair = (jnp.tanh,)
        self.named = {"used": nnx.sigmoid, "not": nnx.elu}
        self.anywhere = nnx.gelu
        self.tail = nnx.Sequential(
            nnx.Linear(5, 7, rngs=rngs), nnx.silu, nnx.Dropout(0.5, rngs=rngs),
            nnx.Linear(7, 2, rngs=rngs),
        )  # fmt: skip

    def __call__(self, x):
        x = self.anywhere(x)
        for block in self.blocks:
            x = self.anywhere(block(x))
        for act in self.acts:
            x = act(x)
        return self.tail(self.named["used"](nnx.selu(self.pair[0](x))))


FOUND = {
    "blocks.0.act": ("silu", 8, 1),
    "blocks.1.act": ("gelu", 5, 1),
    "acts.0": ("gelu", 5, 1),
    "acts.1": ("softplus", 5, 1),
    "pair.0": ("tanh", 5, 1),
    "named.used": ("sigmoid", 5, 1),
    "anywhere": ("gelu", None, 3),
    "tail.layers.1": ("silu", 7, 1),
}


@pytest.fixture(scope="module")
def x():
    return jax.random.normal(jax.random.key(0), (16, 3))


@pytest.mark.slow
def test_every_activation_that_a_module_holds(x):
    net = Net(nnx.Rngs(0))
    before = nnx.to_pure_dict(nnx.state(net))
    new, report = jb.convert(net, x, degree=25)
    found = {r.path: (r.function, r.features, r.calls) for r in report.replaced}
    assert found == FOUND
    assert report.unused == ("named.not",)
    assert new.named["not"] is nnx.elu
    chex.assert_trees_all_equal(nnx.to_pure_dict(nnx.state(net)), before)
    assert net.acts[0] is nnx.gelu
    net.eval()
    new.eval()
    change = np.abs(new(x) - net(x)).max()
    np.testing.assert_allclose(report.change, change, rtol=1e-5)
    assert report.change < 1e-3
    assert report.scale > 0.1


@pytest.mark.slow
def test_the_new_network_trains_and_has_all_parameters(x):
    new, _ = jb.convert(Net(nnx.Rngs(0)), x)
    counts = [v[...].size for v in jax.tree.leaves(
        nnx.state(new, nnx.Param), is_leaf=lambda v: isinstance(v, nnx.Param))]  # fmt: skip
    linears = (3 + 1) * 8 + (8 + 1) * 5 + (5 + 1) * 7 + (7 + 1) * 2
    assert sum(counts) == linears + 10 * (8 + 5 + 5 + 5 + 5 + 5 + 1 + 7)
    optimizer = nnx.Optimizer(new, optax.sgd(0.1), wrt=nnx.Param)

    @nnx.jit
    def step(net, optimizer):
        optimizer.update(net, nnx.grad(lambda net: jnp.mean(net(x) ** 2))(net))

    before = new.anywhere.coeffs[...]
    step(new, optimizer)
    assert not jnp.array_equal(new.anywhere.coeffs[...], before)


@pytest.mark.slow
def test_calls_in_code_are_named_with_what_to_write(x):
    _, report = jb.convert(Net(nnx.Rngs(0)), x)
    (inline,) = report.inline
    assert inline.call == "nnx.selu(self.pair[0](x))"
    assert "Net.__call__, line " in inline.where
    text = str(report)
    assert 'jb.BernsteinAct(features, init="selu", rngs=rngs)' in text
    assert "acts.0: gelu -> BernsteinAct(features=5)" in text
    assert "named.not" in text
    lines = Path(__file__).read_text().splitlines()
    number = int(inline.where.partition("line ")[2].partition(" ")[0])
    assert "nnx.selu" in lines[number - 1]


def test_functions_of_ones_own(x):
    def bump(x):
        return x / (1 + x * x)

    net = nnx.Sequential(nnx.Linear(3, 4, rngs=nnx.Rngs(0)), bump)
    with pytest.raises(ValueError, match=r"functions=\(my_activation,\)"):
        jb.convert(net, x)
    new, report = jb.convert(net, x, 15, functions=[bump])
    assert report.replaced[0].function == "bump"
    np.testing.assert_allclose(new(x), net(x), atol=2e-2)


def test_one_polynomial_for_all_on_request(x):
    net = nnx.Sequential(nnx.Linear(3, 4, rngs=nnx.Rngs(0)), nnx.relu)
    new, _ = jb.convert(net, x, 3, shared=True, lower=-2.0, upper=5.0, outside="clamp")
    act = new.layers[1]
    assert act.coeffs[...].shape == (4,)
    assert (act.config.lower, act.config.outside) == (-2.0, "clamp")


def test_what_is_no_network(x):
    with pytest.raises(TypeError, match=r"jb\.linen\.convert"):
        jb.convert(nn.Dense(3), x)
    with pytest.raises(TypeError, match=r"flax\.nnx\.Module, got int"):
        jb.convert(3, x)
    with pytest.raises(TypeError, match=r"jb\.convert"):
        jb.linen.convert(Net(nnx.Rngs(0)), {}, x)


class LinenBlock(nn.Module):
    width: int
    act: object = nn.gelu

    @nn.compact
    def __call__(self, x):
        return nn.relu(self.act(nn.Dense(self.width)(x)))


@pytest.mark.slow
def test_linen(x):
    module = nn.Sequential([LinenBlock(5), nn.silu, nn.Dense(2), jnp.tanh])
    variables = module.init(jax.random.key(1), x)
    new, merged, report = jb.linen.convert(module, variables, x, 25)
    assert [(r.path, r.function) for r in report.replaced] == [
        ("layers.0.act", "gelu"), ("layers.1", "silu"), ("layers.3", "tanh"),
    ]  # fmt: skip
    shapes = jax.tree.map(jnp.shape, merged["params"])
    assert shapes["layers_0"]["act"]["coeffs"] == (5, 26)
    chex.assert_trees_all_equal(
        merged["params"]["layers_2"], variables["params"]["layers_2"]
    )
    change = np.abs(new.apply(merged, x) - module.apply(variables, x)).max()
    np.testing.assert_allclose(report.change, change, rtol=1e-5)
    assert change < 1e-2
    assert [found.call for found in report.inline] == [
        "nn.relu(self.act(nn.Dense(self.width)(x)))"
    ]


class Twice(nn.Module):
    act: object = nn.gelu

    @nn.compact
    def __call__(self, x):
        return self.act(nn.Dense(2)(self.act(nn.Dense(5)(x))))


def test_linen_of_several_widths(x):
    variables = Twice().init(jax.random.key(1), x)
    with pytest.raises(ValueError, match="several widths: write shared=True"):
        jb.linen.convert(Twice(), variables, x)
    _, merged, report = jb.linen.convert(Twice(), variables, x, shared=True)
    assert merged["params"]["act"]["coeffs"].shape == (10,)
    assert report.change < 0.1


class Scanned(nnx.Module):
    """Blocks whose parameters ``nnx.vmap`` stacks, run by one scan."""

    def __init__(self, depth, width, rngs):
        class Block(nnx.Module):
            def __init__(self, rngs):
                self.linear, self.act = nnx.Linear(width, width, rngs=rngs), nnx.gelu

            def __call__(self, x):
                return x + self.act(self.linear(x))

        make = nnx.vmap(Block, in_axes=(0,), out_axes=0)
        self.blocks = nnx.split_rngs(splits=depth)(make)(rngs)

    def __call__(self, x):
        @nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
        def run(block, x):
            return block(x)

        return run(self.blocks, x)


@pytest.mark.parametrize("depth", [2, 3])  # 3 is the width as well
@pytest.mark.parametrize("shared", [False, True])
def test_layers_inside_a_scan_are_stacked(x, depth, shared):
    width = x.shape[-1]
    network = nnx.Sequential(Scanned(depth, width, nnx.Rngs(0)), nnx.gelu)
    model, report = jb.convert(network, x, degree=15, shared=shared)
    paths = [each.path for each in report.replaced]
    assert sorted(paths) == ["layers.0.blocks.act", "layers.1"]
    each = (16,) if shared else (width, 16)
    assert model.layers[0].blocks.act.coeffs.shape == (depth, *each)
    assert model.layers[1].coeffs.shape == each
    assert 0 < report.change < 0.01 * report.scale
