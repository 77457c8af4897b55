"""Compiling takes most of the time of the tests, and few programs need to be fast."""

import functools

import jax

QUICKLY = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
}
# As users get it, even where JAX is told to optimise little.
FULLY = {
    "xla_backend_optimization_level": 3,
    "xla_llvm_disable_expensive_passes": False,
}
# For what is compiled once and run once or twice. One program of many operations is
# compiled much faster than the same operations one by one, outside of ``jit``.
quickly = functools.partial(jax.jit, compiler_options=QUICKLY)
