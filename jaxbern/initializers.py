"""Initialisers for Bernstein coefficients, in the form JAX and Flax use.

Each function returns ``init(key, shape, dtype=float32)`` for coefficients of shape
``[W, n+1]`` or ``[n+1]``. A layer passes its own interval to them unless they were given
one; called directly they use the operator's defaults, ``[-3, 3]`` and ``"clamp"``.

Initialisers can be pickled if the functions given to them can: they are partial
applications of functions of this module.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jaxbern import _starts, poly
from jaxbern.kernels.array_types import Ends

# Functions that a layer can start as, by name: ``init="silu"``.
FUNCTIONS: dict[str, Callable] = {
    name: getattr(jax.nn, name)
    for name in (
        "silu", "gelu", "relu", "leaky_relu", "elu", "celu", "selu", "softplus",
        "sigmoid", "mish", "soft_sign",
    )
} | {"tanh": jnp.tanh, "sin": jnp.sin}  # fmt: skip


@runtime_checkable
class Initializer(Protocol):
    """The signature of an initialiser: ``init(key, shape, dtype)`` returns an array."""

    def __call__(
        self, key: jax.Array, shape: tuple[int, ...], dtype: DTypeLike = jnp.float32
    ) -> jax.Array:
        """Draw coefficients ``[..., n+1]``."""
        ...


@dataclasses.dataclass(frozen=True)
class _OnInterval:
    """An initialiser that depends on the interval; the layer fills in what is None."""

    draw: Callable
    lower: Ends | None = None
    upper: Ends | None = None
    outside: str | None = None

    def on(self, lower: Ends, upper: Ends, outside: str) -> "_OnInterval":
        given = {"lower": lower, "upper": upper, "outside": outside}
        absent = {k: v for k, v in given.items() if getattr(self, k) is None}
        return dataclasses.replace(self, **absent)

    def __call__(self, key, shape, dtype=jnp.float32):
        here = self.on(-3.0, 3.0, "clamp")
        return self.draw(key, shape, dtype, here.lower, here.upper, here.outside)


def smooth(std: float | None = None, degree: int = 3) -> Initializer:
    """Draw a random polynomial of low degree and elevate it to degree ``n``.

    ``min(n, degree) + 1`` coefficients are drawn from a normal distribution and elevated
    to degree ``n``. Independent coefficients make a polynomial rougher as ``n`` grows, and
    deep networks stop learning; an elevated one is as smooth at ``n = 25`` as at 3.
    ``std`` is the standard deviation of the drawn coefficients. If it is not given, each
    polynomial is shifted and scaled so that standard normal inputs give outputs of mean 0
    and variance 1.

    >>> smooth()(jax.random.key(0), (16, 26)).shape
    (16, 26)
    """
    return _unit_gain(std, functools.partial(_smooth, std, degree))


def _smooth(std, degree, key, shape, dtype=jnp.float32):
    low = min(shape[-1] - 1, degree)
    drawn = _normal(std, key, (*shape[:-1], low + 1), dtype)
    return poly.elevate(drawn, shape[-1] - 1)


def normal(std: float | None = None) -> Initializer:
    """Draw independent coefficients from ``normal(0, std)``; unit gain if ``std`` is None.

    >>> normal(0.1)(jax.random.key(0), (16, 10)).shape
    (16, 10)
    """
    return _unit_gain(std, functools.partial(_normal, std))


def _normal(std, key, shape, dtype=jnp.float32):
    scale = 1.0 if std is None else std
    return jax.random.normal(key, shape, dtype) * jnp.asarray(scale, dtype)


def xavier() -> Initializer:
    """Draw independent coefficients of unit gain, as :func:`normal` does.

    A ``jb.MLP`` with ``init="xavier"`` draws ``normal(0, sqrt(2 / (W + n + 1)))``.

    >>> xavier()(jax.random.key(0), (16, 10)).shape
    (16, 10)
    """
    return normal()


def paper() -> Initializer:
    """Initialise as the paper's networks: :func:`smooth` with standard deviation ``1 / W``.

    Use it with BatchNorm and skip connections. Without them the signal vanishes within a
    few layers, and sooner in wider networks.

    >>> paper()(jax.random.key(0), (16, 10)).shape
    (16, 10)
    """
    return _paper


def _paper(key, shape, dtype=jnp.float32):
    return _smooth(1 / _neurons(shape), 3, key, shape, dtype)


def from_function(
    f: Callable,
    *,
    lower: Ends | None = None,
    upper: Ends | None = None,
    method: str = "ends",
) -> Initializer:
    """Start every neuron as a polynomial near ``f``; ``key`` is not used.

    The same as ``init=f`` in a layer, with more options. ``method="ends"`` is the
    least-squares fit that keeps value and slope of ``f`` at both ends, so that
    ``outside="linear"`` continues it along its tangents; ``"lstsq"`` and ``"bernstein"`` are
    the methods of :func:`jaxbern.poly.from_function`. ``lower`` and ``upper`` default to
    those of the layer.

    >>> init = from_function(jax.nn.gelu)
    >>> init(jax.random.key(0), (16, 10)).shape
    (16, 10)
    """
    return _OnInterval(functools.partial(_from_function, f, method), lower, upper)


def _from_function(f, method, key, shape, dtype, lower, upper, outside):
    del key, outside
    degree = shape[-1] - 1
    if method == "ends":
        coeffs = jnp.asarray(_starts.fit(f, degree, lower, upper), dtype)
    else:
        ends = {"lower": lower, "upper": upper}
        coeffs = poly.from_function(f, degree, method=method, **ends).astype(dtype)
    return jnp.broadcast_to(coeffs, shape)


def _same(x):
    return x


def _at_least_zero(x):
    return np.maximum(x, 0.0)


def identity(*, lower: Ends | None = None, upper: Ends | None = None) -> Initializer:
    """Start as ``sigma(x) = x`` on the interval, exactly.

    >>> identity()(jax.random.key(0), (4,)).tolist()
    [-3.0, -1.0, 1.0, 3.0]
    """
    return from_function(_same, lower=lower, upper=upper, method="bernstein")


def relu(*, lower: Ends | None = None, upper: Ends | None = None) -> Initializer:
    """Start as the polynomial nearest to ``relu``, as ``init="relu"`` does in a layer.

    ``from_function(jax.nn.relu, method="bernstein")`` is less close at the kink but convex,
    increasing and never below zero, at every degree.

    >>> relu()(jax.random.key(0), (4,)).tolist()
    [0.0, 0.0, 1.0, 3.0]
    """
    return from_function(_at_least_zero, lower=lower, upper=upper)


def ramp() -> Initializer:
    """Start as a straight line from 0 at the lower end to 1 at the upper end.

    >>> ramp()(jax.random.key(0), (5,)).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    return from_function(_same, lower=0.0, upper=1.0, method="bernstein")


