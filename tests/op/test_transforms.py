"""jit, vmap, scan, remat, export, donation, sharding: all as for any JAX function."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

import jaxbern as jb
from tests.op.implementations import IMPLEMENTATIONS
from tests.quick import QUICKLY, quickly

each_implementation = pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
SEEDS, ROWS, WIDTH, DEGREE = 3, 7, 5, 4


def arguments(seeds: int | None = None):
    rng = np.random.default_rng(0)
    lead = () if seeds is None else (seeds,)
    x = rng.normal(size=(*lead, ROWS, WIDTH)) * 2
    coeffs = rng.normal(size=(*lead, WIDTH, DEGREE + 1))
    return jnp.asarray(x, jnp.float32), jnp.asarray(coeffs, jnp.float32)


def value_and_gradients(x, coeffs, implementation, **interval):
    def call(x, coeffs):
        return jb.bernstein(x, coeffs, implementation=implementation, **interval)

    y, pull = jax.vjp(call, x, coeffs)
    return y, *pull(jnp.cos(y))


# The same, compiled once for all tests with arguments of these shapes.
compiled = quickly(value_and_gradients, static_argnames="implementation")


@pytest.mark.slow
@each_implementation
def test_jit_gives_the_same_numbers(implementation):
    run = functools.partial(value_and_gradients, implementation=implementation)
    chex.assert_trees_all_close(
        jax.jit(run)(*arguments()), run(*arguments()), rtol=1e-5, atol=1e-6
    )


@each_implementation
@pytest.mark.parametrize("over_x, over_coeffs", [(0, None), (None, 0), (0, 0)])
def test_vmap_equals_a_loop(over_x, over_coeffs, implementation):
    xs, cs = arguments(SEEDS)
    x = xs if over_x == 0 else xs[0]
    coeffs = cs if over_coeffs == 0 else cs[0]
    run = functools.partial(value_and_gradients, implementation=implementation)
    batched = quickly(jax.vmap(run, in_axes=(over_x, over_coeffs)))(x, coeffs)
    for i in range(SEEDS):
        alone = compiled(
            x[i] if over_x == 0 else x,
            coeffs[i] if over_coeffs == 0 else coeffs,
            implementation,
        )
        member = jax.tree.map(lambda v, i=i: v[i], batched)
        chex.assert_trees_all_close(member, alone, rtol=1e-5, atol=1e-6)


@each_implementation
def test_vmap_inside_grad_sums_the_shared_coefficients(implementation):
    x, coeffs = arguments()
    run = functools.partial(jb.bernstein, implementation=implementation)

    def rows_one_by_one(coeffs):
        return jnp.sum(jnp.sin(jax.vmap(lambda row: run(row, coeffs))(x)))

    def all_rows(coeffs):
        return jnp.sum(jnp.sin(run(x, coeffs)))

    both = quickly(lambda c: (jax.grad(rows_one_by_one)(c), jax.grad(all_rows)(c)))
    got, want = both(coeffs)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@each_implementation
def test_vmap_twice_and_over_the_interval(implementation):
    """A batch of x around a batch of intervals: axes that only some arguments have."""
    x, coeffs = arguments()
    lowers = jnp.array([-3.0, -2.0])
    run = functools.partial(value_and_gradients, implementation=implementation)
    shifts = jnp.array([0.0, 0.3, -0.7])

    def one(shift, lower):
        return run(x + shift, coeffs, lower=lower, upper=3.0)

    nested = quickly(jax.vmap(jax.vmap(one, (None, 0)), (0, None)))(shifts, lowers)
    alone = quickly(one)
    for i, j in np.ndindex(3, 2):
        member = jax.tree.map(lambda v, i=i, j=j: v[i, j], nested)
        chex.assert_trees_all_close(
            member, alone(shifts[i], lowers[j]), rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize(
    "shape, shared",
    [((), True)]
    + [(s, p) for s in [(5,), (2, 3, 4, 5), (0, 5), (3, 0, 5)] for p in (False, True)],
)
def test_any_leading_shape(shape, shared):
    """Scalars, images, sequences, empty batches."""
    x = jnp.asarray(np.random.default_rng(0).normal(size=shape), jnp.float32)
    coeffs = jnp.arange(4.0) if shared else jnp.arange(20.0).reshape(5, 4)
    y, dx, dc = compiled(x, coeffs, None)
    chex.assert_equal_shape([x, y, dx])
    chex.assert_equal_shape([coeffs, dc])
    per_neuron = jnp.broadcast_to(coeffs, (5, 4)) if shape else coeffs
    flat = x.reshape(-1, 5) if shape else x
    want, _, want_dc = compiled(flat, per_neuron, None)
    np.testing.assert_allclose(y, want.reshape(shape), rtol=1e-6)
    if shared and shape:
        want_dc = want_dc.sum(axis=0)
    np.testing.assert_allclose(dc, want_dc, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "rows, width", [(1, 1), (3, 1), (1, 300), (1000, 3), (131, 257)]
)
def test_odd_sizes_of_the_coefficient_gradient(rows, width):
    """Sizes that do not fill the tiles of the CPU path."""
    rng = np.random.default_rng(rows)
    x = jnp.asarray(rng.normal(size=(rows, width)), jnp.float32)
    coeffs = jnp.asarray(rng.normal(size=(width, 10)), jnp.float32)
    y, _, dc = compiled(x, coeffs, "xla")
    basis = np.float64(quickly(jb.poly.basis, static_argnums=1)(x, 9))
    want = np.einsum("bw,bwk->wk", np.cos(np.float64(y)), basis)
    # Two float32 computations of b_k and y, and `rows` roundings of the sum.
    np.testing.assert_allclose(dc, want, atol=rows**0.5 * 2e-5)


@pytest.mark.slow
@each_implementation
def test_scan_and_remat(implementation):
    x, coeffs = arguments()
    stack = jnp.stack([coeffs, coeffs * 0.5, coeffs + 0.1])
    run = functools.partial(jb.bernstein, implementation=implementation)

    def layers(stack, wrap):
        def step(h, c):
            return h + wrap(run)(h, c), None

        return jnp.sum(jax.lax.scan(step, x, stack)[0] ** 2)

    def unrolled(stack):
        h = x
        for c in stack:
            h = h + run(h, c)
        return jnp.sum(h**2)

    @quickly
    def each_way(stack):
        ways = (
            unrolled,
            lambda stack: layers(stack, lambda f: f),
            lambda stack: layers(stack, jax.checkpoint),
        )
        return [jax.value_and_grad(way)(stack) for way in ways]

    want, *others = each_way(stack)
    for got in others:
        chex.assert_trees_all_close(got, want, rtol=1e-4, atol=1e-4)


def test_export_and_reload():
    x, coeffs = arguments()
    step = jax.jit(lambda x, c: value_and_gradients(x, c, None))
    stored = export.export(step)(x, coeffs).serialize()
    chex.assert_trees_all_equal(
        export.deserialize(stored).call(x, coeffs), step(x, coeffs)
    )


def test_export_for_other_platforms():
    """The choice of implementation is made for the platform of the program."""
    x, coeffs = arguments()
    step = jax.jit(lambda x, c: value_and_gradients(x, c, "xla"))
    exported = export.export(step, platforms=("cpu", "cuda", "tpu"))(x, coeffs)
    # Not bit by bit: the branches on the platform are compiled as programs of their own.
    chex.assert_trees_all_close(
        exported.call(x, coeffs), step(x, coeffs), rtol=1e-5, atol=1e-6
    )


def test_donated_input_is_used_for_the_output():
    x, coeffs = arguments()
    want = jax.jit(jb.bernstein)(x, coeffs)
    run = jax.jit(jb.bernstein, donate_argnums=0)
    buffer = jnp.array(x)
    np.testing.assert_array_equal(run(buffer, coeffs), want)
    assert buffer.is_deleted()


def test_one_trace_for_one_shape():
    traced = chex.assert_max_traces(n=1)(lambda x, c: value_and_gradients(x, c, None))
    run = jax.jit(traced)
    x, coeffs = arguments()
    for scale in (1.0, 2.0, 3.0):
        run(x * scale, coeffs)
    with pytest.raises(AssertionError, match="traced"):
        run(x[:2], coeffs)


@each_implementation
def test_same_bits_twice(implementation):
    rng = np.random.default_rng(0)
    # Several tiles or programs each; interpreters are slow.
    rows, width = (3000, 33) if implementation == "xla" else (300, 5)
    x = jnp.asarray(rng.normal(size=(rows, width)), jnp.float32)
    coeffs = jnp.asarray(rng.normal(size=(width, 10)), jnp.float32)
    run = jax.jit(functools.partial(value_and_gradients, implementation=implementation))
    chex.assert_trees_all_equal(run(x, coeffs), run(x, coeffs))


@pytest.mark.parametrize("degree", [3, 9, 25])
def test_temporary_memory_is_at_most_one_array(degree):
    """Forward and both gradients in one program: no basis is ever stored."""
    shape = jax.ShapeDtypeStruct
    x, coeffs = shape((4096, 256), jnp.float32), shape((256, degree + 1), jnp.float32)
    step = jax.jit(lambda x, c: value_and_gradients(x, c, "xla"))
    memory = step.lower(x, coeffs).compile(QUICKLY).memory_analysis()
    # The cosine of y is the one array: the operator's share is its tiles.
    assert memory.temp_size_in_bytes <= 2 * 4096 * 256 * 4


@each_implementation
def test_shard_map(implementation):
    """Inside shard_map the coefficients' gradient is summed over the shards."""
    mesh = jax.make_mesh((1,), ("batch",), axis_types=(jax.sharding.AxisType.Auto,))
    rows, whole = jax.P("batch"), jax.P()
    x, coeffs = arguments()
    run = functools.partial(jb.bernstein, implementation=implementation)
    local = jax.shard_map(
        run,
        mesh=mesh,
        in_specs=(rows, whole),
        out_specs=rows,
        # Pallas' interpreter, not the kernels, trips over the check.
        check_vma=implementation not in ("pallas:interpret", "mosaic:interpret"),
    )

    def gradients(function):
        square = lambda x, c: jnp.sum(function(x, c) ** 2)  # noqa: E731
        return quickly(jax.grad(square, (0, 1)))(x, coeffs)

    got, want = gradients(local), gradients(run)
    chex.assert_trees_all_close(got, want, rtol=1e-5, atol=1e-6)
