"""A sweep of many cells keeps no programs of the earlier ones."""

import dataclasses
import sys
from pathlib import Path

import pytest

import jaxbern as jb
from experiments.sweep import compiled_programs, presets
from experiments.sweep.grid import Cell
from experiments.sweep.sweep_run import Sweep
from tests.experiments.sweep_cases import TINY, sweep


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts in /proc")
def test_programs_of_earlier_cells_are_released(tmp_path, monkeypatch):
    """Else a process runs out of memory mappings after some seventy cells."""
    mappings = []

    class Counting(jb.train.Callback):
        def start(self, config, past):
            mappings.append(len(Path("/proc/self/maps").read_text().splitlines()))

    monkeypatch.setattr(compiled_programs, "CELLS_KEPT", 1)
    cells = [Cell("higgs", True, depth, 2, "bernstein:3") for depth in (2, 3, 4)]
    several = dataclasses.replace(TINY, cells=lambda: cells)
    monkeypatch.setitem(presets.PRESETS, "several", several)
    summary = sweep(tmp_path, Sweep("several"), callbacks=[lambda cell: Counting()])
    assert not summary.failed
    _, second, third = mappings
    assert third - second < 300  # a cell has several hundred
