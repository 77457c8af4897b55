"""Shared parts of command lines: the parser of an experiment, and option types."""

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path


def parser(name: str, description: str) -> argparse.ArgumentParser:
    """Return the parser of ``python -m experiments NAME``; keeps line breaks of texts."""
    return argparse.ArgumentParser(
        prog=f"python -m experiments {name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_out(to: argparse.ArgumentParser, folder: str) -> None:
    """Add ``--out``, the folder that results are written to."""
    to.add_argument(
        "--out", type=Path, default=Path(folder), help="folder (%(default)s)"
    )


def positive(text: str) -> int:
    """Parse a whole number of at least 1.

    >>> positive("3")
    3
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(
            f"must be a whole number of at least 1, got {text!r}"
        )
    return int(text)


def numbers(text: str) -> list[int]:
    """Parse whole numbers of at least 1, separated by commas.

    >>> numbers("3,9")
    [3, 9]
    """
    words = text.split(",")
    if not all(word.isdecimal() and int(word) for word in words):
        raise argparse.ArgumentTypeError(
            f"must be whole numbers from 1 on, separated by commas, such as 3,9; got {text!r}"
        )
    return [int(word) for word in words]


def words_of(known: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a parser of known words separated by commas.

    >>> words_of(["relu", "gelu"])("gelu")
    ['gelu']
    """

    def parse(text: str) -> list[str]:
        for word in text.split(","):
            if word not in known:
                raise argparse.ArgumentTypeError(
                    f"there is no {word!r}; there are {', '.join(known)}"
                )
        return text.split(",")

    return parse


def activations(text: str) -> list[str]:
    """Parse names of activations: fixed ones, and ``bernstein:N`` for any degree."""
    # Imports JAX, which --help must not wait for.
    from experiments.sweep.grid import FIXED

    for word in text.split(","):
        if word not in FIXED and not re.fullmatch(r"bernstein:\d+", word):
            raise argparse.ArgumentTypeError(
                f"there is no {word!r}; there are {', '.join(FIXED)}, and bernstein:N for "
                "the degree N, such as bernstein:9"
            )
    return text.split(",")


def size(text: str) -> str:
    """Parse a network size, layers x neurons.

    >>> size("5x32")
    '5x32'
    """
    if not re.fullmatch(r"[1-9]\d*x[1-9]\d*", text):
        raise argparse.ArgumentTypeError(
            f"must be layers x neurons, such as 5x32, got {text!r}"
        )
    return text


def sizes(text: str) -> list[str]:
    """Parse several network sizes, separated by commas."""
    return [size(word) for word in text.split(",")]
