"""How far can the output of a trained network go? A proof instead of a sample.

A classifier is trained on two classes in a square. Around one point the box of all inputs
within ``RADIUS`` is taken, and the margin between the two logits in it is

- *sampled* at many points: what surely happens, a range from inside;
- bounded by *interval* arithmetic and by *affine* substitution: what can never be left,
  ranges from outside.

If the lower bound of the margin is positive, no input in the box changes the class.
Here interval arithmetic cannot tell and affine substitution can. ``splits=6`` would bound 64
parts of the box and come closer still; ``jb.certify.lipschitz`` bounds how fast the margin
can change.

    python docs/examples/certify_network.py
"""

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

import jaxbern as jb

POINT, RADIUS = np.float32([0.35, -0.2]), np.float32(0.1)
MARGIN = np.float32([[-1.0, 1.0]])  # the second logit less the first


def train(steps: int) -> jb.MLP:
    """Three hidden layers, in evaluation mode."""
    model = jb.MLP(2, depth=3, width=8, degree=5, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adamw(1e-2, weight_decay=0.1), wrt=nnx.Param)
    x = np.random.default_rng(0).uniform(-1, 1, (512, 2)).astype("float32")
    labels = (np.sin(4 * x[:, 0]) * np.cos(3 * x[:, 1]) > 0).astype("int32")

    @nnx.jit
    def step(model, optimizer):
        def loss(model):
            losses = optax.softmax_cross_entropy_with_integer_labels(model(x), labels)
            return jnp.mean(losses)

        optimizer.update(model, nnx.grad(loss)(model))

    for _ in range(steps):
        step(model, optimizer)
    model.eval()
    return model


def main(steps: int = 150) -> dict[str, tuple[float, float]]:
    """Train, and return the range of the margin by each method."""
    model = train(steps)
    box = POINT - RADIUS, POINT + RADIUS
    x = np.random.default_rng(1).uniform(*box, (10_000, 2)).astype("float32")
    margins = np.asarray(model(x)) @ MARGIN[0]
    ranges = {"sampled": (float(margins.min()), float(margins.max()))}
    for method in ("interval", "affine"):
        low, high = jb.certify.bounds(model, *box, weights=MARGIN, method=method)
        ranges[method] = float(low[0]), float(high[0])
    for name, (low, high) in ranges.items():
        proved = name != "sampled" and low > 0
        verdict = "the class cannot change" if proved else ""
        print(f"{name:<9} {low:8.3f} to {high:7.3f}  {verdict}")
    return ranges


if __name__ == "__main__":
    main()
