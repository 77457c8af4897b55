"""Shapes and dtypes in annotations, as in ``Float[Array, "*batch width"]``.

The notation is jaxtyping's: ``*batch`` is any number of axes, ``*#batch`` axes that
broadcast along them, ``""`` a scalar. jaxtyping itself is not needed to run: unless it was
imported before, ``Float[Array, ...]`` is ``Array``. The tests run with it, and with a type
checker that compares every call with its annotations (``tests/project/test_shapes.py``).
"""

import sys
from typing import TYPE_CHECKING, Any

from jax import Array as Array
from jax.typing import ArrayLike as ArrayLike

# Of an interval: one number, or one for each neuron. A layer keeps several as a tuple.
Ends = ArrayLike | tuple[float, ...]

if TYPE_CHECKING:
    from jaxtyping import Bool as Bool
    from jaxtyping import Float as Float
    from jaxtyping import Int as Int
    from jaxtyping import Shaped as Shaped
elif found := sys.modules.get("jaxtyping"):
    Bool, Float, Int, Shaped = found.Bool, found.Float, found.Int, found.Shaped
else:

    class Shaped:
        """An array of any dtype, with no check of its shape."""

        def __class_getitem__(cls, item: tuple[Any, str]) -> Any:
            """The type of the array alone."""
            return item[0]

    class Float(Shaped):
        """An array of floating-point numbers."""

    class Int(Shaped):
        """An array of integers."""

    class Bool(Shaped):
        """An array of truth values."""
