"""The activations that are compared, each as what a user would write."""

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
from flax import nnx

import jaxbern as jb


@dataclass(frozen=True)
class Method:
    """An activation by name; ``make(features, rngs)`` gives what a module calls."""

    name: str
    make: Callable
    about: str


def _fixed(name: str, f: Callable) -> Method:
    return Method(name, lambda features, rngs: f, f"`nnx.{name}`")


PAPER = {"lower": -3.0, "upper": 3.0, "outside": "clamp", "init": "paper"}
METHODS = {
    method.name: method
    for method in (
        _fixed("relu", nnx.relu),
        _fixed("gelu", nnx.gelu),
        _fixed("silu", nnx.silu),
        _fixed("tanh", jnp.tanh),
        Method(
            "bernstein",
            lambda features, rngs: jb.BernsteinAct(features, rngs=rngs),
            "`jb.BernsteinAct(features, rngs=rngs)`, the defaults",
        ),
        Method(
            "shared",
            lambda features, rngs: jb.BernsteinAct(features, shared=True, rngs=rngs),
            "the defaults with `shared=True`: one polynomial per layer",
        ),
        Method(
            "paper",
            lambda features, rngs: jb.BernsteinAct(features, **PAPER, rngs=rngs),
            "the paper's layer: [-3, 3], clamped, random start of deviation 1/W",
        ),
    )
}
RIVALS = ("relu", "gelu", "silu")  # the best of these on a task is what counts
OURS = "bernstein"
