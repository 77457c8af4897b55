"""Parameter counts are the paper's, and the initialisation is PyTorch's."""

import csv
import itertools
import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from jaxbern.nn import NetworkConfig, _network
from tests.nn.networks import ACTIVATIONS

FEATURES = {"higgs": 28, "susy": 18}
WIDTHS = (16, 32, 128, 256)
DEPTHS = {"residual": (5, 15, 50, 100, 150), "plain": (5, 15)}
# Every count that the paper's tables state: all ReLU networks, and the best of the others.
FILE = Path(__file__).parents[1] / "fixtures" / "paper_parameters.csv"
ROWS = list(csv.DictReader(FILE.read_text().splitlines()))


def cells():
    """The paper's grid."""
    for kind, dataset in itertools.product(DEPTHS, FEATURES):
        for depth, width in itertools.product(DEPTHS[kind], WIDTHS):
            for options in ACTIVATIONS.values():
                residual = kind == "residual"
                yield NetworkConfig(
                    FEATURES[dataset], depth, width, residual=residual, **options
                )


def elements(config) -> int:
    """How many numbers the trained arrays of a model have; none is made."""
    model = nnx.eval_shape(lambda: jb.MLP.from_config(config, rngs=nnx.Rngs(0)))
    return sum(a.size for a in jax.tree.leaves(nnx.state(model, nnx.Param)))


@pytest.mark.slow
def test_arrays_have_as_many_numbers_in_all_448_cells():
    grid = list(cells())
    assert len(set(grid)) == 448
    for config in grid:
        shapes = jax.tree.leaves(_network.parameter_shapes(config))
        assert sum(a.size for a in shapes) == config.parameter_count, config


def test_models_have_no_others():
    for config in cells():
        if (config.depth, config.width) in ((5, 16), (15, 256)):
            assert elements(config) == config.parameter_count, config


def test_the_paper_states_the_same_counts():
    assert len(ROWS) == 90
    baselines = 0
    for row in ROWS:
        config = NetworkConfig(
            FEATURES[row["dataset"]],
            int(row["depth"]),
            int(row["width"]),
            activation=row["activation"],
            degree=int(row["degree"] or 9),
            residual=row["kind"] == "residual",
        )
        assert config.parameter_count == int(row["parameters"]), row
        baselines += row["activation"] == "relu"
    assert baselines == 56


@pytest.mark.parametrize("in_features, depth, width, out", [(1, 1, 1, 1), (5, 1, 3, 4)])
def test_smallest_networks(in_features, depth, width, out):
    config = NetworkConfig(in_features, depth, width, degree=0, out_features=out)
    assert elements(config) == config.parameter_count
    assert config.parameter_count == (in_features + 2) * width + (width + 1) * out


WIDTH = 100


@pytest.fixture(scope="module")
def drawn():
    """The parameters of two seeds."""
    config = NetworkConfig(64, 4, WIDTH)
    # Not JAX's default, but it compiles in a third of the time.
    keys = jax.random.split(jax.random.key(0, impl="unsafe_rbg"), 2)
    return jax.jit(jax.vmap(lambda key: _network.init(config, key)))(keys)


@pytest.mark.parametrize(
    "name, fan_in", [("first", 64), ("hidden", WIDTH), ("last", WIDTH)]
)
def test_initialisation_is_pytorchs(drawn, name, fan_in):
    """Uniform in +-1/sqrt(fan_in), weights and biases."""
    bound = 1 / math.sqrt(fan_in)
    for array in drawn[name].values():
        numbers = np.ravel(array)
        assert np.abs(numbers).max() <= bound
        # So close are the mean and the variance of that many uniform numbers.
        near = 5 / np.sqrt(numbers.size)
        assert abs(numbers.mean()) < near * bound
        assert abs(numbers.var() / (bound**2 / 3) - 1) < near


def test_seeds_and_layers_have_nothing_in_common(drawn):
    """Weights, biases and coefficients: as rows of numbers they do not correlate."""
    hidden = np.asarray(drawn["hidden"]["kernel"]).reshape(6, -1)[:, :6400]
    first = np.asarray(drawn["first"]["kernel"]).reshape(2, 6400)
    for rows in (
        np.concatenate([hidden, first]),
        np.asarray(drawn["coeffs"])[..., [0, -1]].reshape(8, -1),
        np.asarray(drawn["hidden"]["bias"]).reshape(6, -1),
    ):
        correlation = np.corrcoef(rows) - np.eye(len(rows))
        assert np.abs(correlation).max() < 5 / np.sqrt(rows.shape[1])


def test_coefficients_come_from_the_initialiser_of_the_layer(drawn):
    """Their scale is that of W neurons, not of L x W."""
    coeffs = np.asarray(drawn["coeffs"])
    assert coeffs.shape == (2, 4, WIDTH, 10)
    ends = coeffs[..., [0, -1]]  # elevation keeps the ends, which are normal(1/W)
    assert abs(ends.std() * WIDTH - 1) < 0.1


def test_statistics_start_as_if_nothing_had_to_be_normalised():
    mean, var = _network.init_statistics(
        NetworkConfig(8, 3, 5, param_dtype=jnp.bfloat16)
    )
    np.testing.assert_array_equal(mean, np.zeros((3, 5), np.float32))
    np.testing.assert_array_equal(var, np.ones((3, 5), np.float32))
    assert mean.dtype == var.dtype == jnp.float32