def get(
    init: str | Callable,
    lower: Ends,
    upper: Ends,
    outside: str = "clamp",
) -> Initializer:
    """Return the initialiser for ``init``: a name, a function ``f(x)`` or an initialiser.

    >>> get("silu", -4.0, 4.0)(jax.random.key(0), (10,)).shape
    (10,)
    """
    if isinstance(init, str):
        found = _by_name(init)
    elif callable(init):
        found = from_function(init) if _starts.is_scalar_function(init) else init
    else:
        raise TypeError(
            'init must be a name such as "silu", a function of x such as jax.nn.silu, '
            f"or an initialiser init(key, shape, dtype); got {init!r}"
        )
    return found.on(lower, upper, outside) if isinstance(found, _OnInterval) else found


def of_network(init: str | Callable) -> str | Callable:
    """Replace names by their meaning in ``jb.MLP``: as in the paper, scaled by the width."""
    return _OF_NETWORKS.get(init, init) if isinstance(init, str) else init


_NAMED = {
    "smooth": smooth, "normal": normal, "xavier": xavier, "paper": paper,
    "identity": identity, "ramp": ramp,
}  # fmt: skip


def _by_name(name: str) -> Initializer:
    if name in _NAMED:
        return _NAMED[name]()
    if name in FUNCTIONS:
        return from_function(FUNCTIONS[name])
    names = ", ".join(map(repr, (*FUNCTIONS, *_NAMED)))
    raise ValueError(
        f"init must be one of {names}, a function of x such as jax.nn.silu, or an "
        f"initialiser init(key, shape, dtype); got {name!r}"
    )


def _unit_gain(std: float | None, draw: Initializer) -> Initializer:
    """Scale what ``draw`` draws to unit gain, unless ``std`` fixes its deviation."""
    return draw if std is not None else _OnInterval(functools.partial(_scaled, draw))


def _scaled(draw, key, shape, dtype, lower, upper, outside):
    return _starts.standardised(draw(key, shape, dtype), lower, upper, outside)


def _narrow_normal(key, shape, dtype=jnp.float32):
    return _normal(1 / _neurons(shape), key, shape, dtype)


def _narrow_xavier(key, shape, dtype=jnp.float32):
    return _normal((2 / (_neurons(shape) + shape[-1])) ** 0.5, key, shape, dtype)


def _neurons(shape: tuple[int, ...]) -> int:
    return max(1, shape[-2] if len(shape) > 1 else 1)


_OF_NETWORKS = {
    "smooth": paper(),
    "normal": _narrow_normal,
    "xavier": _narrow_xavier,
    "relu": from_function(_at_least_zero, method="bernstein"),
}
