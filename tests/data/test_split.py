"""jb.data.split: which rows, by what ranges, and what it refuses."""

import hashlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbern.data import DataError, Dataset, Split, split
from jaxbern.data._split import _BLOCK


def events(rows=1000, features=3, signal=0.53, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, features)).astype(np.float32)
    return x, (np.arange(rows) < round(signal * rows)).astype(np.uint8)


def test_every_row_is_in_one_part_for_each_seed():
    found = split(events(), seeds=(3, 1))
    assert found.train.shape == (2, 800)
    assert found.test.shape == (2, 200)
    assert found.train.dtype == found.test.dtype == np.int32
    for train, test in zip(found.train, found.test, strict=True):
        assert sorted([*train, *test]) == list(range(1000))
    assert not np.array_equal(found.train[0], found.train[1])


def test_rows_follow_the_documented_stream():
    """The rule of the docstring in plain Python, without the packed keys."""
    x, y = events(rows=501)
    found = split((x, y), seeds=(5,), test_fraction=0.3)
    keys = [int(key) >> 32 for key in np.random.PCG64(5).random_raw(501)]
    order = sorted(range(501), key=lambda row: keys[row])
    tested = set()
    for label in (0, 1):
        rows = [row for row in order if y[row] == label]
        tested |= set(rows[: round(0.3 * len(rows))])
    assert found.test[0].tolist() == [row for row in order if row in tested]
    assert found.train[0].tolist() == [row for row in order if row not in tested]


def test_rows_are_those_of_every_other_version_and_platform():
    found = split(events())
    rows = np.concatenate([found.train, found.test], axis=1).astype("<i4")
    digest = hashlib.sha256(rows.tobytes()).hexdigest()
    assert digest[:16] == "23e657e0ab757f5e"


def test_a_seed_does_not_depend_on_the_others():
    alone, among = split(events(), seeds=(7,))[0], split(events(), seeds=(2, 7, 0))[1]
    for one, other in zip(jax.tree.leaves(alone), jax.tree.leaves(among), strict=True):
        np.testing.assert_array_equal(one, other)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 80), st.integers(2, 80), st.floats(0.01, 0.99))
def test_class_shares_agree_to_one_row(zeros, ones, fraction):
    y = np.repeat([0, 1], [zeros, ones])
    found = split((np.zeros((len(y), 1)), y), (0, 1), test_fraction=fraction)
    for label, size in enumerate((zeros, ones)):
        tested = (y[found.test] == label).sum(axis=1)
        assert (abs(tested - fraction * size) <= 1).all()
        assert ((tested >= 1) & (tested < size)).all()


