"""Activations that JAX writes as several operations, recognised by their formula.

``silu(x)`` is traced as ``x * logistic(x)`` and ``gelu`` as eight operations. Bounds of each by
itself would be wide or impossible. So the formulas of known functions are traced once,
and an operation whose whole formula is the same, number by number, is that function.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbern.certify._trace import Value, traced

_ANY_NUMBER = 0.123456789  # stands for the slope of leaky_relu
# Formulas end in one of these; the names are those of ``_fixed``.
_KNOWN = {
    "silu": jax.nn.silu,
    "gelu_tanh": lambda x: jax.nn.gelu(x, approximate=True),
    "gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "selu": jax.nn.selu,
    "elu": jax.nn.elu,
    "softplus": jax.nn.softplus,
    "leaky": lambda x: jax.nn.leaky_relu(x, _ANY_NUMBER),
}


def recognised(value: Value) -> tuple[str, Value, Any] | None:
    """Name, argument and slope of the known function that a value is, or None."""
    for name, (start, end) in _formulas(str(value.dtype)).items():
        if end.name != value.name:
            continue
        found: dict[str, Any] = {}
        if _same(value, end, start, found):
            return name, found["x"], found.get("slope")
    return None


@functools.cache
def _formulas(dtype: str) -> dict[str, tuple[Value, Value]]:
    made = {}
    with jax.ensure_compile_time_eval():
        for name, function in _KNOWN.items():
            x = jnp.zeros((1,), dtype)
            start, end, _ = traced(
                lambda _, x, f=function: (f(x), ()), (), x, training=False
            )
            while end.name == "copy":
                end = end.sources[0]
            made[name] = start, end
    return made


def _same(value: Value, formula: Value, start: Value, found: dict[str, Any]) -> bool:
    """Return whether a value is computed by the formula, from one ``x``."""
    if formula is start:
        return found.setdefault("x", value) is value and not value.constant
    if value.constant or formula.constant:
        return value.constant and formula.constant and _equal(value, formula, found)
    if value.name != formula.name or len(value.sources) != len(formula.sources):
        return False
    if any(value.params.get(key) != formula.params.get(key) for key in ("y", "axes")):
        return False
    pairs = zip(value.sources, formula.sources, strict=True)
    return all(_same(one, other, start, found) for one, other in pairs)


def _equal(value: Value, formula: Value, found: dict[str, Any]) -> bool:
    """Return whether two constants are the same number, known while tracing."""
    if isinstance(value.clean, jax.core.Tracer):
        return False
    number, wanted = np.unique(np.asarray(value.clean)), np.asarray(formula.clean)
    if number.size != 1:
        return False
    if wanted.size == 1 and abs(float(wanted.reshape(())) - _ANY_NUMBER) < 1e-6:
        return found.setdefault("slope", float(number[0])) == float(number[0])
    return bool(np.all(np.asarray(wanted) == number[0]))
