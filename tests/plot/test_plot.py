"""``jb.plot``: what a picture shows is what the network has; nothing else is touched."""

import importlib.util
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from jaxbern.nn import _inside
from jaxbern.plot import _activations
from tests.nn.networks import network
from tests.oracles import casteljau


class Net(nnx.Module):
    """Layers in lists, one used twice, one inside of jit."""

    def __init__(self, rngs):
        self.blocks = nnx.List(
            nnx.Sequential(
                nnx.Linear(2, 2, rngs=rngs),
                nnx.BatchNorm(2, rngs=rngs),
                jb.BernsteinAct(2, 3, rngs=rngs),
            )
            for _ in range(2)
        )
        self.shared = jb.BernsteinAct(
            2, 4, domain="learned", lower=-0.5, upper=[0.5, 1.0], rngs=rngs
        )

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return self.again(self.shared(x))

    @nnx.jit
    def again(self, x):
        return self.shared(x)


@pytest.fixture(scope="module")
def points():
    return jax.random.normal(jax.random.key(1), (64, 2))


@pytest.fixture(scope="module")
def net():
    return Net(nnx.Rngs(0))


@pytest.fixture(scope="module")
def mlp():
    model = network(2, depth=3, width=4, degree=5)
    model.var[...] = 0.05 * jnp.ones((3, 4))  # small: some inputs are outside
    return model


def test_layers_are_found_by_name_with_their_own_intervals(net):
    found = _inside.layers(net)
    names = [layer.name for layer in found]
    assert names == ["blocks.0.layers.2", "blocks.1.layers.2", "shared"]
    np.testing.assert_array_equal(found[1].coeffs, net.blocks[1].layers[2].coeffs[...])
    assert found[0].lower.tolist() == [-4, -4]
    np.testing.assert_allclose(found[2].upper, [0.5, 1.0], rtol=1e-6)
    assert all(layer.inputs is None for layer in found)


