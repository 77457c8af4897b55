"""What is measured of each package: an activation, a layer with its matrix, a network."""

import dataclasses
from collections.abc import Callable, Collection
from typing import Any

from experiments.comparison import compared_packages as p
from experiments.comparison import jax_modules as on_jax
from experiments.comparison import torch_modules as on_torch


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A module of a package.

    Attributes:
      package: the package it belongs to.
      framework: "jax" (a ``flax.nnx`` module) or "torch".
      what: what it computes.
      make: creates the module from ``(width, seed)`` for layers, and from
        ``(features, outputs, width, seed)`` for networks.
      label: name in tables, if not that of the package.
    """

    package: p.Package
    framework: str
    what: str
    make: Callable[..., Any]
    label: str = ""

    @property
    def name(self) -> str:
        """Name in tables; jaxbern's own row is the unit of the ratios."""
        return self.label or self.package.name


# [rows, width] to the same shape, elementwise
ACTIVATIONS = (
    Candidate(
        p.JAXBERN, "jax", "Bernstein of degree 9, one per neuron", on_jax.bernstein
    ),
    Candidate(p.JAXBERN, "jax", "nothing learned", on_jax.relu, "ReLU in JAX"),
    Candidate(p.TORCH, "torch", "nothing learned", on_torch.relu, "ReLU in PyTorch"),
    Candidate(
        p.DEEPBERN, "torch", "Bernstein of degree 9, one per neuron", on_torch.deepbern
    ),
    Candidate(
        p.RATIONAL, "torch", "rational 5/4, one for all neurons", on_torch.rational
    ),
    Candidate(
        p.FLASHKAT,
        "torch",
        "rational 5/4, one denominator per neuron, one numerator for all",
        on_torch.kat_group,
        "FlashKAT, its PyTorch path",
    ),
)

# [rows, width] to the same shape, every output depends on every input
DENSE = (
    Candidate(
        p.JAXBERN,
        "jax",
        "Linear, then one Bernstein per neuron",
        on_jax.dense_bernstein,
    ),
    Candidate(
        p.JAXBERN,
        "jax",
        "Linear, Bernstein, Linear: as many parameters as efficient-kan",
        on_jax.wide_bernstein,
        "jaxbern, equal parameters",
    ),
    Candidate(
        p.JAXKAN,
        "jax",
        "cubic splines, one per edge",
        on_jax.kan_splines,
        "jaxKAN, spline",
    ),
    Candidate(
        p.JAXKAN,
        "jax",
        "Chebyshev of degree 10, one per edge",
        on_jax.kan_chebyshev,
        "jaxKAN, Chebyshev",
    ),
    Candidate(
        p.EFFICIENT_KAN, "torch", "cubic splines, one per edge", on_torch.efficient_kan
    ),
    Candidate(p.PYKAN, "torch", "cubic splines, one per edge", on_torch.pykan),
)

# features to outputs, trained
NETWORKS = (
    Candidate(
        p.JAXBERN, "jax", "2 hidden layers, BatchNorm, Bernstein", on_jax.bernstein_network
    ),
    Candidate(
        p.JAXBERN, "jax", "2 hidden layers, Bernstein", on_jax.plain_bernstein_network,
        "jaxbern, no BatchNorm",
    ),
    Candidate(
        p.JAXBERN, "jax", "2 hidden layers, BatchNorm, ReLU", on_jax.relu_network,
        "ReLU in JAX",
    ),
    Candidate(
        p.TORCH, "torch", "2 hidden layers, BatchNorm, ReLU", on_torch.relu_network,
        "ReLU in PyTorch",
    ),
    Candidate(
        p.DEEPBERN,
        "torch",
        "2 hidden layers, Bernstein on propagated bounds",
        on_torch.deepbern_network,
    ),
    Candidate(
        p.RATIONAL,
        "torch",
        "2 hidden layers, BatchNorm, rational",
        on_torch.rational_network,
    ),
    Candidate(
        p.FLASHKAT,
        "torch",
        "2 hidden layers, BatchNorm, rational",
        on_torch.kat_network,
        "FlashKAT, its PyTorch path",
    ),
    Candidate(
        p.JAXKAN, "jax", "1 hidden layer, splines", on_jax.kan_network, "jaxKAN, spline"
    ),
    Candidate(
        p.JAXKAN,
        "jax",
        "1 hidden layer, Chebyshev",
        on_jax.chebyshev_network,
        "jaxKAN, Chebyshev",
    ),
    Candidate(
        p.EFFICIENT_KAN, "torch", "1 hidden layer, splines", on_torch.efficient_kan_network
    ),
    Candidate(p.PYKAN, "torch", "1 hidden layer, splines", on_torch.pykan_network),
)  # fmt: skip


def usable(
    candidates: tuple[Candidate, ...], missing: Collection[str]
) -> tuple[Candidate, ...]:
    """Return the candidates whose package, and PyTorch if needed, is installed."""
    return tuple(
        c
        for c in candidates
        if c.package.name not in missing
        and not (c.framework == "torch" and p.TORCH.name in missing)
    )
