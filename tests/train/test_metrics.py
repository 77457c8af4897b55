"""The area under the ROC curve against scikit-learn and against counting pairs."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import jaxbern as jb
from jaxbern.metrics import _exact_sum

EPS = float(np.finfo(np.float32).eps)
TINY = float(np.finfo(np.float32).smallest_subnormal)
ROWS = 2_000


def by_sklearn(scores, labels, weights=None):
    """Scores enter by their order: scikit-learn takes no infinities."""
    scores = np.asarray(scores)
    wide = np.float64 if scores.dtype.itemsize < 4 else scores.dtype
    order = np.unique(scores.astype(wide), return_inverse=True)[1]
    if weights is not None:
        weights = np.asarray(weights, np.float64)
    return roc_auc_score(np.asarray(labels, bool), order, sample_weight=weights)


def by_pairs(scores, labels, weights):
    """Every pair, in exact fractions; NaN where there is none."""
    rows = [row for row in zip(scores, labels, weights, strict=True) if row[2]]
    wins = pairs = Fraction(0)
    for s, label, w in rows:
        for t, other, v in rows:
            if label and not other:
                pair = Fraction(float(w)) * Fraction(float(v))
                wins += pair * (Fraction(int(s > t)) + Fraction(int(s == t), 2))
                pairs += pair
    return float(wins / pairs) if pairs else np.nan


def rounded(width):
    return lambda rng, labels: np.round((rng.normal(size=ROWS) + labels) * width)


def any_bits(rng, labels):
    """Every finite float is as likely as any other, and neighbours occur."""
    bits = rng.integers(0, 2**32, ROWS // 2, np.uint32)
    scores = np.concatenate([bits, bits ^ 1]).view(np.float32)
    return np.where(np.isnan(scores), 0, scores)


SCORES = {
    "continuous": lambda rng, labels: rng.normal(size=ROWS) + labels,
    "ties": rounded(30),
    "heavy ties": rounded(1),
    "constant": lambda rng, labels: np.full(ROWS, 0.3),
    "separated": lambda rng, labels: labels + 0.5 * rng.random(ROWS),
    "reversed": lambda rng, labels: 0.5 * rng.random(ROWS) - labels,
    "any bits": any_bits,
    "neighbours": lambda rng, labels: 1 + EPS * (rng.integers(0, 9, ROWS) + 2 * labels),
    "zeros and denormals": lambda rng, labels: rng.choice(
        [-1.0, -2 * TINY, -TINY, -0.0, 0.0, TINY, 2 * TINY, 1.0], ROWS
    ),
    "infinities": lambda rng, labels: rng.choice([-np.inf, -1, 0, 1, np.inf], ROWS),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("share", [0.5, 0.01, 0.995])
@pytest.mark.parametrize("kind", SCORES)
def test_equals_sklearn(kind, share, dtype):
    rng = np.random.default_rng(sum(map(ord, kind)))
    labels = rng.random(ROWS) < share
    with np.errstate(over="ignore"):
        scores = SCORES[kind](rng, labels).astype(jnp.dtype(dtype))
    some = rng.random(ROWS) < 0.7
    weights = np.float32(rng.lognormal(sigma=2, size=ROWS)) * some
    area = jb.metrics.auc(scores, labels)
    assert area.dtype == jnp.float32
    assert area.shape == ()
    # Counted in integers, rounded three times at the end.
    np.testing.assert_allclose(area, by_sklearn(scores, labels), rtol=0, atol=2 * EPS)
    np.testing.assert_allclose(
        jb.metrics.auc(scores, labels, weights=some),
        by_sklearn(scores[some], labels[some]),
        rtol=0,
        atol=2 * EPS,
    )
    np.testing.assert_allclose(
        jb.metrics.auc(scores, labels, weights=weights),
        by_sklearn(scores, labels, weights),
        rtol=0,
        atol=np.log2(ROWS) * EPS,
    )


def test_half_precision_against_its_float32_copy():
    rng = np.random.default_rng(1)
    labels = rng.random(ROWS) < 0.5
    scores = np.float16((rng.normal(size=ROWS) + labels) * 1e-6)  # mostly denormal
    expected = jb.metrics.auc(scores.astype(np.float32), labels)
    assert jb.metrics.auc(scores, labels) == expected


@pytest.mark.parametrize("share", [0.5, 0.0001])
def test_many_rows_stay_exact(share):
    """Ranks summed in float32 would be off by far more."""
    rng = np.random.default_rng(0)
    labels = rng.random(200_000) < share
    scores = np.float32(rng.normal(size=labels.size) + labels)
    expected = by_sklearn(scores, labels)
    np.testing.assert_allclose(
        jb.metrics.auc(scores, labels), expected, rtol=0, atol=2 * EPS
    )


@pytest.mark.parametrize("scale", [1, 2**16, 2**30])
def test_sums_beyond_32_bits(scale):
    """As of 10^9 ranks: the partial sums of both halves come close to overflow."""
    rng = np.random.default_rng(scale)
    values = rng.integers(-scale, 2 * scale, 300_000, dtype=np.int64)
    values[:100_000] = 2 * scale - 1
    expected = int(values.sum())
    total = jax.jit(_exact_sum, static_argnums=1)(values.astype(np.int32), "float32")
    np.testing.assert_allclose(float(total), expected, rtol=2 * EPS)
    balanced = np.concatenate([values, -values, [-1]]).astype(np.int32)
    assert float(_exact_sum(jnp.asarray(balanced), "float32")) == -1


VALUES = [-np.inf, -1.0, -TINY, -0.0, 0.0, TINY, 1.0, np.nextafter(1, 2), np.inf]
rows = st.tuples(
    st.sampled_from(VALUES), st.booleans(), st.sampled_from([0, 0.5, 1, 3])
)


@pytest.mark.slow
@settings(deadline=None, max_examples=100, derandomize=True)
@given(
    st.sampled_from([1, 8]).flatmap(
        lambda size: st.lists(rows, min_size=size, max_size=size)
    )
)
def test_equals_counting_pairs(rows):
    scores, labels, weights = np.array(rows, np.float32).T
    close = {"rtol": 0, "atol": 8 * EPS}
    ones = np.ones_like(weights)
    area = jb.metrics.auc(scores, labels)
    np.testing.assert_allclose(area, by_pairs(scores, labels, ones), **close)
    area = jb.metrics.auc(scores, labels == 1, weights=weights)
    np.testing.assert_allclose(area, by_pairs(scores, labels, weights), **close)
    area = jb.metrics.auc(scores, labels, weights=weights > 0)
    np.testing.assert_allclose(area, by_pairs(scores, labels, weights > 0), **close)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "bfloat16"])
def test_dtypes_of_labels_and_weights(dtype):
    labels = jnp.array([0, 1, 1, 0, 1], dtype)
    scores = jnp.array([0.1, 0.2, 0.1, 0.4, 0.5])
    weights = jnp.array([2, 1, 1, 0, 3], dtype)
    expected = by_sklearn(scores, labels, weights)
    np.testing.assert_allclose(
        jb.metrics.auc(scores, labels, weights=weights), expected, rtol=2 * EPS
    )


@pytest.mark.slow
def test_double_precision(x64):
    rng = np.random.default_rng(3)
    labels = rng.random(5000) < 0.3
    # Ties and differences that float32 cannot see.
    scores = 1 + 1e-12 * rng.integers(0, 40, labels.size) + 1e-12 * labels
    weights = rng.random(labels.size)
    for given_weights in (None, weights):
        area = jb.metrics.auc(scores, labels, weights=given_weights)
        assert area.dtype == jnp.float64
        expected = by_sklearn(scores, labels, given_weights)
        np.testing.assert_allclose(area, expected, rtol=1e-13)


@pytest.mark.slow
def test_vmap_and_jit_change_nothing():
    rng = np.random.default_rng(4)
    labels = jnp.asarray(rng.random(ROWS) < 0.4)
    numbers = jnp.asarray(rng.random(ROWS), jnp.float32)
    scores = jnp.asarray(np.round(rng.normal(size=(3, ROWS)), 1), jnp.float32)
    for weights in (None, numbers):
        together = jax.jit(
            jax.vmap(lambda s, w=weights: jb.metrics.auc(s, labels, weights=w))
        )(scores)
        alone = [jb.metrics.auc(s, labels, weights=weights) for s in scores]
        np.testing.assert_array_equal(together, jnp.stack(alone))


def test_gradient_is_zero():
    labels = jnp.array([0, 1, 1])
    gradient = jax.grad(jb.metrics.auc)(jnp.array([0.0, 0.5, 1.0]), labels)
    np.testing.assert_array_equal(gradient, jnp.zeros(3))


SCORES_4, LABELS_4 = np.float32([0.1, 0.2, 0.3, 0.4]), np.array([0, 1, 0, 1])


@pytest.mark.parametrize(
    "scores, labels, weights",
    [
        ([], [], None),
        (SCORES_4, np.ones(4), None),
        (SCORES_4, np.zeros(4), None),
        (SCORES_4, LABELS_4, [True, False, True, False]),
        (SCORES_4, LABELS_4, [0.0, 1.0, 0.0, 1.0]),
        (SCORES_4, LABELS_4, [0.0, 0.0, 0.0, 0.0]),
        ([0.1, np.nan, 0.3, 0.4], LABELS_4, None),
        ([0.1, np.nan, 0.3, 0.4], LABELS_4, [1.0, 0.5, 1.0, 1.0]),
        (SCORES_4, [-1, 1, -1, 1], None),
        (SCORES_4, [0, 1, 2, 1], None),
        (SCORES_4, [0.0, 1.0, 0.3, 1.0], None),
        (SCORES_4, LABELS_4, [1.0, -1.0, 1.0, 1.0]),
        (SCORES_4, LABELS_4, [1.0, np.nan, 1.0, 1.0]),
        (SCORES_4, LABELS_4, [1.0, np.inf, 1.0, 1.0]),
    ],
)
def test_undefined_is_nan(scores, labels, weights):
    weights = None if weights is None else jnp.array(weights)
    area = jb.metrics.auc(np.float32(scores), np.float32(labels), weights=weights)
    assert np.isnan(area)


@pytest.mark.parametrize("dtype", [bool, np.float32])
def test_rows_of_weight_zero_may_hold_anything(dtype):
    scores = np.float32([0.1, np.nan, 0.3, 0.4, -np.inf])
    labels = np.array([0, 1, 1, 7, 0])
    weights = np.array([1, 0, 1, 0, 1], dtype)
    assert float(jb.metrics.auc(scores, labels, weights=weights)) == 1


@pytest.mark.parametrize(
    "scores, labels, weights, error, message",
    [
        (LABELS_4, LABELS_4, None, TypeError, "floating point, got int.*astype"),
        (
            jnp.zeros(4, jnp.float8_e4m3fn),
            LABELS_4,
            None,
            TypeError,
            "at least 16 bits, got float8_e4m3fn.*bfloat16",
        ),
        (SCORES_4[:, None], LABELS_4, None, ValueError, r"\[4, 1\].*logits.*vmap"),
        (np.float32(1), 1, None, ValueError, r"must be \[rows\], got \[\]"),
        (SCORES_4, LABELS_4[:3], None, ValueError, r"labels.*4 scores, got \[3\]"),
        (SCORES_4, LABELS_4, 1.0, ValueError, r"weights.*4 scores, got \[\]"),
        (SCORES_4, LABELS_4 * 1j, None, TypeError, "labels.*got complex"),
        (SCORES_4, LABELS_4, LABELS_4 * 1j, TypeError, "weights.*got complex"),
    ],
)
def test_wrong_arguments(scores, labels, weights, error, message):
    with pytest.raises(error, match=message):
        jb.metrics.auc(scores, labels, weights=weights)


def test_too_many_rows():
    rows = jax.ShapeDtypeStruct((2**30,), jnp.float32)
    with pytest.raises(ValueError, match=r"fewer than 2\^30 rows, got 1073741824"):
        jax.eval_shape(jb.metrics.auc, rows, rows)
