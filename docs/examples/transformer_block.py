"""A small transformer whose MLP block has learnable activations.

``BernsteinAct`` acts on the last axis, so sequences ``[batch, length, features]`` need
no special treatment. A LayerNorm right before it brings most of its inputs to the interval
``[-4, 4]``.

The task: each token is the sum of the two before it, modulo 7. The first two are random, so
the second cannot be predicted; all later ones can.

    python docs/examples/transformer_block.py
"""

import jax
import jax.numpy as jnp
import optax
from flax import nnx

import jaxbern as jb

TOKENS, LENGTH, FEATURES = 7, 12, 32


class MLPBlock(nnx.Module):
    """Linear, LayerNorm, activation, Linear."""

    def __init__(self, features: int, hidden: int, rngs: nnx.Rngs):
        """Create the layers."""
        self.up = nnx.Linear(features, hidden, rngs=rngs)
        self.norm = nnx.LayerNorm(hidden, rngs=rngs)
        self.act = jb.BernsteinAct(hidden, degree=9, rngs=rngs)  # was: nnx.gelu
        self.down = nnx.Linear(hidden, features, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Map ``[..., features]`` to the same shape."""
        return self.down(self.act(self.norm(self.up(x))))


class Block(nnx.Module):
    """Attention to earlier tokens, then the MLP block, each added to its input."""

    def __init__(self, features: int, rngs: nnx.Rngs):
        """Create the layers."""
        self.norm1 = nnx.LayerNorm(features, rngs=rngs)
        self.norm2 = nnx.LayerNorm(features, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(2, features, decode=False, rngs=rngs)
        self.mlp = MLPBlock(features, 4 * features, rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Map ``[batch, length, features]`` to the same shape."""
        causal = nnx.make_causal_mask(x[..., 0])
        x = x + self.attention(self.norm1(x), mask=causal)
        return x + self.mlp(self.norm2(x))


class Transformer(nnx.Module):
    """Embeddings of tokens and positions, one block, logits of the next token."""

    def __init__(self, rngs: nnx.Rngs):
        """Create the layers."""
        self.token = nnx.Embed(TOKENS, FEATURES, rngs=rngs)
        self.position = nnx.Embed(LENGTH, FEATURES, rngs=rngs)
        self.block = Block(FEATURES, rngs)
        self.last = nnx.Linear(FEATURES, TOKENS, rngs=rngs)

    def __call__(self, tokens: jax.Array) -> jax.Array:
        """Return logits ``[batch, length, TOKENS]`` for ``tokens [batch, length]``."""
        x = self.token(tokens) + self.position(jnp.arange(tokens.shape[1]))[None]
        return self.last(self.block(x))


def sequences(key: jax.Array, batch: int) -> jax.Array:
    """Draw ``[batch, LENGTH + 1]`` tokens, each the sum of the two before it modulo TOKENS."""
    start = jax.random.randint(key, (2, batch), 0, TOKENS)

    def following(two, _):
        return (two[1], (two[0] + two[1]) % TOKENS), two[0]

    return jax.lax.scan(following, tuple(start), length=LENGTH + 1)[1].T


@nnx.jit
def train_step(model, optimizer, key):
    """Take one step on new sequences; return the mean loss of the predictable tokens."""
    tokens = sequences(key, 32)

    def loss(model):
        losses = optax.softmax_cross_entropy_with_integer_labels(
            model(tokens[:, :-1]), tokens[:, 1:]
        )
        return jnp.mean(losses[:, 1:])

    value, gradients = nnx.value_and_grad(loss)(model)
    optimizer.update(model, gradients)
    return value


def main(steps: int = 150) -> list[float]:
    """Train, and return the loss of each step; guessing has ``log(7) = 1.95``."""
    model = Transformer(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(3e-3), wrt=nnx.Param)
    losses = []
    for step in range(steps):
        losses.append(float(train_step(model, optimizer, jax.random.key(step))))
        if step % 25 == 0 or step == steps - 1:
            print(f"step {step}: loss {losses[-1]:.3f}")
    return losses


if __name__ == "__main__":
    main()
