"""Cells as tasks of Ray; the one test that starts it."""

import functools

import pytest

from experiments.sweep import cell_store, compiled_programs
from tests.experiments.sweep_cases import (
    CELLS,
    EPOCHS,
    SWEEP,
    Once,
    Seen,
    histories,
    kill_this_process,
    programs,
    seen,
    sweep,
)

pytestmark = pytest.mark.slow

pytest.importorskip("ray")


# Ray forks a process to start its own, which Python warns of where threads are, and JAX
# as well; the child does nothing but become another program.
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_worker_that_is_killed_is_replaced_and_goes_on(tmp_path, tmp_path_factory):
    log, kept = tmp_path / "log", programs(tmp_path_factory)
    with compiled_programs.kept(kept):
        sweep(tmp_path / "local")
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / cell_store.COMPILED).symlink_to(kept)
    kill = functools.partial(
        Once, of=CELLS[1], epoch=2, mark=tmp_path / "mark", what=kill_this_process
    )
    summary = sweep(
        tmp_path / "ray",
        executor="ray",
        keep_compiled=True,
        callbacks=[functools.partial(Seen, log=log), kill],
        ray_options={"init": {"num_cpus": 1, "object_store_memory": 80_000_000}},
    )
    assert not summary.failed
    assert {each.cell for each in summary.outcomes} == set(SWEEP.cells)
    assert (tmp_path / "mark").exists()
    assert histories(tmp_path / "ray") == histories(tmp_path / "local")
    first, second = cell_store.read(tmp_path / "ray").results
    by_cell = {each.cell: each.about for each in (first, second)}
    assert by_cell[CELLS[0]]["attempts"] == 1
    assert by_cell[CELLS[1]]["attempts"] == 2
    # The programs are those that this process compiled.
    assert by_cell[CELLS[0]]["compiled"] == by_cell[CELLS[1]]["compiled"] == 0
    epochs = [int(line.split()[1]) for line in seen(log) if CELLS[1].name in line]
    assert epochs[:3] == [0, 1, 2]
    assert epochs[-1] == EPOCHS - 1
    assert len(epochs) <= EPOCHS + 1  # at most the running epoch is trained again
