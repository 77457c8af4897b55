"""Logits, statistics and gradients against the network in NumPy, and against PyTorch's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbern.nn import NetworkConfig, _network
from tests.nn.networks import ACTIVATIONS, each_activation, random_params
from tests.oracles import network_oracle as oracle
from tests.quick import quickly

ROWS, FEATURES, DEPTH, WIDTH = 40, 3, 4, 5
TOLERANCE = 1e-11  # in float64
WITHOUT_SKIP = ["relu", "selu", "bernstein 9"]


def data(seed=0):
    """Rows, some of them far out, so that every activation sees what it clamps."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, FEATURES)) * np.where(np.arange(ROWS) < 4, 8, 1)[:, None]
    running = np.stack([rng.normal(size=(DEPTH, WIDTH)), np.full((DEPTH, WIDTH), 0.2)])
    return x, rng.normal(size=(ROWS, 2)), running


def ours(config, params, x, dlogits, running=None):
    """Logits, statistics, and the gradients in the parameters and in x."""

    def run(params, x):
        out = _network.forward(config, params, x, running)
        return out.logits, jnp.stack(out.statistics)

    def step(params, x, dlogits):
        logits, pull, statistics = jax.vjp(run, params, x, has_aux=True)
        return logits, statistics, pull(dlogits)

    return quickly(step)(params, x, dlogits)


def largest_error(config, *, evaluation=False, dtype=np.float64):
    """Of logits, statistics and gradients, as a fraction of the largest number."""
    x, dlogits, running = data()
    params = random_params(config, dtype)
    running = running if evaluation else None
    narrow = None if running is None else tuple(running.astype(dtype))
    got = ours(config, params, x.astype(dtype), dlogits.astype(dtype), narrow)
    logits, statistics, kept = oracle.forward(config, params, x, running)
    assert config.activation != "bernstein" or np.abs(kept[1][1]).max() > 3
    want = logits, statistics, oracle.gradients(config, params, x, dlogits, running)
    largest = max(np.abs(a).max() for a in jax.tree.leaves(want))

    def error(a, b):
        assert a.shape == np.shape(b)
        return np.abs(np.asarray(a) - b).max()

    return np.max(jax.tree.leaves(jax.tree.map(error, got, want))) / largest


def config(**options):
    return NetworkConfig(FEATURES, DEPTH, WIDTH, **options)


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
@each_activation
def test_residual_in_training(activation):
    assert largest_error(config(**activation)) <= TOLERANCE


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("activation", WITHOUT_SKIP)
def test_plain_in_training(activation):
    assert largest_error(config(**ACTIVATIONS[activation], residual=False)) <= TOLERANCE


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("activation", ["gelu", "bernstein 9"])
def test_standard_form(activation):
    assert largest_error(config(**ACTIVATIONS[activation], lean=False)) <= TOLERANCE


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(
    "activation, residual",
    [
        *((name, True) for name in ACTIVATIONS),
        *((name, False) for name in WITHOUT_SKIP),
    ],
)
def test_evaluation(activation, residual):
    """Lean and standard, without gradients, as a user evaluates."""
    x, _, running = data()
    options = ACTIVATIONS[activation] | {"residual": residual}
    lean, standard = config(**options), config(**options, lean=False)
    params = random_params(lean, np.float64)

    @quickly
    def both(params, x, running):
        return [
            _network.forward(form, params, x, tuple(running)).logits
            for form in (lean, standard)
        ]

    want = oracle.forward(lean, params, x, running)[0]
    for got in both(params, x, running):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(
    "options",
    [
        {"activation": "gelu", "residual": False},
        {"degree": 9},
    ],
)
def test_gradients_in_evaluation(options):
    """Then the statistics are constants, and the gradient of BatchNorm another."""
    assert largest_error(config(**options), evaluation=True) <= TOLERANCE


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(
    "options",
    [
        {"degree": 9},
        {"activation": "gelu", "residual": False, "lean": False},
    ],
)
def test_remat(options):
    assert largest_error(config(**options, remat=True)) <= TOLERANCE


@pytest.mark.slow
def test_float32():
    """Errors of each layer pass through the next: some tens of eps after four."""
    error = largest_error(config(degree=9), dtype=np.float32)
    assert error <= 200 * np.finfo(np.float32).eps


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(
    "depth, width, options",
    [
        (1, 4, {"degree": 3}),
        (2, 1, {"degree": 2}),
        (3, 4, {"degree": 0}),
    ],
)
def test_smallest(depth, width, options):
    small = NetworkConfig(FEATURES, depth, width, **options)
    x, dlogits, _ = data()
    params = random_params(small, np.float64)
    got = ours(small, params, x, dlogits)
    logits, statistics, _ = oracle.forward(small, params, x)
    want = logits, statistics, oracle.gradients(small, params, x, dlogits)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-9, rtol=0), got, want
    )


@pytest.mark.usefixtures("x64")
def test_pytorch():
    """The same weights and the same batch in a network of PyTorch's own layers."""
    torch = pytest.importorskip("torch")
    x, dlogits, _ = data()
    network = NetworkConfig(FEATURES, 3, 8, activation="relu")
    params = random_params(network, np.float64)
    hidden = params["hidden"]
    weights = [
        params["first"],
        *({name: hidden[name][i] for name in hidden} for i in range(2)),
        params["last"],
    ]
    linears, norms = [], []
    for part in weights:
        linear = torch.nn.Linear(*part["kernel"].shape, dtype=torch.float64)
        linear.weight.data = torch.tensor(np.array(part["kernel"]).T)
        linear.bias.data = torch.tensor(np.array(part["bias"]))
        linears.append(linear)
        norms.append(torch.nn.BatchNorm1d(8, affine=False, dtype=torch.float64))
    h = torch.tensor(x)
    for i in range(3):
        y = torch.relu(norms[i](linears[i](h)))
        h = y + h if i else y
    logits = linears[3](h)
    (logits * torch.tensor(dlogits)).sum().backward()

    got, statistics, (gradients, _) = ours(network, params, x, dlogits)
    np.testing.assert_allclose(got, logits.detach(), rtol=1e-10, atol=1e-12)
    first = _network.init_statistics(network)
    mean, var = _network.update_running(network, first, tuple(statistics), ROWS)
    for i in range(3):
        close = {"rtol": 1e-6, "atol": 1e-7}  # ours are kept in float32
        np.testing.assert_allclose(mean[i], norms[i].running_mean, **close)
        np.testing.assert_allclose(var[i], norms[i].running_var, **close)
    ends = (gradients["first"], linears[0]), (gradients["last"], linears[3])
    middle = (
        ({name: gradients["hidden"][name][i] for name in hidden}, linears[i + 1])
        for i in range(2)
    )
    for gradient, linear in (*ends, *middle):
        want = linear.weight.grad.T, linear.bias.grad
        for a, b in zip((gradient["kernel"], gradient["bias"]), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
