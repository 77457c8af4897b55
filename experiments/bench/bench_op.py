"""Time forward and both gradients of the activation, against other ways to write it."""

import importlib.util
import math
import os
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

import jaxbern as jb
from experiments.core.timing import best_in_turns, timed


def textbook(x, coeffs):
    """Evaluate the definition with powers; differentiated by JAX."""
    degree = coeffs.shape[-1] - 1
    t = ((jnp.clip(x, -3, 3) + 3) / 6)[..., None]
    k = jnp.arange(degree + 1)
    binomials = jnp.array([math.comb(degree, i) for i in range(degree + 1)], x.dtype)
    return jnp.sum(binomials * t**k * (1 - t) ** (degree - k) * coeffs, axis=-1)


def horner(x, coeffs):
    """Evaluate by Horner's rule; differentiated by JAX."""
    degree = coeffs.shape[-1] - 1
    x = jnp.clip(x, -3, 3)
    t, s = (x + 3) / 6, (3 - x) / 6
    total, power = coeffs[:, 0] * jnp.ones_like(x), t
    for k in range(1, degree + 1):
        total = total * s + power * (math.comb(degree, k) * coeffs[:, k])
        power = power * t
    return total


def torch_textbook(x, coeffs):
    """Evaluate the definition in PyTorch, the whole basis at once, as DeepBern-Nets does."""
    import torch

    degree = coeffs.shape[-1] - 1
    k = torch.arange(degree + 1)
    binomials = torch.tensor([float(math.comb(degree, int(i))) for i in k])
    t = ((x + 3) / 6).unsqueeze(-1)
    return (binomials * t**k * (1 - t) ** (degree - k) * coeffs).sum(-1)


def jax_step(function: Callable, *arrays) -> tuple[Callable, float]:
    """Return a compiled call of forward and gradients, and its temporary memory in MiB."""

    def step(x, coeffs, dy):
        y, pull = jax.vjp(function, x, coeffs)
        return y, *pull(dy)

    compiled = jax.jit(step).lower(*arrays).compile()
    analysis = compiled.memory_analysis()
    memory = analysis.temp_size_in_bytes / 2**20 if analysis else math.nan
    return lambda: jax.block_until_ready(compiled(*arrays)), memory


def torch_step(x, coeffs, dy) -> Callable:
    import torch

    torch.set_num_threads(os.cpu_count() or 1)
    x = torch.tensor(np.clip(x, -3, 3), requires_grad=True)
    coeffs = torch.tensor(np.asarray(coeffs), requires_grad=True)
    dy = torch.tensor(np.asarray(dy))

    def step():
        x.grad = coeffs.grad = None
        torch_textbook(x, coeffs).backward(dy)

    return step


def multiply_add_limit(elements: int, degree: int, repeats: int = 5) -> float:
    """Return milliseconds of the multiply-adds at the rate of a large matrix product.

    Per element this counts ``n`` for the value, ``n`` for the slope and ``n + 1`` for the
    sums: what the cheapest known formulas need.
    """
    size = 1536
    a = jnp.asarray(np.random.default_rng(0).normal(size=(size, size)), jnp.float32)
    product = jax.jit(jnp.matmul)
    product(a, a).block_until_ready()
    run = timed(lambda: product(a, a).block_until_ready())
    seconds = min(run() for _ in range(repeats))
    return elements * (3 * degree + 1) / (size**3 / seconds) * 1e3


def table(rows: int, width: int, degree: int, repeats: int) -> None:
    rng = np.random.default_rng(0)
    x, dy = (jnp.asarray(rng.normal(size=(rows, width)), jnp.float32) for _ in range(2))
    coeffs = jnp.asarray(rng.normal(size=(width, degree + 1)), jnp.float32)
    relu = lambda x, coeffs: jax.nn.relu(x)  # noqa: E731
    functions = {
        "jaxbern": jb.bernstein,
        "relu": relu,
        "jax.grad of Horner": horner,
        "jax.grad of the textbook": textbook,
    }
    steps, memory = {}, {}
    for name, function in functions.items():
        steps[name], memory[name] = jax_step(function, x, coeffs, dy)
    if importlib.util.find_spec("torch"):
        steps["textbook in PyTorch"] = torch_step(x, coeffs, dy)
    for step in steps.values():
        step()
    best = best_in_turns({name: timed(step) for name, step in steps.items()}, repeats)
    best = {name: 1e3 * seconds for name, seconds in best.items()}
    best["multiply-add limit"] = multiply_add_limit(rows * width, degree)
    print(f"\nx {rows:,}x{width} float32, degree {degree}: forward + both gradients")
    print(f"{'':26}{'ms':>9}{'/ jaxbern':>12}{'temporary MiB':>16}")
    for name, value in best.items():
        used = f"{memory[name]:.1f}" if name in memory else ""
        print(f"{name:26}{value:9.1f}{value / best['jaxbern']:>12.2f}{used:>16}")


def tables(
    rows: int, widths: Sequence[int], degrees: Sequence[int], repeats: int
) -> None:
    """Print a table for each width and degree."""
    device = jax.devices()[0].device_kind
    print(f"jax {jax.__version__} on {device}, {os.cpu_count()} cores")
    for width in widths:
        for degree in degrees:
            table(rows, width, degree, repeats)
