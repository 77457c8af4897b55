"""Let callers select an implementation: by argument, context or environment."""

import contextlib
import contextvars
import os
from collections.abc import Iterator

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from jaxbern.kernels import backends

_ENVIRONMENT = "JAXBERN_IMPLEMENTATION"
_context: contextvars.ContextVar[str | None] = contextvars.ContextVar(
    "jaxbern_implementation", default=None
)


@contextlib.contextmanager
def implementation(name: str) -> Iterator[None]:
    """Use one implementation for every call traced inside the ``with`` block.

    An ``implementation=`` argument still wins; the environment variable
    ``JAXBERN_IMPLEMENTATION`` has the lowest priority. A function that JAX has already
    traced keeps the implementation it was traced with.

    >>> import jax.numpy as jnp, jaxbern as jb
    >>> with jb.implementation("xla"):
    ...     jb.bernstein(jnp.zeros(2), jnp.ones(4)).tolist()
    [1.0, 1.0]
    """
    token = _context.set(_checked(name, "implementation(name)"))
    try:
        yield
    finally:
        _context.reset(token)


def explain(
    *,
    degree: int = 9,
    dtype: DTypeLike = jnp.float32,
    platform: str | None = None,
    implementation: str | None = None,
) -> str:
    """Say in one line which implementation a call would use, and why.

    ``platform`` defaults to that of JAX's first device. Raises ``NotImplementedError``, as
    the call itself would, if the named implementation cannot run.

    >>> import jaxbern as jb
    >>> jb.explain(platform="cpu")
    "xla: the kernels are for CUDA and this program is compiled for 'cpu'"
    """
    if platform is None:
        platform = backends.platform_of(jax.devices()[0])
    arithmetic = jnp.dtype(jnp.float64 if dtype == jnp.float64 else jnp.float32)
    choice = backends.choose(requested(implementation), platform, arithmetic, degree)
    return f"{choice.name}: {choice.reason}"


def requested(name: str | None) -> str:
    """Return the name requested by argument, context or environment; else auto."""
    if name is not None:
        return _checked(name, "implementation=")
    if (name := _context.get()) is not None:
        return name
    if name := os.environ.get(_ENVIRONMENT):
        return _checked(name, _ENVIRONMENT)
    return backends.AUTO


def _checked(name: str, source: str) -> str:
    if name not in backends.names() + backends.INTERPRETED:
        raise ValueError(
            f"{source} must be one of {', '.join(map(repr, backends.names()))}, "
            f"or left out for the best available; got {name!r}"
        )
    return name
