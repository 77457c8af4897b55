"""Finished tasks on disk, so that a study that was stopped continues with the next one."""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from experiments.dropin.dropin_study import Result, Study
from experiments.dropin.dropin_tasks import Task

_ARRAYS = ("validation", "test")


def key(study: Study, task: Task, methods: list[str]) -> dict[str, Any]:
    """Return what determines the numbers of a task; a file with another key is not used."""
    return {
        "setting": dataclasses.asdict(study.setting),
        "methods": methods,
        "task": [task.name, task.about, task.width, list(task.steps), task.batch],
    }


def save(folder: Path, study: Study, task: Task, methods: list[str]) -> None:
    """Write the results of one task atomically."""
    found = [dataclasses.asdict(r) for r in study.results if r.task == task.name]
    for record in found:
        record |= {name: record[name].tolist() for name in _ARRAYS}
    seconds = {m: t for (name, m), t in study.seconds.items() if name == task.name}
    text = json.dumps(
        {"key": key(study, task, methods), "results": found, "seconds": seconds}
    )
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{task.name}.json.partial"
    partial.write_text(text)
    os.replace(partial, folder / f"{task.name}.json")


def load(folder: Path, study: Study, task: Task, methods: list[str]) -> bool:
    """Add the results of a task from an earlier run; return False if there are none."""
    path = folder / f"{task.name}.json"
    if not path.is_file():
        return False
    kept = json.loads(path.read_text())
    # Through JSON, where tuples become lists.
    if kept["key"] != json.loads(json.dumps(key(study, task, methods))):
        return False
    for record in kept["results"]:
        record |= {name: np.array(record[name]) for name in _ARRAYS}
        study.results.append(Result(**record))
    study.seconds |= {(task.name, m): t for m, t in kept["seconds"].items()}
    return True
