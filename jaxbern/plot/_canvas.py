"""Figures without ``pyplot``, and the colours that all pictures share."""

import importlib
from typing import Any

# Okabe and Ito's palette, distinguishable with any colour vision.
CURVE = "#0072B2"
CONTROL = "#D55E00"
OUTSIDE = "#CC79A7"
INPUTS = "#9A9A9A"
FAINT = "#E9E9E9"
CLASSES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
MARKERS = ("o", "^", "s", "D", "v", "P")
TIME = "cividis"  # perceptually uniform, also in grey


def figure(width: float, height: float) -> Any:
    """Return an empty figure, size in inches, not attached to a window."""
    return matplotlib("figure").Figure(figsize=(width, height), layout="constrained")


def matplotlib(module: str) -> Any:
    """Import a module of matplotlib; the error says how to install it."""
    try:
        return importlib.import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError(
            "jaxbern.plot needs matplotlib, which is not installed: "
            'pip install "jaxbern[plot]"'
        ) from error


def bare(axis: Any) -> None:
    """Hide the upper and right spines."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)
