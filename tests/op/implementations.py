"""The implementations that the contract suite runs over.

The GPU kernels run interpreted here, which tests their semantics without machine code. The
quick check runs one of them, Pallas, as all share their packing and gradients; the tests in
``tests/kernels`` run each by itself.
"""

import importlib.util

import pytest

IMPLEMENTATIONS = [
    "xla",
    "pallas:interpret",
    pytest.param("mosaic:interpret", marks=pytest.mark.slow),
    pytest.param(
        "triton:interpret",
        marks=[
            pytest.mark.slow,
            pytest.mark.skipif(
                importlib.util.find_spec("triton") is None,
                reason="triton is not installed",
            ),
        ],
    ),
]
