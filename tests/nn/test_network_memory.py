"""What a training step keeps and how long its program is, without running one."""

import jax
import jax.numpy as jnp
import pytest

from jaxbern.nn import NetworkConfig, _describe, _network
from tests.nn.networks import each_activation, network
from tests.quick import QUICKLY

FEATURES, DEPTH, WIDTH = 28, 150, 256


def kept(**options):
    return _describe.bytes_per_sample(NetworkConfig(FEATURES, DEPTH, WIDTH, **options))


@each_activation
@pytest.mark.parametrize("residual", [True, False])
def test_lean_layers_keep_two_arrays_whatever_the_activation(activation, residual):
    """The input of each matrix product and its output; the first input is x."""
    floats = FEATURES + 2 * DEPTH * WIDTH
    assert kept(**activation, residual=residual) == 4 * floats


@each_activation
def test_remat_keeps_one(activation):
    """The inputs of all matrix products, and the output of the first."""
    floats = FEATURES + (DEPTH + 1) * WIDTH
    assert kept(**activation, remat=True) == 4 * floats


@each_activation
def test_the_standard_form_keeps_more(activation):
    assert kept(**activation, lean=False) > 1.6 * kept(**activation)


@each_activation
def test_half_the_bytes_in_bfloat16(activation):
    assert 2 * kept(**activation, dtype=jnp.bfloat16) == kept(**activation)


def gradient(config, rows=1024):
    """The gradient of some loss and the shapes of its arguments."""

    def loss(params, x):
        return jnp.sum(_network.forward(config, params, x, None).logits ** 2)

    x = jax.ShapeDtypeStruct((rows, config.in_features), jnp.float32)
    return jax.grad(loss), (_network.parameter_shapes(config), x)


@pytest.mark.slow
def test_the_compiler_keeps_nothing_else():
    """It may compute the normalised values ahead and store them, if not kept from it."""
    config, rows = NetworkConfig(FEATURES, 40, 32, degree=9), 1024
    function, args = gradient(config, rows)
    memory = jax.jit(function).lower(*args).compile(QUICKLY).memory_analysis()
    assert memory.temp_size_in_bytes < 1.2 * rows * _describe.bytes_per_sample(config)


@pytest.mark.parametrize(
    "options", [{}, {"activation": "gelu", "lean": False}, {"remat": True}]
)
def test_the_program_is_as_long_for_any_depth(options):
    def length(depth):
        function, args = gradient(NetworkConfig(FEATURES, depth, 32, **options))
        return str(jax.make_jaxpr(function)(*args)).count(" = ")  # equations

    assert length(150) == length(5) == length(2)


SMALLEST = """\
1x4 residual network, bernstein of degree 0
layer            weights  parameters
first          3 x 4 + 4          16
last           4 x 2 + 2          10
bernstein x 1      4 x 1           4
total                             30
effective degree: 0^1 = 0
kept for the backward pass: 0.043 KiB per sample"""
LARGEST = """\
150x256 plain network, relu
layer                 weights  parameters
first          28 x 256 + 256       7,424
hidden x 149  256 x 256 + 256   9,803,008
last              256 x 2 + 2         514
total                           9,810,946
kept for the backward pass: 300 KiB per sample"""


def test_describe():
    assert network(3, 1, 4, degree=0).describe() == SMALLEST
    large = NetworkConfig(FEATURES, DEPTH, WIDTH, activation="relu", residual=False)
    assert _describe.table(large) == LARGEST


def test_effective_degree():
    said = network(28, 150, 16, degree=25).describe()
    assert "effective degree: 25^150, about 10^210" in said
