"""Every damaged file gives the same numbers, a clear error, or a warning: never a surprise.

``JAXBERN_ATTACKS=500 pytest -m attack tests/faults`` damages 500 files of each kind.
"""

import collections
import contextlib
import gzip
import itertools
import shutil
import types
import warnings
import zipfile
from pathlib import Path

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flax import nnx

import jaxbern as jb
from experiments.report import report_build, report_contents
from experiments.sweep import cell_claims, cell_store, grid, sweep_settings
from jaxbern.data._published import SUSY
from jaxbern.io.model_files import FileError
from jaxbern.train import _checkpoint
from jaxbern.train._checkpoint import Checkpoints
from tests.attack import attack, times
from tests.data import data_files
from tests.experiments.report_stores import trained
from tests.experiments.sweep_cases import histories
from tests.faults.mutations import mutate_file, mutate_folder
from tests.nn.networks import network
from tests.train.train_cases import changed, events

pytestmark = attack
CLEAR = (jb.data.DataError, FileError, jb.train.CheckpointError)


def silent(original, place: Path, damage, use, same, said=(), few=25) -> list[str]:
    """Damage copies of a file or folder; returns what gave other numbers without a word.

    ``use`` must give the same, a clear error, or one of the warnings that ``said`` has
    parts of.
    """
    rng = np.random.default_rng(1)
    outcomes, found_out = collections.Counter(), []
    _restore(original, place)
    assert same(use(place))
    for number in range(times(few)):
        _restore(original, place)
        what = f"{number}: {damage(place, rng)}"
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                found = use(place)
            except CLEAR:
                outcomes["refused"] += 1
                continue
        if same(found):
            outcomes["the same, and noticed" if heard else "the same"] += 1
        else:
            texts = [str(warning.message) for warning in heard]
            if any(word in text for text in texts for word in said):
                outcomes["different, and said"] += 1
            else:
                found_out.append(what)
    print(f"{original.name}: {dict(outcomes)}, silently different: {found_out}")
    assert outcomes.total() > outcomes["the same"] or found_out  # they were damaged
    return found_out


