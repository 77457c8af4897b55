"""The operator without any framework: parameters are a dictionary, training is a scan.

``jb.bernstein(x, coeffs)`` is a pure function, so every JAX transform applies to it. Here a
network with one input and one output learns a wave; at the end its slope, computed by
``jax.grad``, is compared with the true one, which was not part of the training data.

    python docs/examples/plain_jax.py
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

import jaxbern as jb

WIDTH, DEGREE = 12, 7


def init(key: jax.Array) -> dict[str, jax.Array]:
    """Draw weights of two layers, and one polynomial for each neuron."""
    keys = jax.random.split(key, 4)
    return {
        "scale": 2 * jax.random.normal(keys[0], (WIDTH,)),
        "shift": jax.random.normal(keys[1], (WIDTH,)),
        "coeffs": jb.initializers.smooth(std=0.5)(keys[2], (WIDTH, DEGREE + 1)),
        "out": jax.random.normal(keys[3], (WIDTH,)) / WIDTH,
    }


def network(params: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """Evaluate the network at one number; use ``vmap`` for many."""
    hidden = params["scale"] * x + params["shift"]
    return params["out"] @ jb.bernstein(hidden, params["coeffs"])


def wave(x: jax.Array) -> jax.Array:
    """Return the function to learn, on ``[-1, 1]``."""
    return jnp.sin(4 * x)


def main(steps: int = 1000) -> dict[str, float]:
    """Train, and return the mean errors of the function and of its slope."""
    x = jnp.linspace(-1, 1, 128)
    optimizer = optax.adam(optax.cosine_decay_schedule(1e-2, steps))
    params = jax.jit(init)(jax.random.key(0))

    def loss(params):
        errors = jax.vmap(network, (None, 0))(params, x) - wave(x)
        return jnp.mean(jnp.square(errors))

    def step(carry, _):
        params, state = carry
        value, gradients = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradients, state)
        return (optax.apply_updates(params, updates), state), value

    @jax.jit
    def train(params):
        return jax.lax.scan(step, (params, optimizer.init(params)), length=steps)

    (params, _), losses = train(params)

    def error(learned, true):
        errors = jax.vmap(lambda x: learned(params, x) - true(x))
        return float(np.sqrt(np.mean(np.square(jax.jit(errors)(x)))))

    of_value = error(network, wave)
    of_slope = error(jax.grad(network, argnums=1), jax.grad(wave))
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.1e}")
    print(f"mean error {of_value:.4f}, of the slope {of_slope:.3f} (slopes reach 4)")
    return {"value": of_value, "slope": of_slope}


if __name__ == "__main__":
    main()
