"""The operator in Equinox: a layer of five lines around ``jb.bernstein``.

Coefficients are leaves of the module, so ``eqx.filter_grad`` and ``eqx.filter_jit`` handle them
like other parameters. The task is to fit a surface with bumps.

    pip install equinox
    python docs/examples/equinox_regression.py
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

import jaxbern as jb


class BernsteinAct(eqx.Module):
    """One learnable polynomial for each neuron."""

    coeffs: jax.Array

    def __init__(self, features: int, degree: int, *, key: jax.Array):
        """Draw a random smooth polynomial for each neuron."""
        self.coeffs = jb.initializers.smooth(std=0.5)(key, (features, degree + 1))

    def __call__(self, x: jax.Array, *, key: jax.Array | None = None) -> jax.Array:
        """Apply the polynomials elementwise to ``[features]``."""
        return jb.bernstein(x, self.coeffs)


def network(key: jax.Array, width: int = 32) -> eqx.nn.Sequential:
    """Create a network with two inputs, one hidden layer and one output."""
    keys = jax.random.split(key, 3)
    first = eqx.nn.Linear(2, width, key=keys[0])
    act = BernsteinAct(width, 7, key=keys[1])  # was: eqx.nn.Lambda(jax.nn.relu)
    return eqx.nn.Sequential([first, act, eqx.nn.Linear(width, "scalar", key=keys[2])])


def surface(x: jax.Array) -> jax.Array:
    """Return the height to learn at points ``[..., 2]``."""
    return jnp.sin(2 * x[..., 0]) * jnp.cos(2 * x[..., 1])


def main(steps: int = 300) -> float:
    """Train, and return the fraction of the variance that is explained."""
    model = network(jax.random.key(0))
    x, new = np.random.default_rng(0).uniform(-1.5, 1.5, (2, 256, 2)).astype("float32")
    optimizer = optax.adam(1e-2)

    def loss(model, x):
        return jnp.mean(jnp.square(jax.vmap(model)(x) - surface(x)))

    @eqx.filter_jit
    def step(model, state):
        gradients = eqx.filter_grad(loss)(model, x)
        updates, state = optimizer.update(gradients, state)
        return eqx.apply_updates(model, updates), state

    state = optimizer.init(eqx.filter(model, eqx.is_array))
    for _ in range(steps):
        model, state = step(model, state)
    explained = 1 - float(eqx.filter_jit(loss)(model, new) / jnp.var(surface(new)))
    print(f"{explained:.1%} of the variance at new points is explained")
    return explained


if __name__ == "__main__":
    main()
