"""The events of a sweep."""

from pathlib import Path
from typing import NamedTuple

import jaxbern as jb
from experiments.sweep.presets import COLLIDER, PUBLISHED


class Events(NamedTuple):
    """Those of one data set.

    Attributes:
      source: what they are, such as ``"higgs"`` or ``"collider:higgs"``.
      data: themselves.
    """

    source: str
    data: jb.data.Dataset

    def about(self) -> dict:
        """What results say of the events they are from."""
        return {
            "source": self.source,
            "events": len(self.data),
            "fingerprint": self.data.fingerprint,
        }


def load(
    dataset: str, source: str, rows: int | None, *, download: bool = True
) -> Events:
    """Events with the columns of a data set.

    Args:
      dataset: ``"higgs"`` or ``"susy"``.
      source: ``"collider"``: simulated; ``"published"``: as ``jb.data.load("higgs")``
        finds or downloads them; or the path of a directory that holds ``HIGGS.csv.gz``
        and ``SUSY.csv.gz``, or of a file.
      rows: number of events to keep or simulate.
      download: whether they may be downloaded if they are nowhere to be found.

    Raises:
      jb.data.DataError: they cannot be had; the text says what to do.
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
