"""``Dataset``: features, labels and column names, from any source."""

import dataclasses
import hashlib

import numpy as np

from jaxbern.data._errors import DataError


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Events for a classifier of signal (1) against background (0).

    Attributes:
      name: name of the data, such as ``"higgs"``.
      x: the features, float32 ``[N, d]``; a read-only memory map if they come from a file.
      y: the labels, uint8 ``[N]``, each 0 or 1.
      columns: the names of the ``d`` features.
      fingerprint: a hash of the contents, which identifies the data of a result.

    >>> import numpy as np
    >>> from jaxbern.data import Dataset
    >>> x = np.zeros((4, 2), np.float32)
    >>> data = Dataset.from_arrays("toy", x, np.array([0, 1, 1, 1], np.uint8), ("a", "b"))
    >>> data
    Dataset('toy', 4 events x 2 features, 75.0% signal, fingerprint d134f91f2f11e47e)
    >>> len(data)
    4
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    columns: tuple[str, ...]
    fingerprint: str

    @classmethod
    def from_arrays(
        cls, name: str, x: np.ndarray, y: np.ndarray, columns: tuple[str, ...]
    ) -> "Dataset":
        """Create a data set from arrays in memory; its fingerprint is computed."""
        contents = Fingerprint(columns)
        contents.update(x, y)
        return cls(name, x, y, columns, contents.hexdigest())

    def __post_init__(self):
        x, y = self.x, self.y
        if x.ndim != 2 or x.dtype != np.float32:
            raise DataError(
                f"x must be float32 of shape [events, features], got {x.dtype} "
                f"{list(x.shape)}; convert with x.astype(np.float32)"
            )
        if y.shape != x.shape[:1] or y.dtype != np.uint8:
            raise DataError(
                f"y must be uint8 with one label per event, [{len(x)}], got {y.dtype} "
                f"{list(y.shape)}; convert with y.astype(np.uint8)"
            )
        if len(self.columns) != x.shape[1]:
            raise DataError(
                f"there must be one name per feature: x has {x.shape[1]} features, "
                f"columns has {len(self.columns)} names"
            )
        if y.size and y.max() > 1:
            raise DataError(f"labels must be 0 or 1, got {y.max()}")

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        events, features = self.x.shape
        signal = f"{np.mean(self.y):.1%} signal, " if events else ""
        return (
            f"Dataset({self.name!r}, {events:,} events x {features} features, "
            f"{signal}fingerprint {self.fingerprint})"
        )


class Fingerprint:
    """A hash of features, labels and column names, updated block by block.

    The same events have the same fingerprint, independent of file, format and block size.
    """

    def __init__(self, columns: tuple[str, ...]):
        """Start an empty fingerprint."""
        self._columns = columns
        self._x, self._y = hashlib.sha256(), hashlib.sha256()

    def update(self, x: np.ndarray, y: np.ndarray) -> None:
        """Add the next rows."""
        self._x.update(np.ascontiguousarray(x, "<f4").data)
        self._y.update(np.ascontiguousarray(y, np.uint8).data)

    def hexdigest(self) -> str:
        """Return the fingerprint of the rows so far, sixteen characters."""
        parts = ["\n".join(self._columns), self._x.hexdigest(), self._y.hexdigest()]
        return hashlib.sha256("\n\n".join(parts).encode()).hexdigest()[:16]
