"""Tuned launch configurations: found, kept, used; a damaged file hurts nobody."""

import json
import math

import pytest

import jaxbern as jb
from jaxbern.kernels import autotune, config, tuned
from jaxbern.kernels.launch import Launch

SIZES, DEGREE = (1, 40, 6), 3


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("JAXBERN_CACHE", str(tmp_path))
    return tmp_path / "launch.json"


def test_nothing_is_tuned_at_first(cache):
    assert tuned.lookup("forward", "card", SIZES, DEGREE) is None
    assert not cache.exists()


def test_what_is_saved_is_found_again_for_the_same_call_only(cache):
    launch = Launch(8, 32, 2, 5)
    assert tuned.save("forward", "card", SIZES, DEGREE, launch) == cache
    tuned.save("gradient", "card", SIZES, DEGREE, Launch(1, 1, 1, 1))
    assert tuned.lookup("forward", "card", SIZES, DEGREE) == launch
    for other in (
        ("gradient", "other card", SIZES, DEGREE),
        ("forward", "card", (2, 40, 6), DEGREE),
        ("forward", "card", SIZES, DEGREE + 1),
    ):
        assert tuned.lookup(*other) is None
    assert [p.name for p in cache.parent.iterdir()] == ["launch.json"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"a": 3}', '{"a": [1, 2, 0, 4]}'])
def test_a_damaged_file_is_reported_and_replaced(cache, content):
    cache.write_text(content)
    with pytest.warns(UserWarning, match=r"ignoring.*launch\.json.*autotune again"):
        assert tuned.lookup("forward", "card", SIZES, DEGREE) is None
    with pytest.warns(UserWarning, match="ignoring"):
        tuned.save("forward", "card", SIZES, DEGREE, Launch(1, 2, 3, 4))
    assert list(json.loads(cache.read_text()).values()) == [[1, 2, 3, 4]]


def test_an_interrupted_write_leaves_the_old_file(cache, monkeypatch):
    tuned.save("forward", "card", SIZES, DEGREE, Launch(1, 2, 3, 4))
    before = cache.read_text()

    def full(*args, **options):
        raise OSError("No space left on device")

    monkeypatch.setattr(tuned.json, "dump", full)
    with pytest.raises(OSError, match="No space left"):
        tuned.save("gradient", "card", SIZES, DEGREE, Launch(4, 3, 2, 1))
    assert cache.read_text() == before
    assert [p.name for p in cache.parent.iterdir()] == ["launch.json"]


def test_neighbours_begin_with_the_default_and_do_not_repeat():
    default = Launch(8, 32, 4, 4)
    tried = list(autotune.neighbours(default))
    assert tried[0] == default
    assert len(tried) == len(set(tried)) == 27
    smallest = list(autotune.neighbours(Launch(1, 1, 1, 1)))
    assert all(min(n.rows, n.unroll, n.steps) >= 1 for n in smallest)


@pytest.mark.slow
def test_the_fastest_is_kept_and_used(monkeypatch, cache):
    """Run interpreted, with a clock that likes one configuration best."""
    default = config.gradient(SIZES, DEGREE)
    favourite = Launch(default.rows, default.columns, default.unroll, default.steps * 2)
    timed = []

    def clock(step, args, repeats):
        step(*args)  # it runs, with results nobody looks at
        timed.append(step)
        return math.inf if len(timed) % 3 else 1.0

    monkeypatch.setattr(autotune, "_time", clock)
    monkeypatch.setattr(
        autotune,
        "neighbours",
        lambda launch, fixed_tile: iter([default, default, favourite]),
    )
    said = []
    best = jb.autotune(
        *SIZES[1:], DEGREE, implementation="pallas:interpret", report=said.append
    )
    assert best == {"forward": favourite, "gradient": favourite}
    assert str(cache) in said[-1]
    kind = autotune.jax.devices()[0].device_kind
    assert tuned.lookup("gradient", kind, SIZES, DEGREE) == favourite
    monkeypatch.setattr(config, "_device_kind", lambda: kind)
    assert config.gradient(SIZES, DEGREE) == favourite
    assert config.gradient(SIZES, DEGREE + 1) != favourite


def test_kernels_of_one_tile_are_tuned_in_that_tile(monkeypatch):
    """Mosaic's launches are kept under a name of their own."""
    tried = []
    monkeypatch.setattr(autotune, "_time", lambda step, args, repeats: 1.0)
    best = jb.autotune(
        *SIZES[1:], DEGREE, implementation="mosaic:interpret", report=tried.append
    )
    assert all("rows=4, columns=32" in line for line in tried)
    kind = autotune.jax.devices()[0].device_kind
    # Eight rows of six columns are one row of 48.
    folded = (1, 5, 48)
    assert tuned.lookup("gradient", kind, folded, DEGREE) is None
    assert tuned.lookup("gradient in 4x32", kind, folded, DEGREE) == best["gradient"]
    monkeypatch.setattr(config, "_device_kind", lambda: kind)
    found = config.gradient(folded, DEGREE, tile=(4, 32))
    assert found == best["gradient"]


def test_what_has_no_launches_cannot_be_tuned():
    with pytest.raises(ValueError, match=r"'xla' does not have; write 'pallas'"):
        jb.autotune(64, 8, 3, implementation="xla")


def test_without_a_gpu_it_says_so():
    with pytest.raises(NotImplementedError, match="'cpu'"):
        jb.autotune(64, 8, 3)