@pytest.mark.slow
def test_inputs_are_what_reaches_each_layer(net, points):
    found = _inside.layers(net, points)
    twin = nnx.clone(net)
    twin.eval()
    first = twin.blocks[0].layers
    np.testing.assert_allclose(
        found[0].inputs, first[1](first[0](points)), rtol=1e-5, atol=1e-6
    )
    x = twin.blocks[1](twin.blocks[0](points))
    both = jnp.concatenate([x, twin.shared(x)])  # it is called twice
    np.testing.assert_allclose(found[2].inputs, both, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_inputs_of_an_mlp_are_those_whose_saturation_it_reports(mlp, points):
    found = _inside.layers(mlp, points)
    assert [layer.name for layer in found] == ["layer 0", "layer 1", "layer 2"]
    twin = nnx.clone(mlp)
    twin.eval()
    _, seen = nnx.capture(twin, nnx.Intermediate)(points)
    outside = [(np.abs(layer.inputs) > 3).mean(axis=0) for layer in found]
    reported = seen["saturation"].get_value()[0]
    assert 0 < reported.mean() < 1
    np.testing.assert_allclose(outside, reported, atol=1e-6)


@pytest.mark.slow
def test_a_network_is_left_as_it_was(net, mlp, points):
    for model in (net, mlp):
        before = jax.tree.map(np.array, nnx.state(model))
        graph = nnx.graphdef(model)
        jb.plot.activations(model, points)
        assert nnx.graphdef(model) == graph
        jax.tree.map(np.testing.assert_array_equal, nnx.state(model), before)
    assert not mlp.use_running_average  # still in training mode
    assert type(net.shared) is jb.BernsteinAct


def test_a_panel_has_curve_control_points_and_share_outside():
    coeffs, inputs = np.array([0.0, 2.0, -1.0, 1.0]), np.array([-2.0, 0.0, 0.5, np.nan])
    figure = jb.plot.activation(coeffs, lower=-1, upper=1, inputs=inputs)
    axis = figure.axes[0]
    x, y = axis.lines[3].get_data()
    ends = np.full((1,), -1.0), np.full((1,), 1.0)
    expected = casteljau.value(x, coeffs[:, None], *ends)
    np.testing.assert_allclose(y, expected, atol=1e-12)
    assert (x[0], x[-1]) == (-1, 1)
    control = axis.lines[4].get_data()
    np.testing.assert_allclose(control, [[-1, -1 / 3, 1 / 3, 1], coeffs])
    assert axis.get_xlabel() == "50.0% of inputs outside"  # -2 and NaN
    heights = [bar.get_height() for bar in figure.axes[1].patches]
    assert sum(heights) == 3


def test_curves_of_high_degree_are_exact():
    rng = np.random.default_rng(0)
    coeffs, x = rng.normal(size=65), np.linspace(-4, 4, 101)
    ends = np.full((1,), -3.0), np.full((1,), 3.0)
    expected = casteljau.value(x, coeffs[:, None], *ends)
    found = _activations.curve(coeffs, -3.0, 3.0, x)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_large_networks_are_thinned_out_and_it_is_said(mlp):
    figure = jb.plot.activations(mlp, neurons=2, rows=2)
    titles = [axis.get_title() for axis in figure.axes]
    assert titles == [f"layer {k}, neuron {j}" for k in (0, 2) for j in (0, 3)]
    assert figure.get_suptitle() == "2 of 3 layers"


def test_evolution_draws_every_moment_and_the_last_in_black(net):
    history = {0: net, 10: Net(nnx.Rngs(1)), 30: Net(nnx.Rngs(2))}
    figure = jb.plot.activation_evolution(history, label="epoch")
    *panels, bar = figure.axes
    assert len([axis for axis in panels if axis.lines]) == 6
    assert bar.get_ylabel() == "epoch"
    lines = panels[0].lines
    assert len(lines) == 3 + 1 + 1  # moments, the last again, control points
    last = history[30].blocks[0].layers[2].coeffs[0]
    np.testing.assert_allclose(lines[4].get_ydata(), last)
    np.testing.assert_array_equal(lines[2].get_ydata(), lines[3].get_ydata())
    assert lines[3].get_color() == "black"
    assert lines[0].get_color() != lines[2].get_color()


def test_a_boundary_is_where_the_model_changes_its_mind(points):
    labels = (points[:, 0] > 0).astype(int)
    figure = jb.plot.decision_boundary(lambda x: 5 * (x[:, 0] - 0.3), points, labels)
    axis = figure.axes[0]
    [contour] = [c for c in axis.collections if hasattr(c, "get_paths") and c.get_paths()
                 and c.get_array() is not None]  # fmt: skip
    vertices = np.concatenate([path.vertices for path in contour.get_paths()])
    np.testing.assert_allclose(vertices[:, 0], 0.3, atol=1e-4)
    wrong = (np.asarray(points[:, 0]) > 0) & (np.asarray(points[:, 0]) <= 0.3)
    rimmed = sum(
        len(c.get_offsets())
        for c in axis.collections
        if len(c.get_offsets()) and c is not contour
        and tuple(c.get_edgecolors()[0][:3]) == (0, 0, 0)
    )  # fmt: skip
    assert rimmed == wrong.sum() > 0


@pytest.mark.parametrize(
    "model",
    [
        lambda x: x[:, 0],
        lambda x: x[:, :1],
        lambda x: x[:, :1] * jnp.array([[-1.0, 1.0]]),
    ],
)
def test_logits_come_in_three_forms(model, points):
    labels = (points[:, 0] > 0).astype(int)
    figure = jb.plot.decision_boundary(model, points, labels, resolution=20)
    image = figure.axes[0].images[0].get_array()
    left, right = image[10, 2], image[10, -3]
    assert left[2] > left[0]  # blue on the left
    assert right[0] > right[2]  # orange on the right


@pytest.mark.slow
def test_boundaries_of_three_classes_and_of_networks(mlp, points):
    logits = lambda x: jnp.stack([x[:, 0], x[:, 1], -x[:, 0]], axis=1)  # noqa: E731
    labels = np.argmax(logits(points), axis=1)
    figure = jb.plot.decision_boundary(logits, points, labels, resolution=30)
    colours = {tuple(np.round(c, 1)) for row in figure.axes[0].images[0].get_array()
               for c in row}  # fmt: skip
    assert len(colours) >= 3
    before = np.array(mlp.mean[...])
    jb.plot.decision_boundary(mlp, points, labels % 2, resolution=10)
    np.testing.assert_array_equal(mlp.mean[...], before)


def test_figures_are_drawn_into_given_axes(points):
    figure = matplotlib.figure.Figure()
    left, right = figure.subplots(1, 2)
    assert jb.plot.activation([1.0, 2.0], ax=left) is figure
    labels = np.zeros(len(points), int)
    assert (
        jb.plot.decision_boundary(lambda x: x[:, 0], points, labels, ax=right) is figure
    )
    assert left.lines
    assert right.images


def test_pyplot_and_its_settings_are_not_touched(net):
    before = dict(matplotlib.rcParams)
    jb.plot.activations(net).canvas.draw()
    assert dict(matplotlib.rcParams) == before
    for path in Path(jb.plot.__file__).parent.glob("*.py"):
        lines = path.read_text().splitlines()
        assert not [x for x in lines if "import" in x and "pyplot" in x], path


def test_matplotlib_is_imported_when_something_is_drawn(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    names = "_canvas _activations _evolution _boundary _inspection"
    for name in names.split():
        spec = importlib.util.find_spec(f"jaxbern.plot.{name}")
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "jaxbern\[plot\]"'):
        jb.plot.activation([0.0, 1.0])


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: jb.plot.activations(jnp.ones(3)), TypeError, "flax.nnx.Module, got"),
        (lambda: jb.plot.activations(nnx.Linear(2, 2, rngs=nnx.Rngs(0))), ValueError,
         "no Bernstein activation"),
        (lambda: jb.plot.activations(
            network(2, depth=1, width=2, activation="relu")),
         ValueError, "no Bernstein activation"),
        (lambda: jb.plot.activation(np.ones((2, 3))), ValueError, r"got shape \[2, 3\]"),
        (lambda: jb.plot.activation([1.0], lower=2, upper=2), ValueError, "less than"),
        (lambda: jb.plot.activation_evolution([]), ValueError, "at least one moment"),
        (lambda: jb.plot.activation_evolution([np.ones(3)]), ValueError, r"\[W, n\+1\]"),
        (lambda: jb.plot.activation_evolution([np.ones((1, 2)), np.ones((1, 3))]),
         ValueError, "one network"),
        (lambda: jb.plot.decision_boundary(len, np.ones((3, 3)), [0, 1, 0]), ValueError,
         r"shape \[N, 2\]"),
        (lambda: jb.plot.decision_boundary(len, np.ones((3, 2)), [0, 1]), ValueError,
         r"shape \[3\]"),
        (lambda: jb.plot.decision_boundary(len, np.ones((2, 2)), [0, 0.5]), ValueError,
         r"classes 0, 1, \.\.\., got 0\.5"),
        (lambda: jb.plot.decision_boundary(len, np.ones((2, 2)), [1, -1]), ValueError,
         r"classes 0, 1, \.\.\., got -1"),
        (lambda: jb.plot.activation_evolution([np.ones((1, 2))], neurons=0), ValueError,
         "neurons to draw must be at least 1, got 0"),
        (lambda: jb.plot.decision_boundary(lambda x: x[:, 0], np.eye(2), [0, 2]),
         ValueError, "has class 2, but the model has 2"),
        (lambda: jb.plot.decision_boundary(lambda x: x[0], np.eye(2), [0, 1]),
         ValueError, "must return logits"),
    ],
)  # fmt: skip
def test_errors_say_what_to_write(call, error, words):
    with pytest.raises(error, match=words):
        call()
