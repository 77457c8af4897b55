"""Settings that all cells of a store share: the training options and the events.

The first sweep writes each to a file and every later sweep is compared with it, so that a
store never mixes results that cannot be compared.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from experiments.sweep.cell_record import CellResult
from experiments.sweep.sweep_events import Events
from jaxbern.io import temporary_name
from jaxbern.train import TrainConfig

SETTINGS = "settings"


class OtherSettings(ValueError):
    """Raised when a store was made with other settings; the text shows the differences."""


def agree(
    root: Path, training: Mapping[str, Any], events: Mapping[str, Events]
) -> None:
    """Write the settings of a new store, or compare with those of an existing one.

    Args:
      root: the store.
      training: options of the training except the network.
      events: events of each data set; others may be added later.

    Raises:
      OtherSettings: the store was made with others.
    """
    wanted = {"training": dict(training)}
    wanted |= {dataset: of_set.about() for dataset, of_set in events.items()}
    differences = []
    for name, values in wanted.items():
        found = _write_once(root / SETTINGS / f"{name}.json", values)
        differences += _differences(name, found, values)
    _refuse(root, differences)


def check_results(
    root: Path, results: Iterable[CellResult], configs: Mapping[str, TrainConfig]
) -> None:
    """Raise OtherSettings if completed cells were trained with other options.

    ``configs`` has the configuration of each cell of this sweep, by name.
    """
    differences = []
    for result in results:
        name = result.cell.name
        found, wanted = result.about.get("config"), configs.get(name)
        if wanted is not None and found is not None:
            differences += _differences(name, found, wanted.to_dict())
    _refuse(root, differences)


def _refuse(root: Path, differences: list[str]) -> None:
    if differences:
        shown = differences[:12]
        if len(differences) > len(shown):
            shown.append(f"  and {len(differences) - len(shown)} more")
        raise OtherSettings(
            f"the store {root} is of other settings:\n"
            + "\n".join(shown)
            + "\nGive another directory with --store, or the options that it was made with"
        )


def _write_once(path: Path, values: dict[str, Any]) -> dict[str, Any]:
    """Write a file unless it exists; return its content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        new = temporary_name(path)
        try:
            new.write_text(json.dumps(values, indent=1) + "\n")
            os.link(new, path)
        except FileExistsError:
            pass  # another sweep was faster
        finally:
            new.unlink(missing_ok=True)
    try:
        found = json.loads(path.read_text())
        if not isinstance(found, dict):
            raise ValueError(f"it holds {type(found).__name__}, not settings")
        return found
    except ValueError as problem:
        raise OtherSettings(
            f"{path} is damaged ({problem}). Remove it: this sweep then writes it anew, and "
            "compares itself with each completed cell all the same"
        ) from problem


def _differences(
    what: str, found: Mapping[str, Any], wanted: Mapping[str, Any]
) -> list[str]:
    lines = []
    for name in sorted(found.keys() | wanted.keys()):
        there, here = found.get(name, "absent"), wanted.get(name, "absent")
        if isinstance(there, Mapping) and isinstance(here, Mapping):
            lines += _differences(f"{what}.{name}", there, here)
        elif there != here:
            lines.append(f"  {what}.{name}: {there} there, {here} here")
    return lines
