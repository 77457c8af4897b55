"""Measure cells and write the tables of their times."""

import dataclasses
import itertools
import time
from collections.abc import Sequence
from pathlib import Path

from experiments.bench import epoch_tables
from experiments.bench.epoch_measure import Measured, Setup, architecture
from experiments.core.environment import environment
from experiments.core.progress import progress
from experiments.core.tables import comma_separated, markdown
from experiments.gpu import gpu_targets as gpus
from experiments.report.grid_groups import RELU, Group
from experiments.sweep import cell_order, grid
from experiments.sweep.grid import Cell
from experiments.sweep.grid_filter import Filter
from experiments.sweep.plan_command import on_card

QUICK = Setup(batch_size=256, steps=2, seeds=1, rounds=2)
# Defaults for what the command line leaves open: takes minutes on two cores.
DEFAULT = Filter(dataset=("higgs",), residual=True, depth=(5, 15), width=(16, 32))


def cells_of(part: Filter, *, everything: bool = False) -> list[Cell]:
    """Return the cells to measure, always with ReLU, to which others are compared.

    Args:
      part: a part of the paper's grid.
      everything: use all of the grid, instead of the defaults, for what ``part`` leaves open.

    >>> len(cells_of(Filter(depth=(50,), activation=("bernstein:9",))))
    4
    """
    if not everything:
        open_ = {
            field.name: getattr(DEFAULT, field.name)
            for field in dataclasses.fields(Filter)
            if getattr(part, field.name) is None
        }
        part = dataclasses.replace(part, **open_)
    if part.activation is not None and RELU not in part.activation:
        part = dataclasses.replace(part, activation=(RELU, *part.activation))
    return cell_order.ordered(part.of(grid.paper()))


def run(
    out: Path, cells: Sequence[Cell], setup: Setup, *, targets: Sequence[str] = ()
) -> str:
    """Measure cells, write ``timing.md`` and a CSV file per table; return the text.

    Args:
      out: the directory to write to.
      cells: the cells to measure.
      setup: what is measured of each.
      targets: names of GPUs to compile for as well.
    """
    began = time.perf_counter()
    cards = {name: on_card(name) for name in targets}
    measured: list[Measured] = []
    with progress(2 * len(cells)) as done:
        for _, own in itertools.groupby(cells, key=lambda c: (Group.of(c), _shape(c))):
            measured += architecture(list(own), setup, cards=cards, done=done)
    names = {name: gpus.get(name).description for name in targets}
    text = written(out, measured, setup, names)
    return f"{text}\ntook {time.perf_counter() - began:.0f} s"


def written(
    out: Path, measured: Sequence[Measured], setup: Setup, cards: dict[str, str]
) -> str:
    """Write the tables; return them as Markdown."""
    out.mkdir(parents=True, exist_ok=True)
    groups = sorted({Group.of(m.cell) for m in measured}, key=lambda g: g.name)
    parts = ["# Time and memory of training, beside ReLU's", "", about(setup), ""]
    summaries: dict[str, str] = {}
    shown = []
    for group in groups:
        for quantity in epoch_tables.quantities(setup, group, cards):
            table = epoch_tables.table(quantity, group, measured)
            (out / f"{table.name}.csv").write_text(comma_separated(table))
            shown.append(markdown(table))
            summaries.setdefault(
                quantity.name, epoch_tables.summary(quantity, measured)
            )
    del summaries["epoch"]  # proportional to that of the step
    parts += [f"- {line}" for line in summaries.values() if line]
    text = "\n".join([*parts, "", *shown])
    (out / "timing.md").write_text(text)
    return text


def about(setup: Setup) -> str:
    """Describe what was measured, and on what machine."""
    here = environment()
    where = here["device"] if here["platform"] != "cpu" else "CPU"
    return (
        f"Measured on {here['devices']} × {where} ({here['processor']}, {here['cores']} "
        f"cores), JAX {here['jax']}, jaxbern {here['jaxbern']}: epochs of {setup.steps} steps "
        f"of {setup.batch_size:,} rows, then validation on {setup.events // 5:,}; simulated "
        f"events; seeds at the same time: {setup.seeds}; float32. The activations of one "
        f"network take turns; the best of {setup.rounds} epochs counts, without compilation."
    )


def _shape(cell: Cell) -> tuple[int, int]:
    return cell.depth, cell.width
