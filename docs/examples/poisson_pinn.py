"""A differential equation solved by a network: second derivatives of the activation.

The problem is ``-u''(x) = pi^2 sin(pi x)`` on ``[0, 1]`` with ``u(0) = u(1) = 0``; its solution
is ``sin(pi x)``. A physics-informed network never sees the solution: it is trained to satisfy
the equation. That needs its second derivative in ``x`` and the gradient of that in all
parameters, so third derivatives in total. Polynomials have them; ``relu`` does not.

There are two ways to the second derivative: forward mode twice, or Taylor mode
(``jax.experimental.jet``), which carries ``u``, ``u'`` and ``u''`` through the network at once.

    python docs/examples/poisson_pinn.py
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.experimental.jet import jet

import jaxbern as jb

WIDTH, DEGREE = 8, 7


def init(key: jax.Array) -> dict[str, jax.Array]:
    """Draw one hidden layer whose neurons have inputs in ``[-3, 3]``."""
    keys = jax.random.split(key, 4)
    return {
        "scale": jax.random.uniform(keys[0], (WIDTH,), minval=1.0, maxval=3.0),
        "shift": jax.random.uniform(keys[1], (WIDTH,), minval=-2.0, maxval=0.0),
        "coeffs": jb.initializers.smooth(std=1.0)(keys[2], (WIDTH, DEGREE + 1)),
        "out": jax.random.normal(keys[3], (WIDTH,)) / WIDTH,
    }


def solution(params: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """Return ``u(x)``; the factor ``x (1 - x)`` makes it zero at both ends."""
    hidden = params["scale"] * x + params["shift"]
    return x * (1 - x) * (params["out"] @ jb.bernstein(hidden, params["coeffs"]))


def nested(params: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """Compute ``u''`` by forward mode over forward mode."""
    return jax.jacfwd(jax.jacfwd(solution, argnums=1), argnums=1)(params, x)


def taylor(params: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """Compute ``u''`` by Taylor mode, with first derivative one and second zero for ``x``."""
    move = [jnp.ones_like(x), jnp.zeros_like(x)]
    _, (_, second) = jet(lambda x: solution(params, x), (x,), (move,))
    return second


def main(steps: int = 1000, second: Callable = nested) -> dict[str, float]:
    """Train, and return the largest error and the root mean square of the residual."""

    def residual(params, x):  # zero where the equation holds
        return -second(params, x) - jnp.pi**2 * jnp.sin(jnp.pi * x)

    x = jnp.linspace(0, 1, 64)
    optimizer = optax.adam(optax.cosine_decay_schedule(2e-2, steps))
    params = jax.jit(init)(jax.random.key(0))

    def loss(params):
        return jnp.mean(jnp.square(jax.vmap(residual, (None, 0))(params, x)))

    def step(carry, _):
        params, state = carry
        value, gradients = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradients, state)
        return (optax.apply_updates(params, updates), state), value

    @jax.jit
    def train(params):
        return jax.lax.scan(step, (params, optimizer.init(params)), length=steps)

    (params, _), losses = train(params)
    between = np.linspace(
        0, 1, 501, dtype=np.float32
    )  # points that were not trained on
    u = jax.jit(jax.vmap(solution, (None, 0)))(params, between)
    error = float(np.max(np.abs(u - np.sin(np.pi * between))))
    remains = float(losses[-1]) ** 0.5
    print(f"-u'' is right to {remains:.4f} of {np.pi**2:.2f}")
    print(f"u is right to {error:.6f} of 1")
    return {"error": error, "residual": remains}


if __name__ == "__main__":
    main()
    main(second=taylor)
