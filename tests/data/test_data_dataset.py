"""What a data set promises, whatever it comes from."""

import dataclasses

import numpy as np
import pytest

from jaxbern.data import DataError, Dataset
from jaxbern.data._dataset import Fingerprint

X = np.arange(12, dtype=np.float32).reshape(6, 2)
Y = np.array([0, 1, 1, 0, 1, 1], np.uint8)
NAMES = ("a", "b")


def test_it_says_what_it_is():
    data = Dataset("toy", X, Y, NAMES, "f00")
    assert len(data) == 6
    shown = "Dataset('toy', 6 events x 2 features, 66.7% signal, fingerprint f00)"
    assert repr(data) == shown


def test_it_cannot_be_changed():
    data = Dataset("toy", X, Y, NAMES, "f00")
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    "x, y, names, message",
    [
        (X.astype(np.float64), Y, NAMES, r"x must be float32 .* got float64 \[6, 2\]"),
        (X[0], Y, NAMES, r"\[events, features\], got float32 \[2\]"),
        (X, Y.astype(np.int32), NAMES, r"y must be uint8 .* got int32 \[6\]"),
        (X, Y[1:], NAMES, r"one label per event, \[6\], got uint8 \[5\]"),
        (X, Y, ("a",), "x has 2 features, columns has 1 names"),
        (X, Y + np.uint8(1), NAMES, "labels must be 0 or 1, got 2"),
    ],
)
def test_wrong_arrays_are_refused(x, y, names, message):
    with pytest.raises(DataError, match=message):
        Dataset("toy", x, y, names, "f00")


def test_fingerprint_does_not_depend_on_the_blocks():
    whole = Dataset.from_arrays("toy", X, Y, NAMES).fingerprint
    contents = Fingerprint(NAMES)
    for start, end in ((0, 1), (1, 4), (4, 6)):
        contents.update(X[start:end], Y[start:end])
    assert contents.hexdigest() == whole
    assert (
        Dataset.from_arrays("other", np.asfortranarray(X), Y, NAMES).fingerprint
        == whole
    )


@pytest.mark.parametrize(
    "x, y, names",
    [
        (X + np.float32(1), Y, NAMES),
        (X[::-1], Y, NAMES),
        (X, Y[::-1], NAMES),
        (X, Y, ("b", "a")),
        (X[:5], Y[:5], NAMES),
        (np.where(X == 0, np.float32(-0.0), X), Y, NAMES),
    ],
)
def test_fingerprint_sees_every_change(x, y, names):
    whole = Dataset.from_arrays("toy", X, Y, NAMES).fingerprint
    assert Dataset.from_arrays("toy", x, y, names).fingerprint != whole
