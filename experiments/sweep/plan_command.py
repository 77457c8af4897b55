"""``python -m experiments plan``: time and memory that a sweep would take."""

import argparse
import csv
import sys
import time
from pathlib import Path

from experiments.core.options import add_out
from experiments.core.options import parser as new_parser
from experiments.sweep import sweep_command

_DESCRIPTION = """\
Lists the cells of a sweep in the order they would be trained, with their parameters, how
long they take on this device, and the memory they take on a GPU that need not be here.

Times are those of a measured step, for all epochs: early stopping may end sooner. Memory is
that of an epoch of all seeds, compiled for the card, which takes from seconds to minutes
for each cell; narrow the sweep down to what you want to know.

  python -m experiments plan --preset small
  python -m experiments plan --preset paper --card a30 --dataset higgs --depth 150 \\
      --width 256 --activation relu,bernstein:25
"""


def main(argv: list[str]) -> int:
    """Print and write the table; returns the exit status."""
    options = parser().parse_args(argv)
    try:
        return _plan(options)
    except ValueError as problem:
        print(problem, file=sys.stderr)
        return 2


def parser() -> argparse.ArgumentParser:
    """Define the options."""
    from experiments.sweep import grid_filter

    top = new_parser("plan", _DESCRIPTION)
    sweep_command.add_grid_options(top)
    grid_filter.add_options(top)
    top.add_argument(
        "--card", metavar="NAME", help="compile for this GPU: a30, a100, h100, l4"
    )
    top.add_argument(
        "--measure",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="measure for so long, cheap cells first; others are scaled from those (60)",
    )
    add_out(top, "results/plan")
    return top


def _plan(options: argparse.Namespace) -> int:
    from experiments.gpu import gpu_targets
    from experiments.sweep import pace
    from experiments.sweep.sweep_progress import duration

    sweep = sweep_command.sweep_of(options)
    cells, began = sweep.cells, time.perf_counter()
    events = {name: _count(sweep, name) for name in {c.dataset for c in cells}}
    memory = on_card(options.card) if options.card else None
    config = sweep.config(cells[0])
    print(
        f"{len(cells)} cells, {len(config.seeds) * len(cells):,} trainings of at most "
        f"{config.epochs} epochs, batch {config.batch_size:,}; events: "
        + ", ".join(f"{name} {count:,}" for name, count in sorted(events.items()))
    )
    card = f"  {options.card + ' GiB':>9}{'compiled':>10}" if options.card else ""
    print(f"{'cell':<36}{'parameters':>11}  {'step ms':>9}  {'time':>8}{card}")
    watch, rows = pace.Stopwatch(options.measure), []
    for cell in cells:
        config, count = sweep.config(cell), events[cell.dataset]
        found = watch.pace(cell, config)
        row = {
            "cell": cell.name,
            "parameters": cell.parameters,
            "step_ms": 1e3 * found.step,
            "measured": found.measured,
            "seconds": found.seconds(config, count),
        }
        if memory:
            row["memory_bytes"], row["compile_seconds"] = memory(config, count)
        rows.append(row)
        print(_line(row), flush=True)
    total = sum(row["seconds"] for row in rows)
    print(f"{duration(total)} in all, one cell after another, if none stops early")
    if memory:
        room = gpu_targets.get(options.card).memory
        large = sum(row["memory_bytes"] > room for row in rows)
        print(f"{large} of them need more than the {room / 2**30:.0f} GiB of the card")
    if any(not row["measured"] for row in rows):
        print("~ scaled from cells that were measured; --measure 1000 measures more")
    path = _write(options.out, rows)
    print(f"took {duration(time.perf_counter() - began)}; written to {path}")
    return 0


def _line(row: dict) -> str:
    from experiments.sweep.sweep_progress import duration

    about = " " if row["measured"] else "~"
    line = (
        f"{row['cell']:<36}{row['parameters']:>11,}  {about}{row['step_ms']:>8.1f}  "
        f"{duration(row['seconds']):>8}"
    )
    if "memory_bytes" in row:
        line += f"  {row['memory_bytes'] / 2**30:>9.2f}{row['compile_seconds']:>8.0f} s"
    return line


def _count(sweep, dataset: str) -> int:
    """Return the number of events of a sweep, without downloading any."""
    import jaxbern as jb
    from experiments.sweep import sweep_events as events
    from experiments.sweep.grid import PUBLISHED_EVENTS
    from experiments.sweep.presets import COLLIDER, PUBLISHED

    source, rows = sweep.where
    if source == COLLIDER and rows:
        return rows
    try:
        found = events.load(dataset, source, rows, download=False)
    except jb.data.DataError:
        if source != PUBLISHED:
            raise
        return min(rows or PUBLISHED_EVENTS[dataset], PUBLISHED_EVENTS[dataset])
    return len(found.data)


def on_card(name: str):
    """Return a function for the memory of a training on a card; call it before using JAX."""
    import jax

    from experiments.gpu import gpu_targets, toolchain
    from experiments.sweep.compiled_programs import option

    target = gpu_targets.get(name)
    try:
        toolchain.require()
    except toolchain.ToolchainMissing as missing:
        raise ValueError(str(missing)) from missing
    if option("jax_platforms") is None and not Path("/dev/nvidiactl").exists():
        # Else JAX looks for the driver that is not there, and reports an error.
        jax.config.update("jax_platforms", "cpu")
    with toolchain.no_driver_expected():
        from experiments.sweep import card_memory as card

        card.device(target)
    return lambda config, events: card.memory(target, config, events)


def _write(folder: Path, rows: list[dict]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "plan.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path