def test_ranges_are_of_the_training_rows_alone():
    x, y = events(rows=4 * _BLOCK // 12 + 5)  # several blocks and a rest
    plain = split((x, y), seeds=(0, 1))
    for k in range(2):
        np.testing.assert_array_equal(plain.minimum[k], x[plain.train[k]].min(axis=0))
        np.testing.assert_array_equal(plain.maximum[k], x[plain.train[k]].max(axis=0))
    x[plain.test[0]] *= 100
    other = split((x, y), seeds=(0,))
    np.testing.assert_array_equal(plain.maximum[:1], other.maximum)


def test_a_memory_map_is_read_once(tmp_path):
    class Counted(np.memmap):
        rows = 0

        def __getitem__(self, key):
            got = super().__getitem__(key)
            Counted.rows += len(got)
            return got

    x, y = events(rows=100_000)
    x.tofile(tmp_path / "x")
    mapped = Counted(tmp_path / "x", np.float32, "r", shape=x.shape)
    found = split((mapped, y))
    assert Counted.rows == len(x)
    jax.tree.map(np.testing.assert_array_equal, found, split((x, y)))


def test_scale_maps_training_rows_to_the_unit_interval_and_clips_the_rest():
    x, y = events()
    found = split((x, y), seeds=(4,))[0]
    x[found.test[0]] = 1e9
    x[found.test[1]] = -1e9
    scaled = np.asarray(jax.jit(lambda s, rows: s.scale(rows))(found, x))
    assert scaled.dtype == np.float32
    wide = x.astype(np.float64)
    low, high = wide[found.train].min(axis=0), wide[found.train].max(axis=0)
    expected = np.clip((wide - low) / (high - low), 0, 1)
    np.testing.assert_allclose(scaled, expected, rtol=0, atol=4 * 2.0**-24)
    assert (scaled[found.train].min(axis=0) == 0).all()
    assert (scaled[found.train].max(axis=0) >= 1 - 2.0**-23).all()
    assert (scaled[found.test[0]] == 1).all()
    assert (scaled[found.test[1]] == 0).all()


@pytest.mark.parametrize("values", [(7.0, 7.0), (0.0, 1e-40)])
def test_a_constant_feature_becomes_zero(values):
    """Also one whose range is too small to divide by."""
    x, y = events()
    x[:, 1] = np.resize(np.array(values, np.float32), len(x))
    found = split((x, y))[0]
    rows = x[:4].copy()
    rows[0, 1], rows[1, 1] = 8.0, -8.0
    scaled = found.scale(rows)
    assert scaled[:, 1].tolist() == [0.0] * 4
    assert bool(jnp.isfinite(scaled).all())


def test_vmap_over_seeds_takes_one_copy_of_the_data():
    x, y = events()
    found = split((x, y))

    @jax.jit
    @jax.vmap
    def batch(member: Split):
        return member.scale(jnp.asarray(x)[member.train[:8]])

    together = batch(found)
    assert together.shape == (3, 8, 3)
    for k in range(3):
        alone = found[k].scale(x[found.train[k, :8]])
        np.testing.assert_array_equal(together[k], alone)
    # One row, and a batch of batches.
    row = jax.jit(found[1].scale)(x[found.train[1, 5]])
    np.testing.assert_array_equal(row, together[1, 5])
    batches = jax.eval_shape(found[1].scale, x.reshape(10, 100, 3))
    assert batches.shape == (10, 100, 3)


def test_a_dataset_and_its_arrays_split_alike():
    x, y = events()
    data = Dataset.from_arrays("toy", x, y, ("a", "b", "c"))
    jax.tree.map(np.testing.assert_array_equal, split(data), split((x, y)))


def changed(row, column, value, dtype=np.float32):
    x, y = events()
    x = x.astype(dtype)
    x[row, column] = value
    return (
        Dataset.from_arrays("toy", x, y, ("a", "b", "c")) if dtype == "f4" else (x, y)
    )


ROWS, LABELS = events()
HUGE = np.broadcast_to(np.uint8(1), (2**31,))


@pytest.mark.parametrize(
    "data, options, message",
    [
        ((np.zeros((0, 3)), np.zeros(0)), {}, r"got x \[0, 3\] and y \[0\]"),
        ((np.zeros((4, 0)), LABELS[:4]), {}, r"got x \[4, 0\] and y \[4\]"),
        ((ROWS, LABELS[1:]), {}, r"got x \[1000, 3\] and y \[999\]"),
        ((ROWS[:, 0], LABELS), {}, r"got x \[1000\] and y \[1000\]"),
        ((ROWS, LABELS * 2), {}, "0 .* or 1 .*, got 2 in row 0"),
        ((ROWS, LABELS - 0.5), {}, r"got 0.5 in row 0"),
        ((ROWS, np.where(LABELS, np.nan, 0)), {}, r"got nan in row 0"),
        ((ROWS, LABELS * 0), {}, r"got 0 of signal \(label 1\) among 1000"),
        ((ROWS[:531], LABELS[:531]), {}, r"got 1 of background \(label 0\) among 531"),
        (changed(17, 2, np.nan, "f4"), {}, "got nan in row 17, column c"),
        (changed(999, 0, -np.inf), {}, "got -inf in row 999, column 0"),
        (changed(5, 1, 1e40, np.float64), {}, r"got 1e\+40 in row 5, column 1"),
        (
            (np.sign(ROWS) * np.float32(3e38), LABELS),
            {},
            "column 0.* is too wide for float32",
        ),
        ((HUGE[:, None], HUGE), {}, "at most 2,147,483,647 events, got 2,147,483,648"),
        ((ROWS, LABELS), {"test_fraction": 0.0}, "between 0 and 1, .* got 0.0"),
        ((ROWS, LABELS), {"test_fraction": 1.0}, "between 0 and 1, .* got 1.0"),
        ((ROWS, LABELS), {"test_fraction": np.nan}, "got nan"),
        ((ROWS, LABELS), {"seeds": (1, 0, 1)}, r"different, .* got \(1, 0, 1\)"),
        ((ROWS, LABELS), {"seeds": ()}, r"at least one, .* got \(\)"),
        ((ROWS, LABELS), {"seeds": (-1,)}, r"none below 0, got \(-1,\)"),
    ],
)
def test_refusals_say_what_came(data, options, message):
    with pytest.raises(ValueError, match=message):
        split(data, **options)


def test_what_is_wrong_with_the_data_is_a_data_error():
    with pytest.raises(DataError):
        split((ROWS, LABELS * 0))


@pytest.mark.parametrize("seeds", [3, (0.5,), "012"])
def test_seeds_must_be_integers(seeds):
    with pytest.raises(TypeError, match="sequence of integers"):
        split((ROWS, LABELS), seeds)


def test_data_must_be_a_pair():
    with pytest.raises(TypeError, match=r"got ndarray; write split\(\(x, y\)\)"):
        split(ROWS)


def test_scale_refuses_an_axis_of_seeds_and_other_features():
    found = split((ROWS, LABELS))
    with pytest.raises(ValueError, match=r"axis of 3 seeds; write split\[0\]"):
        found.scale(ROWS)
    with pytest.raises(ValueError, match=r"\[\.\.\., 3\], .* got \(1000, 2\)"):
        found[0].scale(ROWS[:, :2])
