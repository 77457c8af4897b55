"""Kernels of the Bernstein operator: one contract, several implementations.

This directory is installed as ``jaxbern.kernels`` and imports nothing else of jaxbern.
Start with ``gradient``: the operator and its gradient. ``primitives`` makes them work
under every transform, ``taylor`` in Taylor mode; ``lowering`` and ``partition`` bring a call
to the ``backends``, of which ``xla`` runs everywhere.
"""

if __name__ != "jaxbern.kernels":
    # Run from the repository's root, `import kernels` would load a second copy of
    # every primitive under another name, and the two would not know each other.
    raise ImportError(
        f"this package is `jaxbern.kernels`, not `{__name__}`: "
        "install the repository (`pip install -e .`) and `import jaxbern.kernels`"
    )

# With these come the rules by which JAX differentiates the operator.
from jaxbern.kernels import gradient as gradient
from jaxbern.kernels import taylor as taylor
