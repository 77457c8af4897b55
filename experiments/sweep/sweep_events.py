"""The events of a sweep."""

from pathlib import Path
from typing import NamedTuple

import jaxbern as jb
from experiments.sweep.presets import COLLIDER, PUBLISHED


class Events(NamedTuple):
    """The events of one data set.

    Attributes:
      source: where they are from, such as ``"higgs"`` or ``"collider:higgs"``.
      data: features and labels.
    """

    source: str
    data: jb.data.Dataset

    def about(self) -> dict:
        """Return what a result records about its events."""
        return {
            "source": self.source,
            "events": len(self.data),
            "fingerprint": self.data.fingerprint,
        }


def load(
    dataset: str, source: str, rows: int | None, *, download: bool = True
) -> Events:
    """Load events with the columns of a data set.

    Args:
      dataset: ``"higgs"`` or ``"susy"``.
      source: ``"collider"``: simulated; ``"published"``: as ``jb.data.load("higgs")``
        finds or downloads them; or the path of a directory that holds ``HIGGS.csv.gz``
        and ``SUSY.csv.gz``, or of a file.
      rows: number of events to keep or simulate.
      download: whether to download them if they are not found.

    Raises:
      jb.data.DataError: they are not available; the text says what to do.
    """
    if source == COLLIDER:
        name = f"collider:{dataset}"
        return Events(name, jb.data.load(name, rows=rows))
    if source == PUBLISHED:
        return Events(dataset, jb.data.load(dataset, rows=rows, download=download))
    path = Path(source).expanduser()
    if not path.exists():
        raise jb.data.DataError(
            f"--data must be {COLLIDER!r}, {PUBLISHED!r}, or the path of a directory with "
            f"HIGGS.csv.gz and SUSY.csv.gz, got {source!r}, which does not exist"
        )
    by_name = {"higgs": jb.data.higgs, "susy": jb.data.susy}
    return Events(dataset, by_name[dataset](path, rows=rows))
