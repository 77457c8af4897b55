"""Cheap compilation for tests: compiling dominates, and few programs need to be fast."""

import functools

import jax

QUICKLY = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
}
# XLA's defaults, as users have them, overriding ``FLAGS``.
FULLY = {
    "xla_backend_optimization_level": 3,
    "xla_llvm_disable_expensive_passes": False,
}
if jax.__version_info__ < (0, 11):  # newer versions have one kind of emitters only
    QUICKLY["xla_cpu_use_fusion_emitters"] = False
    FULLY["xla_cpu_use_fusion_emitters"] = True

# The same as ``QUICKLY``, for every program of the tests; takes a third of the time.
FLAGS = " ".join(f"--{name}={str(value).lower()}" for name, value in QUICKLY.items())

# For programs that run once or twice. One program of many operations compiles much faster
# than the same operations one by one, outside of ``jit``.
quickly = functools.partial(jax.jit, compiler_options=QUICKLY)
