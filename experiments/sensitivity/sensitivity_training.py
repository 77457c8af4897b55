"""Train a study into one store per setting, as a sweep does.

A study that was killed continues where it was, and ``python -m experiments report --store
.../stores/NAME`` reports on one setting in full.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import jaxbern as jb
from experiments.sensitivity.sensitivity_study import Setting, Settings
from experiments.sweep import (
    cell_store,
    sweep_events,
    sweep_local,
    sweep_settings,
)
from experiments.sweep.cell_record import CellResult
from experiments.sweep.cell_training import Job, Outcome
from experiments.sweep.presets import COLLIDER, PUBLISHED
from experiments.sweep.sweep_events import Events
from experiments.sweep.sweep_progress import Progress

STORES = "stores"
JOBS = 2  # at a time on CPUs


class Failed(RuntimeError):
    """Raised when a cell could not be trained; the text says why."""


def load(source: str | None, rows: int) -> Events:
    """Load HIGGS events from a source, as a sweep does.

    Without a source: events found on this machine, else simulated ones.
    """
    if source is not None:
        return sweep_events.load("higgs", source, rows)
    try:
        return sweep_events.load("higgs", PUBLISHED, rows, download=False)
    except jb.data.DataError:
        return sweep_events.load("higgs", COLLIDER, rows)


def train(
    study: Settings,
    given: Events,
    out: Path,
    done: Callable[[str], None] = lambda what: None,
) -> dict[str, list[CellResult]]:
    """Return the results of each setting by name, training what is missing.

    Args:
      study: what to train.
      given: the events.
      out: the directory of the stores.
      done: told of every cell.

    Raises:
      OtherSettings: the directory holds a study by other rules.
      Failed: a cell could not be trained.
    """
    every = study.every_setting
    jobs = [job for setting in every for job in _jobs(study, setting, given, out)]
    at_once = sweep_local.default_at_once(JOBS)
    programs = out / cell_store.COMPILED
    outcomes = sweep_local.run(jobs, _Told(done), programs, at_once=at_once)
    if failed := [each for each in outcomes if each.kind == "failed"]:
        raise Failed("\n".join(f"{each.cell.name}: {each.text}" for each in failed))
    return {
        setting.name: [
            result
            for result in cell_store.read(store(out, setting)).results
            if result.cell in study.cells(setting)
        ]
        for setting in every
    }


def _jobs(study: Settings, setting: Setting, given: Events, out: Path) -> Sequence[Job]:
    root, cells = store(out, setting), study.cells(setting)
    configs = {cell.name: study.config(setting, cell) for cell in cells}
    options = configs[cells[0].name].to_dict()
    shared = {name: value for name, value in options.items() if name != "network"}
    sweep_settings.agree(root, shared, {"higgs": given})
    sweep_settings.check_results(root, cell_store.read(root).results, configs)
    return [
        Job(root, cell, configs[cell.name], given, {"setting": setting.name})
        for cell in cells
    ]


def store(out: Path, setting: Setting) -> Path:
    """Return the directory of a setting's cells."""
    return (out / STORES / setting.name).resolve()


class _Told(Progress):
    """Reports cells that have ended; a cell may end under several settings."""

    def __init__(self, done: Callable[[str], None]):
        super().__init__({}, 0, live=False)
        self._tell = done

    def outcome(self, outcome: Outcome) -> None:
        if outcome.kind not in ("busy", "stopped"):
            self._tell(outcome.cell.name)
