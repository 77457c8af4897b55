"""``bernstein_norm`` against separate operations in float64, and its batch statistics."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import jaxbern as jb
from jaxbern.nn._hidden import _one_pass, _two_passes, batch_statistics
from tests.op.implementations import IMPLEMENTATIONS
from tests.quick import quickly

EPS = 1e-5
WIDTH = 5
each_implementation = pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
NAMES = ("z", "coeffs", "mean", "var", "residual")


def separate(z, coeffs, mean, var, residual):
    """Normalise, de Casteljau on [-3, 3], add: three operations and another formula."""
    x = (z - mean) / jnp.sqrt(var + EPS)
    inside = jnp.clip(x, -3.0, 3.0)
    t = ((inside + 3) / 6)[..., None]
    row = jnp.broadcast_to(coeffs, (*x.shape, coeffs.shape[-1]))
    while row.shape[-1] > 1:
        row = (1 - t) * row[..., :-1] + t * row[..., 1:]
    return residual + row[..., 0]


def fused(z, coeffs, mean, var, residual, **options):
    return jb.bernstein_norm(
        z, coeffs, mean=mean, var=var, eps=EPS, residual=residual, **options
    )


def arguments(degree, rows=(40,), shared=False, offset=0.0):
    """Some inputs are outside the interval on either side, none at its ends."""
    rng = np.random.default_rng(degree)
    mean = rng.normal(size=WIDTH) + offset
    var = rng.uniform(0.5, 4.0, WIDTH)
    z = mean + np.sqrt(var) * rng.normal(scale=1.8, size=(*rows, WIDTH))
    coeffs = rng.normal(size=(degree + 1,) if shared else (WIDTH, degree + 1))
    args = z, coeffs, mean, var, rng.normal(size=z.shape)
    dy = rng.normal(size=z.shape)
    # Numbers that float32 holds, so that both sides start from the same.
    return [np.float32(a).astype(np.float64) for a in args], np.float32(dy)


def value_and_gradients(function, args, dy):
    y, pull = jax.vjp(function, *args)
    return y, *pull(dy)


def compiled(function, args, dy):
    """The same as one program."""
    run = quickly(lambda args, dy: value_and_gradients(function, args, dy))
    return run(tuple(args), dy)


@functools.cache
def expected(degree, rows, shared, offset):
    args, dy = arguments(degree, rows, shared, offset)
    return in_float64(args, dy)


def in_float64(args, dy):
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
        args = [jnp.asarray(a, jnp.float64) for a in args]
        out = compiled(separate, args, jnp.asarray(dy, jnp.float64))
        return [np.asarray(a) for a in out]


def compare(got, want, dy, tolerance):
    for name, a, b in zip(("y", *NAMES), got, want, strict=True):
        # Sums over rows lose against the sum of what they add up.
        scale = np.abs(b).max() + (np.sqrt(dy.size) if a.ndim < dy.ndim else 1.0)
        error = np.abs(np.asarray(a, np.float64) - b).max() / scale
        assert error < tolerance, (name, error)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("degree, shared", [(0, False), (1, True), (9, False)])
def test_same_as_separate_operations_in_float64(degree, shared):
    args, dy = arguments(degree, shared=shared)
    got = compiled(fused, [jnp.asarray(a) for a in args], np.float64(dy))
    compare(got, expected(degree, (40,), shared, 0.0), dy, 1e-13)


@pytest.mark.slow
@each_implementation
@pytest.mark.parametrize("degree, rows", [(1, (7,)), (9, (3, 4)), (15, (40,))])
def test_float32(implementation, degree, rows):
    args, dy = arguments(degree, rows)
    call = functools.partial(fused, implementation=implementation)
    narrow = [jnp.asarray(a, jnp.float32) for a in args]
    got = compiled(call, narrow, jnp.asarray(dy))
    want = expected(degree, rows, False, 0.0)
    compare(got, want, dy, 4 * (degree + 2) * np.finfo(np.float32).eps)


@pytest.mark.slow
@each_implementation
def test_half_precision_inputs(implementation):
    """Statistics stay in float32: with a mean of 50 their bfloat16 would be useless."""
    args, dy = arguments(5, offset=50.0)
    z = jnp.asarray(args[0], jnp.bfloat16)
    residual, dy = (jnp.asarray(a, jnp.bfloat16) for a in (args[4], dy))
    coeffs, mean, var = (jnp.asarray(a, jnp.float32) for a in args[1:4])
    args = [np.asarray(a, np.float64) for a in (z, coeffs, mean, var, residual)]
    call = functools.partial(fused, implementation=implementation)
    got = compiled(call, (z, coeffs, mean, var, residual), dy)
    assert got[0].dtype == got[1].dtype == jnp.bfloat16
    dy = np.asarray(dy, np.float32)
    compare(got, in_float64(args, dy), dy, 0.005)


@pytest.mark.slow
@each_implementation
def test_vmapped_seeds(implementation):
    offsets = (0.0, 0.0, 3.0)
    several = [arguments(4, offset=offset) for offset in offsets]
    stacked = [
        jnp.asarray(np.stack(a), jnp.float32)
        for a in zip(*(args for args, _ in several), strict=True)
    ]
    dy = jnp.asarray(np.stack([dy for _, dy in several]))
    call = functools.partial(fused, implementation=implementation)
    got = quickly(jax.vmap(lambda dy, *args: value_and_gradients(call, args, dy)))(
        dy, *stacked
    )
    for i, (offset, (_, dy)) in enumerate(zip(offsets, several, strict=True)):
        want = expected(4, (40,), False, offset)
        compare([a[i] for a in got], want, dy, 1e-6)


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("modes", [("fwd",), ("rev",)])
def test_every_order(modes):
    args, _ = arguments(4, rows=(3,))
    args[0] = args[2] + np.sqrt(args[3]) * np.random.default_rng(0).uniform(
        -2, 2, args[0].shape
    )
    check_grads(jax.jit(fused), tuple(map(jnp.asarray, args)), order=2, modes=modes)


def test_statistics_of_the_batch_give_the_gradient_of_batch_norm():
    args, dy = arguments(5)
    z, coeffs, _, _, residual = (jnp.asarray(a, jnp.float32) for a in args)

    def ours(z):
        mean, var = batch_statistics(z)
        return fused(z, coeffs, mean, var, residual)

    got = quickly(lambda z: jax.vjp(ours, z)[1](jnp.asarray(dy))[0])(z)
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):

        def theirs(z):
            mean, var = jnp.mean(z, axis=0), jnp.var(z, axis=0)
            return separate(z, args[1], mean, var, args[4])

        want = quickly(lambda z: jax.vjp(theirs, z)[1](np.float64(dy))[0])(args[0])
    np.testing.assert_allclose(got, want, atol=2e-6)


def test_backward_pass_keeps_z_and_numbers_per_neuron():
    args, _ = arguments(9)
    narrow = [jnp.asarray(a, jnp.float32) for a in args]
    _, pull = jax.vjp(fused, *narrow)
    kept = [a.shape for a in jax.tree.leaves(pull) if a.size > 10 * WIDTH]
    assert kept == [narrow[0].shape]


def test_each_kernel_runs_once():
    args, dy = arguments(9)
    narrow = [jnp.asarray(a, jnp.float32) for a in args]
    call = functools.partial(fused, implementation="pallas:interpret")
    text = str(
        jax.make_jaxpr(lambda dy, *a: value_and_gradients(call, a, dy))(dy, *narrow)
    )
    assert text.count("= bernstein[") == 1
    assert text.count("= bernstein_cotangent[") == 1


@pytest.mark.parametrize("statistics", [_one_pass, _two_passes])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_statistics_far_from_zero(statistics, offset):
    """``E[z^2] - E[z]^2`` in float32 would have no correct digit at 1e4."""
    rng = np.random.default_rng(0)
    z = np.float32(offset + rng.normal(size=(1000, WIDTH)))
    mean, var = jax.jit(statistics)(z)
    exact = z.astype(np.float64)
    np.testing.assert_allclose(mean, exact.mean(axis=0), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(var, exact.var(axis=0), rtol=2e-3)


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
def test_derivative_of_the_statistics():
    z = jnp.asarray(np.random.default_rng(0).normal(size=(2, 3, WIDTH)))
    check_grads(jax.jit(batch_statistics), (z,), order=2, modes=("fwd", "rev"))

    def textbook(z):
        return z.mean(axis=(0, 1)), z.var(axis=(0, 1))

    got, want = quickly(
        lambda z: (jax.jacrev(batch_statistics)(z), jax.jacrev(textbook)(z))
    )(z)
    chex.assert_trees_all_close(got, want, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"mean": np.zeros(4, np.float32)},
            r"mean must be a scalar or have one number per neuron.*\[5\]",
        ),
        (
            {"var": np.ones(1, np.float32)},
            r"var must be a scalar or have one number per",
        ),
        ({"residual": np.zeros((40, 4), np.float32)}, r"residual must have the shape"),
        ({"residual": np.zeros((40, 5), np.float16)}, r"float32\[40, 5\], got float16"),
        ({"lower": 3.0}, r"lower must be less than upper"),
        ({"eps": np.ones(5)}, r"eps must be one number, finite and at least 0"),
        ({"eps": float("inf")}, r"eps must be one number, finite and at least 0"),
        ({"eps": -1e-5}, r"eps must be one number, finite and at least 0"),
        ({"eps": "1e-5"}, r"eps must be one number, finite and at least 0"),
        ({"z": np.zeros((40, 5), np.int32)}, r"z must be floating point, got int32"),
        ({"coeffs": np.zeros((4, 3), np.float32)}, r"coeffs \[4, 3\] has 4 neurons"),
    ],
)
def test_errors(change, message):
    args, _ = arguments(3)
    options = dict(zip(NAMES, (np.float32(a) for a in args), strict=True)) | change
    with pytest.raises((ValueError, TypeError), match=message):
        jb.bernstein_norm(**options)


def test_scalar_statistics_are_those_of_all_neurons():
    args, _ = arguments(3)
    options = dict(zip(NAMES, (np.float32(a) for a in args), strict=True))
    mean, var = np.float32(0.5), np.float32(2.0)
    one = jb.bernstein_norm(**options | {"mean": mean, "var": var})
    width = options["z"].shape[-1]
    each = {"mean": np.full(width, mean), "var": np.full(width, var)}
    np.testing.assert_array_equal(one, jb.bernstein_norm(**options | each))
