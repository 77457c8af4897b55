"""Figures without ``pyplot``, and the colours that all pictures share."""

import importlib
from typing import Any

# Okabe and Ito's palette: told apart with any colour vision.
CURVE = "#0072B2"
CONTROL = "#D55E00"
OUTSIDE = "#CC79A7"
INPUTS = "#9A9A9A"
FAINT = "#E9E9E9"
CLASSES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
MARKERS = ("o", "^", "s", "D", "v", "P")
TIME = "cividis"  # one hue after another, even in grey


def figure(width: float, height: float) -> Any:
    """An empty figure in inches, that no window knows of."""
    return matplotlib("figure").Figure(figsize=(width, height), layout="constrained")


def matplotlib(module: str) -> Any:
    """A part of matplotlib, or an error that says how to install it."""
    try:
        return importlib.import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError(
            "jaxbern.plot needs matplotlib, which is not installed: "
            'pip install "jaxbern[plot]"'
        ) from error


def bare(axis: Any) -> None:
    """Only the frame that is read from."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)
