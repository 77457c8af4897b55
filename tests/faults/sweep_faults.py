"""``python -m tests.faults sweep``: disturb sweeps and print the outcome."""

import argparse
import importlib.util
import json
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.faults import sweep_audit, sweep_strikes
from tests.faults.sweep_child import SWEEP

_DESCRIPTION = """\
Injects faults into small sweeps and compares the result with an undisturbed sweep: all
cells must be complete, with the same histories and networks bit for bit. Every process
logs each epoch it trains, which shows what was trained again and whether two processes
ever trained a cell at the same time.

The full disk needs the right to mount one: run it as root, or after `unshare -Urm`.
"""
_SMALL_DISK = 16  # megabytes


def main(argv: list[str]) -> int:
    """Print the table; return 1 if anything was lost, differs or was trained twice at once."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults sweep",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kills", type=int, default=30, help="kill -9 in all (30)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (0)")
    parser.add_argument(
        "--only", nargs="*", help="some faults, by the first word of each"
    )
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as work:
        return _table(options, Path(work))


def _table(options: argparse.Namespace, work: Path) -> int:
    # A compilation cache, so that a killed sweep need not compile again.
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(work / "compiled")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    chance = random.Random(options.seed)
    began = time.monotonic()
    calm = sweep_strikes.Case(work / "calm", work / "calm.log", chance, 0)
    sweep_strikes.finish(calm)
    needed = len(calm.epochs())
    cells = len(SWEEP.cells)
    print(f"undisturbed: {cells} cells, {needed} epochs, {_passed(began)}", flush=True)
    rows = []
    with sweep_strikes.small_disk(work, _SMALL_DISK) as disk:
        for name, strike in _faults(options.kills, disk).items():
            if options.only and name.split()[0] not in options.only:
                continue
            folder = disk if strike is not None and name == "disk full" else work
            case = sweep_strikes.Case(
                (folder or work) / f"store{len(rows)}",
                work / f"{len(rows)}.log",
                random.Random(chance.random()),
                needed,
            )
            began = time.monotonic()
            rows.append(_row(name, strike, case, calm.root, began))
            print(f"{name}: {rows[-1]['note']}, {_passed(began)}", flush=True)
    text = "\n".join(_lines(rows))
    print(f"\n{text}")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "faults.md").write_text(text + "\n")
    (options.out / "faults.json").write_text(json.dumps(rows, indent=1) + "\n")
    print(f"\nwritten to {options.out}")
    return 0 if all(row["good"] for row in rows) else 1


def _faults(kills: int, disk: Path | None) -> dict[str, Callable | None]:
    """Return the faults by name; None for those that cannot run here."""
    ray = importlib.util.find_spec("ray") is not None
    local = kills // 2 if ray else kills
    found: dict[str, Callable | None] = {
        f"kill -9 of the sweep, {local} times": (
            lambda case: sweep_strikes.kill_sweeps(case, local)
        ),
    }
    workers = kills - local
    found[f"workers of Ray, kill -9, {workers} times"] = (
        (lambda case: sweep_strikes.kill_workers(case, workers)) if ray else None
    )
    found["disk full"] = (
        (lambda case: sweep_strikes.fill_disk(case, disk)) if disk else None
    )
    found["cells spoiled on the disk"] = sweep_strikes.spoil_cells
    found["begun cells, their checkpoints spoiled"] = sweep_strikes.spoil_checkpoints
    found["two sweeps at once"] = sweep_strikes.race
    return found


def _row(name: str, strike: Callable | None, case, calm: Path, began: float) -> dict:
    if strike is None:
        return {
            "fault": name,
            "note": "not run: not possible on this machine",
            "good": True,
        }
    try:
        note = strike(case)
    except (RuntimeError, TimeoutError) as problem:
        return {"fault": name, "note": f"WRONG: {problem}", "good": False}
    verdict = sweep_audit.judge(case.root, case.log, calm)
    seconds = time.monotonic() - began
    numbers = {**verdict._asdict(), "good": verdict.good, "seconds": seconds}
    return {"fault": name, "note": note, **numbers}


def _lines(rows: list[dict]) -> list[str]:
    lines = [
        "| fault | cells complete | bits equal | epochs needed | trained again "
        "| at most by one fault | two at once | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if "cells" in row:
            of = row["cells"]
            numbers = [
                f"{row['complete']} of {of}",
                f"{row['equal']} of {of}",
                *(str(row[k]) for k in ("needed", "again", "most", "at_once")),
            ]
        else:
            numbers = ["--"] * 6
        lines.append("| " + " | ".join([row["fault"], *numbers, row["note"]]) + " |")
    return lines


def _passed(began: float) -> str:
    return f"{time.monotonic() - began:.0f} s"
