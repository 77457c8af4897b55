"""Every mode of JAX that somebody may have switched on: nothing breaks, numbers agree.

The operator with its gradients, both layers, the network, bounds and a short training run
under each. Options of Python itself need a process of their own.
"""

import contextlib
import functools
import subprocess
import sys
from pathlib import Path

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbern as jb
from jaxbern.train import NetworkConfig, TrainConfig

ROOT = Path(__file__).parents[2]


@contextlib.contextmanager
def checks():
    before = jax.config.jax_enable_checks
    jax.config.update("jax_enable_checks", True)
    try:
        yield
    finally:
        jax.config.update("jax_enable_checks", before)


# Strict promotions of ranks and dtypes are switched on for all tests.
MODES = {
    "disable_jit": jax.disable_jit,
    "debug_nans": functools.partial(jax.debug_nans, True),
    "debug_infs": functools.partial(jax.debug_infs, True),
    "check_tracer_leaks": jax.check_tracer_leaks,
    "enable_checks": checks,
    "enable_x64": functools.partial(jax.enable_x64, True),
    "matmul precision": functools.partial(jax.default_matmul_precision, "highest"),
}


# Each part is one program: many operations one by one would each be compiled again in
# every mode. One call outside of jit is among them, and ``disable_jit`` runs all so.
def operator():
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(6, 3)) * 2, jnp.float32)
    coeffs = jnp.asarray(rng.normal(size=(3, 5)), jnp.float32)

    @jax.jit
    def run(x, coeffs):
        found = []
        for outside in ("clamp", "linear"):
            call = functools.partial(jb.bernstein, outside=outside)
            y, pull = jax.vjp(call, x, coeffs)
            found += [y, *pull(y), jax.jvp(call, (x, coeffs), (x, coeffs))[1]]
            found.append(jax.hessian(lambda c, f=call: f(x[0], c).sum())(coeffs))
            found.append(jax.vmap(call)(x[:, None], jnp.stack([coeffs] * 6)))
        mean, var = jnp.mean(x, axis=0), jnp.var(x, axis=0)
        found.append(jb.bernstein_norm(x, coeffs, mean=mean, var=var, residual=x))
        return found

    return [jb.bernstein(x, coeffs), *run(x, coeffs)]


def layers():
    x = jnp.asarray(np.random.default_rng(1).normal(size=(6, 3)), jnp.float32)
    act = jb.BernsteinAct(3, 4, rngs=nnx.Rngs(0))
    gradient = nnx.jit(nnx.grad(lambda act: jnp.sum(act(x) ** 2)))(act)
    linen = jb.linen.BernsteinAct(4)
    params = jax.jit(linen.init)(jax.random.key(0), x)
    return [act(x), *jax.tree.leaves(gradient), jax.jit(linen.apply)(params, x)]


def network():
    x = jnp.asarray(np.random.default_rng(2).normal(size=(6, 3)), jnp.float32)
    model = jb.MLP(3, depth=3, width=4, degree=3, rngs=nnx.Rngs(0))
    gradient = nnx.jit(nnx.grad(lambda model: jnp.sum(model(x) ** 2)))(model)
    model.eval()
    return [
        nnx.jit(lambda model: model(x))(model),
        *jax.tree.leaves(nnx.state(gradient, nnx.Param)),
    ]


def bounds():
    model = jb.MLP(3, depth=2, width=4, degree=3, rngs=nnx.Rngs(0))
    model.eval()
    centre = np.zeros((1, 3), np.float32)
    box = jb.certify.bounds(model, centre - 0.1, centre + 0.1)
    return jax.tree.leaves(box)


def fit():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(20, 3)).astype(np.float32)
    events = jb.data.Dataset.from_arrays(
        "events", x, (x[:, 0] > 0).astype(np.uint8), ("a", "b", "c")
    )
    found = []
    for activation in ("bernstein", "relu"):  # the second has no interval
        network = NetworkConfig(3, depth=1, width=2, degree=2, activation=activation)
        config = TrainConfig(network, seeds=(0,), epochs=1, batch_size=16)
        history = jb.train.fit(config, events).history
        found += [history[0]["auc"], history[0]["train_loss"]]
    return found


PARTS = (operator, layers, network, bounds, fit)
plain = functools.cache(lambda part: [np.asarray(a) for a in part()])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "part",
    [operator, layers, *(pytest.param(p, marks=pytest.mark.slow) for p in PARTS[2:])],
    ids=lambda part: part.__name__,
)
def test_same_numbers_in_every_mode(part, mode):
    want = plain(part)
    with MODES[mode]():
        got = [np.asarray(a) for a in part()]
    assert all(np.isfinite(a).all() for a in got)
    if mode == "enable_x64" and part is not operator:
        return  # other random numbers are drawn
    chex.assert_trees_all_close(got, want, rtol=2e-4, atol=2e-5)


@pytest.mark.slow
def test_nothing_moves_between_host_and_device_by_itself():
    """Arguments put there before, results fetched after; constants are JAX's affair."""
    put = functools.partial(jax.device_put, device=jax.devices()[0])
    x, coeffs = put(np.ones((6, 3), np.float32)), put(np.ones((3, 5), np.float32))
    act = jb.BernsteinAct(3, 4, rngs=nnx.Rngs(0))
    model = jb.MLP(3, depth=2, width=4, degree=3, rngs=nnx.Rngs(0))

    @jax.jit
    def operator(x, coeffs):
        return jax.value_and_grad(lambda x, c: jb.bernstein(x, c).sum(), (0, 1))(
            x, coeffs
        )

    call = nnx.jit(lambda module, x: module(x))
    with jax.transfer_guard("disallow"):
        found = operator(x, coeffs), call(act, x), call(model, x)
    assert all(np.isfinite(a).all() for a in jax.tree.leaves(jax.device_get(found)))


@pytest.mark.slow
def test_options_of_python():
    """Each part by itself: assertions are left out, and a warning is an error."""
    code = (
        "from tests.project.test_modes import PARTS\n"
        "print(sum(len(part()) for part in PARTS))"
    )
    result = subprocess.run(
        [sys.executable, "-O", "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) == sum(len(plain(part)) for part in PARTS)
