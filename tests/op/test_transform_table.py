"""Every transform of JAX, alone and nested, on every implementation.

The numbers are compared with those of the same transform of de Casteljau's algorithm,
which JAX differentiates by itself.
"""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

import jaxbern as jb
from tests.op.implementations import IMPLEMENTATIONS
from tests.quick import quickly

ROWS, WIDTH, DEGREE = 3, 2, 4


def casteljau(x, coeffs, outside):
    """On [-3, 3]; no number lies at an end."""
    z = jnp.where(x < -3, -3.0, jnp.where(x > 3, 3.0, x))
    t = ((z + 3) / 6)[..., None]
    row = jnp.broadcast_to(coeffs, (*x.shape, DEGREE + 1))
    while row.shape[-1] > 1:
        row = (1 - t) * row[..., :-1] + t * row[..., 1:]
    if outside == "clamp":
        return row[..., 0]
    rises = (coeffs[..., 1] - coeffs[..., 0], coeffs[..., -1] - coeffs[..., -2])
    low, high = (jnp.broadcast_to(r * DEGREE / 6, x.shape) for r in rises)
    tails = jnp.where(x < -3, low * (x + 3), jnp.where(x > 3, high * (x - 3), 0.0))
    return row[..., 0] + tails


def total(f):
    return lambda x, c: jnp.sum(jnp.sin(f(x, c)))


def in_scan(f, x, c):
    def layer(h, coeffs):
        return h + f(h, coeffs), None

    return jax.lax.scan(layer, x, jnp.stack([c, 0.5 * c]))[0]


def in_cond(f, x, c):
    return jax.lax.cond(jnp.sum(x) > 0, lambda x: f(x, c), lambda x: f(-x, c), x)


def in_shards(f, x, c):
    mesh = jax.make_mesh((1,), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))
    rows, whole = jax.P("rows"), jax.P()
    specs = {"in_specs": (rows, whole), "out_specs": rows, "check_vma": False}
    return jax.shard_map(f, mesh=mesh, **specs)(x, c)


def pushed(f, x, c):
    return jax.jvp(f, (x, c), (jnp.cos(x), jnp.cos(c)))[1]


def pulled(f, x, c):
    y, pull = jax.vjp(f, x, c)
    return pull(jnp.cos(y))


def third(f, x, c):
    slope = f
    for _ in range(3):
        slope = functools.partial(
            lambda g, x, c: jax.jvp(lambda x: g(x, c), (x,), (jnp.ones_like(x),))[1],
            slope,
        )
    return slope(x, c)


TABLE = {
    "value": lambda f, x, c: f(x, c),
    "jvp": pushed,
    "vjp": pulled,
    "linearize": lambda f, x, c: jax.linearize(f, x, c)[1](x, c),
    "linear_transpose": lambda f, x, c: jax.linear_transpose(lambda c: f(x, c), c)(x),
    "jacfwd": lambda f, x, c: jax.jacfwd(f, (0, 1))(x, c),
    "jacrev": lambda f, x, c: jax.jacrev(f, (0, 1))(x, c),
    "hessian, forward over reverse": lambda f, x, c: jax.jacfwd(
        jax.grad(total(f), (0, 1)), (0, 1)
    )(x, c),
    "hessian, reverse over forward": lambda f, x, c: jax.jacrev(
        jax.jacfwd(total(f), (0, 1)), (0, 1)
    )(x, c),
    "hessian, reverse over reverse": lambda f, x, c: jax.jacrev(
        jax.grad(total(f), (0, 1)), (0, 1)
    )(x, c),
    "hessian, forward over forward": lambda f, x, c: jax.jacfwd(
        jax.jacfwd(total(f), (0, 1)), (0, 1)
    )(x, c),
    "third order": third,
    "gradient of the third order": lambda f, x, c: jax.grad(
        lambda x, c: jnp.sum(third(f, x, c)), (0, 1)
    )(x, c),
    "vmap": lambda f, x, c: jax.vmap(f, (0, None))(x, c),
    "vmap of vjp": lambda f, x, c: jax.vmap(functools.partial(pulled, f), (None, 0))(
        x, jnp.stack([c, -c])
    ),
    "vjp of vmap": lambda f, x, c: pulled(jax.vmap(f, (0, None)), x, c),
    "vmap of jvp": lambda f, x, c: jax.vmap(functools.partial(pushed, f))(
        jnp.stack([x, -x]), jnp.stack([c, -c])
    ),
    "scan": lambda f, x, c: pulled(functools.partial(in_scan, f), x, c),
    "jvp of scan": lambda f, x, c: pushed(functools.partial(in_scan, f), x, c),
    "hessian through scan": lambda f, x, c: jax.hessian(
        lambda c: jnp.sum(in_scan(f, x, c) ** 2)
    )(c),
    "remat": lambda f, x, c: pulled(jax.checkpoint(f), x, c),
    "cond": lambda f, x, c: pulled(functools.partial(in_cond, f), x, c),
    "shard_map": lambda f, x, c: pulled(functools.partial(in_shards, f), x, c),
}


def arguments():
    rng = np.random.default_rng(3)
    x = jnp.asarray([[-4.5, 0.4], [1.9, 4.2], [-2.0, -0.7]], jnp.float32)
    return x, jnp.asarray(rng.normal(size=(WIDTH, DEGREE + 1)), jnp.float32)


@functools.cache
def expected(name, outside):
    f = functools.partial(casteljau, outside=outside)
    with jax.numpy_rank_promotion("allow"):
        run = quickly(functools.partial(TABLE[name], f))
        return jax.device_get(run(*arguments()))


# The kernels' own work; what follows from it are the same rules above all of them.
FIRST_ORDER = ("value", "jvp", "vjp", "linear_transpose", "vmap of vjp")
NAMES = [
    n if n in FIRST_ORDER else pytest.param(n, marks=pytest.mark.slow) for n in TABLE
]
CLOSE = {"rtol": 2e-4, "atol": 2e-4}


def found(implementation, name, outside):
    f = functools.partial(jb.bernstein, outside=outside, implementation=implementation)
    return quickly(functools.partial(TABLE[name], f))(*arguments())


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("outside", ["clamp", "linear"])
def test_transform_by_xla(name, outside):
    got = found("xla", name, outside)
    chex.assert_trees_all_close(got, expected(name, outside), **CLOSE)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS[1:])
def test_transform(implementation, name):
    got = found(implementation, name, "clamp")
    chex.assert_trees_all_close(got, expected(name, "clamp"), **CLOSE)


@pytest.mark.parametrize("name", FIRST_ORDER)
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS[1:])
def test_transform_with_straight_tails(implementation, name):
    got = found(implementation, name, "linear")
    chex.assert_trees_all_close(got, expected(name, "linear"), **CLOSE)


@pytest.mark.slow
def test_exported_with_derivatives():
    """Second derivatives, without ``vmap``: JAX has no rule to batch an exported call."""
    x, coeffs = arguments()
    stored = export.export(jax.jit(jb.bernstein))(x, coeffs).serialize(vjp_order=2)

    def product(f):
        slope = jax.grad(total(f), (0, 1))
        dot = lambda x, c: sum(map(jnp.vdot, slope(x, c), (x, coeffs)))  # noqa: E731
        return quickly(jax.grad(dot, (0, 1)))(x, coeffs)

    with jax.numpy_rank_promotion("allow"):
        want = product(functools.partial(casteljau, outside="clamp"))
    got = product(export.deserialize(stored).call)
    chex.assert_trees_all_close(got, want, rtol=2e-4, atol=2e-4)
