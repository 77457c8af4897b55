"""How much a trained classifier changes when its activations become polynomials.

A network of 3 x 64 neurons learns handwritten digits with a fixed activation. ``jb.convert``
then replaces the activation, without further training, by polynomials of several degrees on
``[-4, 4]`` with straight lines outside.

    pip install scikit-learn
    python docs/examples/convert_digits.py
"""

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import jaxbern as jb

ACTIVATIONS = (nnx.gelu, nnx.silu, nnx.tanh, nnx.relu)
DEGREES = (9, 15, 25)


def trained(act: Callable, x: jax.Array, y: jax.Array, steps: int) -> nnx.Sequential:
    """Return a network that Adam has trained on all rows."""
    rngs = nnx.Rngs(0)
    layers = []
    for inputs in (64, 64, 64):
        layers += [nnx.Linear(inputs, 64, rngs=rngs), act]
    model = nnx.Sequential(*layers, nnx.Linear(64, 10, rngs=rngs))
    optimizer = nnx.Optimizer(model, optax.adam(3e-3), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer):
        def loss(model):
            losses = optax.softmax_cross_entropy_with_integer_labels(model(x), y)
            return jnp.mean(losses)

        optimizer.update(model, nnx.grad(loss)(model))

    for _ in range(steps):
        step(model, optimizer)
    return model


def rows(steps: int = 200) -> Iterator[dict]:
    """Yield accuracy before and after, and the largest change of a logit, per conversion."""
    images, labels = load_digits(return_X_y=True)
    parts = train_test_split(images / 16, labels, test_size=0.25, random_state=0)
    x, x_test, y, y_test = map(jnp.asarray, parts)
    x, x_test = x.astype(jnp.float32), x_test.astype(jnp.float32)

    def accuracy(model) -> float:
        return float(jnp.mean(model(x_test).argmax(axis=1) == y_test))

    for act in ACTIVATIONS:
        model = trained(act, x, y, steps)
        for degree in DEGREES:
            new, report = jb.convert(model, x_test, degree=degree)
            yield {
                "activation": act.__name__,
                "degree": degree,
                "before": accuracy(model),
                "after": accuracy(new),
                "change": report.change,
                "logit": report.scale,
            }


def main(steps: int = 200) -> list[dict]:
    """Print a table; return its rows."""
    found = []
    print("activation  degree  accuracy  converted  largest change  largest logit")
    for row in rows(steps):
        found.append(row)
        print(
            f"{row['activation']:10}  {row['degree']:6}  {row['before']:8.4f}  "
            f"{row['after']:9.4f}  {row['change']:14.3g}  {row['logit']:13.1f}"
        )
    return found


if __name__ == "__main__":
    main()
