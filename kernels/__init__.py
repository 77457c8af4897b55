"""Kernels of the Bernstein operator: one contract, several implementations.

This directory is installed as ``jaxbern.kernels`` and imports nothing else of
jaxbern. ``primitives`` holds the JAX primitives with their derivative and batching
rules, ``xla`` the implementation that runs everywhere.
"""

if __name__ != "jaxbern.kernels":
    # Run from the repository's root, `import kernels` would load a second copy of
    # every primitive under another name, and the two would not know each other.
    raise ImportError(
        f"this package is `jaxbern.kernels`, not `{__name__}`: "
        "install the repository (`pip install -e .`) and `import jaxbern.kernels`"
    )
