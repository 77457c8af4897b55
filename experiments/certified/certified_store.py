"""Finished methods on disk: a study that was stopped goes on with the next one."""

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.certified.certified_study import Result, Setting, one


def run(
    methods: list[str], setting: Setting, folder: Path, done: Callable[[str], None]
) -> list[Result]:
    """Train and score every method in turn; read those that an earlier run finished."""
    results = []
    for method in methods:
        result = load(folder, method, setting)
        if result is None:
            result = one(method, setting)
            if not np.isnan(result.scores).any():  # a package may be there next time
                save(folder, result, setting)
        results.append(result)
        done(method)
    return results


def save(folder: Path, result: Result, setting: Setting) -> None:
    """Write the result of one method, all or nothing."""
    record = dataclasses.asdict(result) | {"scores": result.scores.tolist()}
    text = json.dumps({"key": _key(setting), "result": record})
    path = _path(folder, result.method)
    folder.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    os.replace(partial, path)


def load(folder: Path, method: str, setting: Setting) -> Result | None:
    """Read what an earlier run found with the same setting; None if there is nothing."""
    path = _path(folder, method)
    if not path.is_file():
        return None
    kept = json.loads(path.read_text())
    # Through JSON, where tuples become lists.
    if kept["key"] != json.loads(json.dumps(_key(setting))):
        return None
    record = kept["result"]
    return Result(**(record | {"scores": np.array(record["scores"])}))


def _key(setting: Setting) -> dict[str, Any]:
    """Return what determines the numbers of a method."""
    return dataclasses.asdict(setting)


def _path(folder: Path, method: str) -> Path:
    return folder / (method.replace(" ", "-").replace(":", "-") + ".json")
