"""The implementations that the contract suite runs over.

The GPU kernels run interpreted here, which tests their semantics without machine code.
"""

import importlib.util

import pytest

IMPLEMENTATIONS = [
    "xla",
    "pallas:interpret",
    pytest.param("mosaic:interpret", marks=pytest.mark.slow),
    pytest.param(
        "triton:interpret",
        marks=pytest.mark.skipif(
            importlib.util.find_spec("triton") is None, reason="triton is not installed"
        ),
    ),
]
