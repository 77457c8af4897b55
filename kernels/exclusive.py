"""Kernel calls that must change global state while they are lowered.

Two compilers give us no other way to tell them something. One lock for all, as two
threads that interleave would each restore what the other had set.
"""

import contextlib
import threading
from collections.abc import Callable, Sequence

import jax
from jax.extend.core import Primitive
from jax.interpreters import mlir

from jaxbern.kernels.lowering import eager

_lock = threading.RLock()


def exclusively(
    name: str, state: Callable[[], contextlib.AbstractContextManager]
) -> Callable[..., Sequence[jax.Array]]:
    """A function ``bind(run, results, *args)`` that gives ``run(*args)``.

    ``run`` is traced and lowered inside ``state()``, long after the call, and alone.
    ``results`` are its shapes and dtypes. ``name`` is that of the primitive.
    """
    primitive = Primitive(name)
    primitive.multiple_results = True
    primitive.def_impl(eager(primitive))

    @primitive.def_abstract_eval
    def _(x, *args, run, results):
        return [
            x.update(shape=r.shape, dtype=r.dtype, weak_type=False) for r in results
        ]

    def lower(ctx, *args, run, results):
        del results
        with _lock, state():
            return mlir.lower_fun(run, multiple_results=True)(ctx, *args)

    mlir.register_lowering(primitive, lower)

    def bind(run, results, *args):
        return primitive.bind(*args, run=run, results=tuple(results))

    return bind
