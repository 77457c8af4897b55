"""Initialisers for Bernstein coefficients, in the form JAX and Flax use.

Each function returns ``init(key, shape, dtype=float32)`` for coefficients of shape
``[W, n+1]`` or ``[n+1]``. The random ones scale with the number of neurons ``W``; the shaped
ones need the interval that the layer uses, which a layer fills in by itself when the
initialiser is given to it by name.

They can be pickled, as long as functions given to them can: what they return are functions
of this module with their first arguments filled in.
"""

import functools
from collections.abc import Callable
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike, DTypeLike

from jaxbern import poly


class Initializer(Protocol):
    """``init(key, shape, dtype) -> array`` of that shape."""

    def __call__(
        self, key: jax.Array, shape: tuple[int, ...], dtype: DTypeLike = jnp.float32
    ) -> jax.Array:
        """Draw coefficients ``[..., n+1]``."""
        ...


def smooth(std: float | None = None, degree: int = 3) -> Initializer:
    """A random polynomial of low degree, written in degree ``n``: the default.

    ``min(n, degree) + 1`` coefficients are drawn from a normal distribution and elevated
    to degree ``n``. Independent coefficients make a polynomial rougher as ``n`` grows, and
    deep networks stop learning; an elevated one is as smooth at ``n = 25`` as at 3.
    ``std`` is ``1 / W`` if not given.

    >>> smooth()(jax.random.key(0), (16, 26)).shape
    (16, 26)
    """

    return functools.partial(_smooth, std, degree)


def _smooth(std, degree, key, shape, dtype=jnp.float32):
    low = min(shape[-1] - 1, degree)
    drawn = normal(std)(key, (*shape[:-1], low + 1), dtype)
    return poly.elevate(drawn, shape[-1] - 1)


def normal(std: float | None = None) -> Initializer:
    """Independent coefficients, ``normal(0, std)``; ``std`` is ``1 / W`` if not given.

    >>> normal(0.1)(jax.random.key(0), (16, 10)).shape
    (16, 10)
    """

    return functools.partial(_normal, std)


def _normal(std, key, shape, dtype=jnp.float32):
    scale = 1 / _neurons(shape) if std is None else std
    return jax.random.normal(key, shape, dtype) * jnp.asarray(scale, dtype)


def xavier() -> Initializer:
    """Independent coefficients, ``normal(0, sqrt(2 / (W + n + 1)))``.

    >>> xavier()(jax.random.key(0), (16, 10)).shape
    (16, 10)
    """

    return _xavier


def _xavier(key, shape, dtype=jnp.float32):
    return normal((2 / (_neurons(shape) + shape[-1])) ** 0.5)(key, shape, dtype)


def from_function(
    f: Callable,
    *,
    lower: ArrayLike = -3.0,
    upper: ArrayLike = 3.0,
    method: str = "lstsq",
) -> Initializer:
    """Every neuron starts as the polynomial nearest to ``f``; ``key`` is not used.

    ``method`` is that of :func:`jaxbern.poly.from_function`.

    >>> init = from_function(jax.nn.gelu)
    >>> init(jax.random.key(0), (16, 10)).shape
    (16, 10)
    """

    return functools.partial(_from_function, f, lower, upper, method)


def _from_function(f, lower, upper, method, key, shape, dtype=jnp.float32):
    del key
    ends = {"lower": lower, "upper": upper}
    coeffs = poly.from_function(f, shape[-1] - 1, method=method, **ends)
    return jnp.broadcast_to(coeffs.astype(dtype), shape)


def _same(x):
    return x


def identity(*, lower: ArrayLike = -3.0, upper: ArrayLike = 3.0) -> Initializer:
    """``sigma(x) = x`` on the interval, exactly.

    >>> identity()(jax.random.key(0), (4,)).tolist()
    [-3.0, -1.0, 1.0, 3.0]
    """
    return from_function(_same, lower=lower, upper=upper, method="bernstein")


def relu(*, lower: ArrayLike = -3.0, upper: ArrayLike = 3.0) -> Initializer:
    """A smoothed ``relu``: convex, increasing, never below zero.

    It is the Bernstein approximation, which has these properties at every degree; the
    least-squares fit is closer to the kink and has coefficients that grow like ``2^n``.

    >>> relu()(jax.random.key(0), (4,)).tolist()
    [0.0, 0.0, 1.0, 3.0]
    """
    return from_function(
        functools.partial(np.maximum, 0.0),
        lower=lower,
        upper=upper,
        method="bernstein",
    )


def ramp() -> Initializer:
    """A straight line from 0 at the lower end to 1 at the upper end.

    >>> ramp()(jax.random.key(0), (5,)).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    return from_function(_same, lower=0.0, upper=1.0, method="bernstein")


_RANDOM = {"smooth": smooth, "normal": normal, "xavier": xavier, "ramp": ramp}
_SHAPED = {"identity": identity, "relu": relu}


def get(init: str | Initializer, lower: ArrayLike, upper: ArrayLike) -> Initializer:
    """An initialiser by name, for the interval of the layer; or the one given."""
    if callable(init):
        return init
    if init in _RANDOM:
        return _RANDOM[init]()
    if init in _SHAPED:
        return _SHAPED[init](lower=lower, upper=upper)
    names = ", ".join(map(repr, sorted(_RANDOM | _SHAPED)))
    raise ValueError(
        f"init must be one of {names}, or a function init(key, shape, dtype) such as "
        f"jb.initializers.from_function(f); got {init!r}"
    )


def _neurons(shape: tuple[int, ...]) -> int:
    return max(1, shape[-2] if len(shape) > 1 else 1)
