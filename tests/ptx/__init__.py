"""Executes PTX kernels on the CPU, one instruction at a time.

Threads are the elements of NumPy arrays; several blocks run at once. The machine
knows what compilers emit for elementwise and reduction kernels, refuses everything
else, and checks what a GPU would not: bounds, alignment, undefined values, races.
"""

from .errors import (
    Divergence,
    Endless,
    MemoryFault,
    PtxError,
    Race,
    Undefined,
    Unsupported,
)
from .kernel import InOut, Kernel, OutputSpec, Result, classify

__all__ = [
    "Divergence",
    "Endless",
    "InOut",
    "Kernel",
    "MemoryFault",
    "OutputSpec",
    "PtxError",
    "Race",
    "Result",
    "Undefined",
    "Unsupported",
    "classify",
]