def _restore(original: Path, place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    if original.is_dir():
        shutil.copytree(original, place)
    else:
        shutil.copyfile(original, place)


@pytest.mark.parametrize("name", ["net.npz", "net"])
def test_model_files(name, tmp_path):
    model = network(width=8)
    original = tmp_path / "original" / name
    model.save(original)
    want = [np.asarray(leaf) for leaf in jax.tree.leaves(nnx.state(model))]

    def same(loaded):
        got = jax.tree.leaves(nnx.state(loaded))
        equal = all(np.array_equal(a, b) for a, b in zip(got, want, strict=True))
        return equal and (loaded.config, loaded.use_running_average) == (
            model.config,
            model.use_running_average,
        )

    damage = mutate_file if name.endswith("npz") else mutate_folder
    assert silent(original, tmp_path / name, damage, jb.MLP.load, same) == []


# Of reads that orbax has under way when another one fails.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_training_checkpoints(tmp_path):
    config, data = changed(epochs=3), events()
    jb.train.fit(config, data, directory=tmp_path / "run", checkpoint_seconds=0)
    original = tmp_path / "run" / "checkpoints"
    identity = _checkpoint.identity(config, data)
    _, template = _restored(original, identity)
    whole = {2: None, 3: None}
    for epochs in whole:
        other = tmp_path / f"only-{epochs}"
        shutil.copytree(original, other)
        shutil.rmtree(other / str(5 - epochs))
        whole[epochs] = _restored(other, identity)[0]

    def use(place):
        return _restored(place, identity, template)[0]

    def same(found):
        """What one of the checkpoints holds; or nothing, and all is trained again."""
        return found is None or found == whole[found[0]]

    def damage_history(place, rng):
        return mutate_file(place / "3" / "about" / "metadata", rng)

    for damage in (mutate_folder, damage_history):
        assert silent(original, tmp_path / "checkpoints", damage, use, same) == []


def _restored(place, identity, template=None):
    """Epochs, history and the bytes of the state, for comparison."""
    if template is None:
        from jaxbern.train._config import checked_split
        from jaxbern.train._engine import engine

        config, data = changed(epochs=3), events()
        split = checked_split(config, data)
        template, _ = engine(config, data, split, devices=None, device_bytes=None)
    checkpoints = Checkpoints(place, identity, 0)
    try:
        found = checkpoints.restore(template)
    finally:
        checkpoints.close()
    if found is None:
        return None, template
    arrays = _checkpoint._arrays(found.state)
    state = {name: (a.dtype, a.shape, a.tobytes()) for name, a in arrays.items()}
    return (found.epochs, repr(found.history.to_json()), state), template


X, Y = data_files.events(SUSY, rows=40)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("JAXBERN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("JAXBERN_DATA", raising=False)
    return tmp_path / "cache"


def same_events(data) -> bool:
    return data.x.tobytes() == X.tobytes() and data.y.tobytes() == Y.tobytes()


def test_converted_copies(tmp_path, cache):
    source = tmp_path / "susy.csv.gz"
    data_files.write_gzip(source, X, Y)
    jb.data.load(source)
    shutil.copytree(cache / "data", tmp_path / "original")

    def use(place):
        return jb.data.load(source)

    copies = tmp_path / "original"
    assert silent(copies, cache / "data", mutate_folder, use, same_events) == []


def write_checked_parquet(path, x, y):
    columns = {"label": y, **{f"c{i}": column for i, column in enumerate(x.T)}}
    pq.write_table(pa.table(columns), path, row_group_size=17, write_page_checksum=True)


def write_zip(path, x, y):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("SUSY.csv", data_files.text(x, y))


def write_gzip(path, x, y):
    path.write_bytes(gzip.compress(data_files.text(x, y), 1))


CHECKED = {
    "susy.csv.gz": write_gzip,
    "susy.zip": write_zip,
    "susy.parquet": write_checked_parquet,
}


@pytest.mark.parametrize("name", CHECKED)
def test_files_with_checksums(name, tmp_path, cache):
    """Even if nobody has seen them before."""
    original = tmp_path / "original" / name
    original.parent.mkdir()
    CHECKED[name](original, X, Y)

    def use(place):
        shutil.rmtree(cache, ignore_errors=True)
        return jb.data.load(place)

    assert silent(original, tmp_path / name, mutate_file, use, same_events) == []


@pytest.mark.parametrize("name", ["susy.csv", "susy.npy"])
def test_files_without_checksums(name, tmp_path, cache):
    """Only who has read the file before can say that it is another one now."""
    original = tmp_path / "original" / name
    original.parent.mkdir()
    write = data_files.write_npy if name.endswith("npy") else data_files.write_csv
    write(original, X, Y)
    shutil.copyfile(original, tmp_path / name)
    jb.data.load(tmp_path / name)
    shutil.copytree(cache, tmp_path / "as it was")

    def use(place):
        shutil.rmtree(cache)
        shutil.copytree(tmp_path / "as it was", cache)
        return jb.data.load(place)

    said = ("has changed since it was last read",)
    assert silent(original, tmp_path / name, mutate_file, use, same_events, said) == []


def test_stores_of_sweeps(tmp_path, monkeypatch):
    """Cells are the same or told to be damaged, and a report comes of the rest."""
    monkeypatch.setattr(report_contents, "draw", lambda *arguments: [])
    original = tmp_path / "original"
    cells = grid.paper()[:4]
    for cell in cells[:3]:
        cell_store.write(original, trained(cell, [0.7] * 3, [0.6] * 3))
    cell_store.ask(original, cells, {"preset": "small"})
    cell_store.write_failure(original, cells[3], {"error": "ValueError: no"})
    cell_claims.take(original / "running" / cells[3].name).release()
    events = types.SimpleNamespace(about=lambda: {"source": "x", "events": 7})
    sweep_settings.agree(original, {"epochs": 3}, {"higgs": events})
    (original / "running" / cells[3].name / "claim-2.json").write_text('{"pid": 1}')
    want, reports = histories(original), itertools.count()

    def use(place):
        with contextlib.suppress(sweep_settings.OtherSettings):
            sweep_settings.agree(place, {"epochs": 3}, {"higgs": events})
        if next(reports) < 4:  # they take seconds
            with contextlib.suppress(report_build.NothingToReport):
                report_build.run(place, tmp_path / "report")
        found = cell_store.read(place, thorough=True)
        if len(found.results) < len(want):
            warnings.warn(f"{len(found.damaged)} damaged", stacklevel=1)
        return histories(place)

    def same(found):
        return all(want.get(name) == history for name, history in found.items())

    assert silent(original, tmp_path / "store", mutate_folder, use, same, few=12) == []
