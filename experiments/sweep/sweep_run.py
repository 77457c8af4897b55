"""``run``: train a sweep, from its options to its outcomes."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import jaxbern as jb
from experiments.sweep import (
    cell_order,
    cell_store,
    sweep_events,
    sweep_local,
    sweep_settings,
)
from experiments.sweep.cell_training import Job, Outcome, disk_full, outcome
from experiments.sweep.grid import Cell
from experiments.sweep.grid_filter import Filter
from experiments.sweep.presets import PRESETS
from experiments.sweep.sweep_progress import Progress
from jaxbern.io import bar_wanted

DEFAULT_STORE = Path("results", "sweep")
Executor = Literal["local", "ray"]


@dataclasses.dataclass(frozen=True)
class Summary:
    """What a sweep did.

    Attributes:
      root: the store.
      outcomes: of every cell that was asked for.
      damaged: cells that were damaged, moved aside and trained again.
    """

    root: Path
    outcomes: list[Outcome]
    damaged: list[cell_store.Unfinished]

    @property
    def failed(self) -> list[Outcome]:
        """The cells that failed."""
        return [each for each in self.outcomes if each.kind != "done"]

    def __str__(self) -> str:
        done = len(self.outcomes) - len(self.failed)
        lines = [f"{done} of {len(self.outcomes)} cells completed, in {self.root}"]
        lines += [f"  {each.cell.name}: {each.text}" for each in self.failed]
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class Sweep:
    """What to sweep over.

    Attributes:
      preset: a name of :data:`experiments.sweep.presets.PRESETS`.
      part: filter of its cells.
      source: of the events, as :func:`experiments.sweep.sweep_events.load` takes it; if not
        given, the preset's.
      rows: how many events; if not given, the preset's.
      training: options of :class:`jb.train.TrainConfig` that differ from the preset's.
      shard: ``(i, N)``: only the i-th of N parts of about the same cost, from 1.
    """

    preset: str = "demo"
    part: Filter = dataclasses.field(default_factory=Filter)
    source: str | None = None
    rows: int | None = None
    training: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    shard: tuple[int, int] | None = None

    @functools.cached_property
    def cells(self) -> list[Cell]:
        """Return the cells in the order of training."""
        config = jb.train.TrainConfig(_ANY, **self.options)
        size = {"batch": config.batch_size, "epochs": config.epochs}
        preset = PRESETS[self.preset]
        cells = self.part.of(preset.cells())
        if not preset.in_order:
            cells = cell_order.ordered(cells, **size)
        return cell_order.shard(cells, *self.shard, **size) if self.shard else cells

    @property
    def options(self) -> dict[str, Any]:
        """Return the options of the training, except the network."""
        return {**PRESETS[self.preset].training, **self.training}

    def config(self, cell: Cell) -> jb.train.TrainConfig:
        """Return the configuration for training a cell."""
        return jb.train.TrainConfig(cell.network, **self.options)

    @property
    def where(self) -> tuple[str, int | None]:
        """Return the source of the events, and how many are taken from it."""
        preset = PRESETS[self.preset]
        own = self.source is None or self.source == preset.source
        rows = preset.rows if self.rows is None and own else self.rows
        return self.source or preset.source, rows

    def load(self) -> dict[str, sweep_events.Events]:
        """Load the events of each data set."""
        datasets = dict.fromkeys(cell.dataset for cell in self.cells)
        return {name: sweep_events.load(name, *self.where) for name in datasets}


_FEWEST = 8  # training rows: some of each class, and batches of two or more
_ANY = jb.train.NetworkConfig(1, 1, 1)


def run(
    sweep: Sweep,
    *,
    root: Path = DEFAULT_STORE,
    executor: Executor = "local",
    at_once: int | None = None,
    keep_compiled: bool = True,
    live: bool | None = None,
    callbacks: Sequence[Callable[[Cell], jb.train.Callback]] = (),
    checkpoint_seconds: float = 1.0,
    ray_options: Mapping[str, Any] | None = None,
) -> Summary:
    """Train the cells that are not completed, and go on with those that were begun.

    Args:
      sweep: what to train.
      root: the store.
      executor: ``"local"``, on this machine, or ``"ray"``.
      at_once: cells at a time on this machine; if not given, the preset's number on
        CPUs, else one for each device.
      keep_compiled: keep compiled programs in the store.
      live: show bars; if not given, on a terminal only.
      callbacks: each makes a callback of a training, given the cell. They are pickled
        for other processes: those of Ray, or of several cells at a time on CPUs.
      checkpoint_seconds: as in ``jb.train.fit``.
      ray_options: those of :func:`experiments.sweep.sweep_ray.run`.

    Raises:
      OtherSettings: the store was made with other settings.
      DiskFull: the disk is full.
      KeyboardInterrupt: after Ctrl-C; the same sweep continues later.
    """
    root = Path(root).resolve()
    if not sweep.cells:  # more shards than cells
        return Summary(root, [], [])
    loaded = sweep.load()
    _check_sizes(sweep.config(sweep.cells[0]), loaded)
    if executor == "local" and at_once is None:
        at_once = sweep_local.default_at_once(PRESETS[sweep.preset].jobs)
    about = {"preset": sweep.preset, "executor": executor, "at_once": at_once}
    try:
        reading = _open(root, sweep, loaded)
    except OSError as problem:
        raise disk_full(root, problem) or problem from problem
    found = [outcome(each) for each in reading.results]
    done = {each.cell for each in found}
    jobs = [
        Job(
            root,
            cell,
            sweep.config(cell),
            loaded[cell.dataset],
            about,
            callbacks,
            checkpoint_seconds,
        )
        for cell in sweep.cells
        if cell not in done
    ]
    programs = root / cell_store.COMPILED if keep_compiled else None
    with _progress(sweep, loaded, bar_wanted(live)) as progress:
        progress.found(found)
        for each in reading.damaged:
            progress.say(f"{each.name} is damaged: {each.reason}; it is trained again")
        if executor == "local":
            trained = sweep_local.run(jobs, progress, programs, at_once=at_once or 1)
        else:
            from experiments.sweep import sweep_ray

            trained = sweep_ray.run(jobs, progress, programs, **(ray_options or {}))
    return Summary(root, found + trained, reading.damaged)


def _open(
    root: Path, sweep: Sweep, loaded: Mapping[str, sweep_events.Events]
) -> cell_store.Reading:
    """Make the store or check its settings; return its results for cells of the sweep."""
    configs = {cell.name: sweep.config(cell) for cell in sweep.cells}
    options = sweep.config(sweep.cells[0]).to_dict()
    sweep_settings.agree(
        root, {k: v for k, v in options.items() if k != "network"}, loaded
    )
    reading = cell_store.read(root, thorough=True)
    sweep_settings.check_results(root, reading.results, configs)
    cell_store.remove_remains(root)
    cell_store.ask(root, sweep.cells, {"preset": sweep.preset})
    return dataclasses.replace(
        reading,
        results=[each for each in reading.results if each.cell.name in configs],
        damaged=[each for each in reading.damaged if each.name in configs],
    )


def _progress(
    sweep: Sweep, loaded: Mapping[str, sweep_events.Events], live: bool
) -> Progress:
    config = sweep.config(sweep.cells[0])
    on = " and ".join(f"{len(e.data):,} of {e.source}" for e in loaded.values())
    title = (
        f"{len(sweep.cells)} cells of {len(config.seeds)} seeds, at most "
        f"{config.epochs} epochs, batch {config.batch_size:,}, on {on}"
    )
    size = {"batch": config.batch_size, "epochs": config.epochs}
    rows = {name: _training_rows(config, each) for name, each in loaded.items()}
    costs = {
        cell: cell_order.cost(cell, rows=rows[cell.dataset], **size)
        for cell in sweep.cells
    }
    return Progress(costs, config.epochs, live=live, title=title)


def _check_sizes(
    config: jb.train.TrainConfig, loaded: Mapping[str, sweep_events.Events]
) -> None:
    """Raise for options that would make every cell fail, before the store is made."""
    for each in loaded.values():
        rows = _training_rows(config, each)
        if rows < _FEWEST:
            raise ValueError(
                f"a sweep needs at least {_FEWEST} training rows, and {len(each.data):,} "
                f"events of {each.source} leave {rows}; write --rows 1000"
            )
        if config.batch_size > rows:
            raise ValueError(
                f"batch_size must be at most {rows:,}, the training rows of "
                f"{len(each.data):,} events of {each.source}, got {config.batch_size:,}; "
                f"write --batch-size {rows}"
            )


def _training_rows(config: jb.train.TrainConfig, events: sweep_events.Events) -> int:
    return int(len(events.data) * (1 - config.test_fraction))
