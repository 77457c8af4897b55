"""Metrics that run on the device, inside ``jit``, ``vmap`` and ``scan``."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from jaxbern.kernels.array_types import Array, ArrayLike, Bool, Float, Int, Shaped

__all__ = ["auc"]

_MOST_ROWS = 2**30  # ranks and their doubles are int32


def auc(
    scores: Float[ArrayLike, " rows"],
    labels: Shaped[ArrayLike, " rows"],
    *,
    weights: Shaped[ArrayLike, " rows"] | None = None,
) -> Float[Array, ""]:
    """Compute the exact area under the ROC curve; ties count one half.

    ``auc = (sum over pairs of w_i w_j [s_i > s_j] + w_i w_j [s_i = s_j] / 2) /
    (sum over pairs of w_i w_j)``, over every positive ``i`` and negative ``j``. This is the
    value of ``sklearn.metrics.roc_auc_score``.

    ``scores [rows]`` are floating point, logits or probabilities, of any size or sign;
    ``-0.0`` equals ``0.0``. ``labels [rows]`` are booleans or the numbers 0 and 1.
    ``weights [rows]`` are either booleans (False leaves a row out, such as padding) or
    numbers of at least 0. Rows of weight 0 may hold anything, even NaN.

    Without weights or with booleans, pairs are counted in integers: the result is
    rounded only at the end, for fewer than 2^30 rows. Numeric weights are summed in
    pairs in float32, for an error of about 1e-7, and take a slower sort. The result
    is float32, or float64 if the scores or the weights are float64; its gradient is 0.

    The result is NaN, which lets a compiled training continue, if no pair can be formed
    (one class has no rows, so the area is undefined), or if a row that counts has a NaN
    score, a label other than 0 and 1, or a weight that is negative or not finite.

    Example:
      >>> import jax, jax.numpy as jnp, jaxbern as jb
      >>> labels = jnp.array([0, 0, 1, 1])
      >>> float(jb.metrics.auc(jnp.array([0.1, 0.4, 0.4, 0.8]), labels))
      0.875

      Two seeds at once; the last row is padding and is left out:

      >>> scores = jnp.array([[0.1, 0.4, 0.4, 0.8], [0.9, 0.2, 0.1, 0.8]])
      >>> rows = jnp.array([True, True, True, False])
      >>> jax.vmap(lambda s: jb.metrics.auc(s, labels, weights=rows))(scores).tolist()
      [0.75, 0.0]

    Reference: J. Hanley and B. McNeil, *The meaning and use of the area under a
    receiver operating characteristic (ROC) curve*, Radiology 143 (1982).
    """
    scores, labels = jnp.asarray(scores), jnp.asarray(labels)
    if weights is not None:
        weights = jnp.asarray(weights)
    _check(scores, labels, weights)
    return _auc(scores, labels, weights)


@jax.jit
def _auc(
    scores: Float[Array, " rows"],
    labels: Shaped[Array, " rows"],
    weights: Shaped[Array, " rows"] | None,
) -> Float[Array, ""]:
    if scores.size == 0:
        return jnp.full((), jnp.nan, _result_dtype(scores, weights))
    if labels.dtype == bool:
        positive, valid = labels, ~jnp.isnan(scores)
    else:
        positive = labels == 1
        valid = ~jnp.isnan(scores) & (positive | (labels == 0))
    if weights is None or weights.dtype == bool:
        counts = jnp.ones_like(positive) if weights is None else weights
        area = _counted(scores, positive & counts, ~positive & counts)
    else:
        dtype = _result_dtype(scores, weights)
        weights = weights.astype(dtype)
        counts = weights != 0
        valid &= (weights >= 0) & jnp.isfinite(weights)
        area = _weighted(scores, jnp.where(positive, weights, -weights))
    return jnp.where(jnp.all(valid | ~counts), area, jnp.nan)


def _counted(
    scores: Float[Array, " rows"],
    positive: Bool[Array, " rows"],
    negative: Bool[Array, " rows"],
) -> Float[Array, ""]:
    """Compute the area from ranks; rows neither positive nor negative do not count.

    With ranks ``r`` from 0, mean ranks within ties, ``p`` positives, ``q`` negatives:
    ``area = 1/2 + sum over positives of (2 r - (p + q - 1)) / (2 p q)``.
    """
    p = jnp.sum(positive, dtype=jnp.int32)
    q = jnp.sum(negative, dtype=jnp.int32)
    # Sorting one operand is much faster than two, so the label is kept in the lowest
    # bit. Rows that do not count sort last and do not change the ranks of the others.
    key = _without_top_bit(_sort_key(scores))
    packed = (key << 1) | positive.astype(key.dtype)
    ignored = ~jnp.zeros_like(packed)
    packed = lax.sort(jnp.where(positive | negative, packed, ignored))
    start, stop = _tie_bounds(packed >> 1)
    doubled_rank = start + stop - 1
    summed = (packed & 1 == 1) & (packed != ignored)
    total = _exact_sum(
        jnp.where(summed, doubled_rank - (p + q - 1), 0), _result_dtype(scores, None)
    )
    return 0.5 + total / (2 * p.astype(total.dtype)) / q.astype(total.dtype)


def _weighted(
    scores: Float[Array, " rows"], signed: Float[Array, " rows"]
) -> Float[Array, ""]:
    """Compute the area for weights ``|signed|``; the sign of ``signed`` is the class."""
    key, signed = lax.sort((_sort_key(scores), signed), num_keys=1)
    start, stop = _tie_bounds(key)
    # JAX computes cumulative sums as trees: their error grows with log(length).
    negatives = jnp.pad(jnp.cumsum(jnp.maximum(-signed, 0)), (1, 0))
    negatives = negatives / negatives[-1]
    positives = jnp.maximum(signed, 0)
    below = (negatives[start] + negatives[stop]) / 2
    return jnp.cumsum(positives * below)[-1] / jnp.cumsum(positives)[-1]


def _sort_key(scores: Float[Array, " rows"]) -> Shaped[Array, " rows"]:
    """Map scores to unsigned integers of the same order, equal where scores are equal.

    Comparing bits instead of floats keeps denormals apart, which some CPUs flush to 0.
    """
    bits = jnp.finfo(scores.dtype).bits
    raw = lax.bitcast_convert_type(scores, f"uint{bits}")
    sign = jnp.array(1 << (bits - 1), raw.dtype)
    raw = jnp.where(raw == sign, 0, raw)  # -0.0
    return jnp.where(raw >= sign, ~raw, raw | sign)


def _without_top_bit(key: Shaped[Array, " rows"]) -> Shaped[Array, " rows"]:
    """Map keys to words of 32 or 64 bits in the same order whose highest bit is 0.

    A score takes all 32 bits, but of its ``2^high`` possible prefixes fewer than
    ``2^(high-1)`` occur when there are fewer rows than that. So the prefixes that occur
    are numbered, and the number replaces the prefix.
    """
    if key.dtype == jnp.uint16:
        return key.astype(jnp.uint32)
    high = max(5, key.size.bit_length() + 1)
    low = jnp.iinfo(key.dtype).bits - high
    prefix = (key >> low).astype(jnp.int32)
    occurs = jnp.zeros(2**high, bool).at[prefix].set(True)
    number = _count_before(occurs, prefix).astype(key.dtype)
    return (number << low) | (key & ((1 << low) - 1))


def _tie_bounds(
    ordered: Shaped[Array, " rows"],
) -> tuple[Int[Array, " rows"], Int[Array, " rows"]]:
    """Find where the equals of each entry of a sorted array start and stop."""
    index = jnp.arange(ordered.size, dtype=jnp.int32)
    is_last = jnp.append(ordered[1:] != ordered[:-1], True)
    group = _count_before(is_last, index)
    stops = jnp.zeros(ordered.size + 1, jnp.int32)
    stops = stops.at[group + 1].max(index + 1, indices_are_sorted=True)
    return stops[group], stops[group + 1]


def _count_before(
    marks: Bool[Array, " marks"], index: Int[Array, " rows"]
) -> Int[Array, " rows"]:
    """Count the marks before each index.

    Marks are packed 32 to a word. A cumulative sum over the words and one population
    count replace a cumulative sum over all marks, which is several times as slow.
    """
    lanes = jnp.pad(marks, (0, -marks.size % 32)).reshape(-1, 32).astype(jnp.uint32)
    shifts = jnp.arange(32, dtype=jnp.uint32)[None]
    words = jnp.sum(lanes << shifts, axis=1, dtype=jnp.uint32)
    ones = lax.population_count(words).astype(jnp.int32)
    before = jnp.cumsum(ones, dtype=jnp.int32) - ones
    word, lane = index >> 5, (index & 31).astype(jnp.uint32)
    lower_lanes = (jnp.uint32(1) << lane) - 1
    within = lax.population_count(words[word] & lower_lanes).astype(jnp.int32)
    return before[word] + within


def _exact_sum(values: Int[Array, " rows"], dtype: DTypeLike) -> Float[Array, ""]:
    """Sum fewer than 2^30 int32 numbers exactly; only the result is rounded.

    Upper and lower 16 bits are summed separately, in blocks of 2^15, to avoid overflow.
    """
    blocks = jnp.pad(values, (0, -values.size % 2**15)).reshape(-1, 2**15)
    low = jnp.sum(blocks & 0xFFFF, axis=1, dtype=jnp.int32)
    high = jnp.sum(blocks >> 16, axis=1, dtype=jnp.int32) + (low >> 16)
    low = jnp.sum(low & 0xFFFF, dtype=jnp.int32)
    middle = jnp.sum(high & 0xFFFF, dtype=jnp.int32) + (low >> 16)
    high = jnp.sum(high >> 16, dtype=jnp.int32) + (middle >> 16)
    low, middle, high = (
        part.astype(dtype) for part in (low & 0xFFFF, middle & 0xFFFF, high)
    )
    return high * 2.0**32 + middle * 2.0**16 + low


def _result_dtype(scores: Array, weights: Array | None) -> jnp.dtype:
    given = [a.dtype for a in (scores, weights) if a is not None]
    return jnp.dtype(jnp.float64 if jnp.dtype("float64") in given else jnp.float32)


def _check(scores: Array, labels: Array, weights: Array | None) -> None:
    if not jnp.issubdtype(scores.dtype, jnp.floating):
        raise TypeError(
            f"scores must be floating point, got {scores.dtype}; "
            "write scores.astype(jnp.float32)"
        )
    if jnp.finfo(scores.dtype).bits < 16:
        raise TypeError(
            f"scores must have at least 16 bits, got {scores.dtype}; "
            "write scores.astype(jnp.bfloat16)"
        )
    if scores.ndim != 1:
        raise ValueError(
            f"scores must be [rows], got {list(scores.shape)}; for two logits write "
            "logits[:, 1] - logits[:, 0], for several seeds jax.vmap(jb.metrics.auc)"
        )
    if scores.size >= _MOST_ROWS:
        raise ValueError(f"scores must have fewer than 2^30 rows, got {scores.size}")
    for name, values in (("labels", labels), ("weights", weights)):
        if values is None:
            continue
        if jnp.issubdtype(values.dtype, jnp.complexfloating):
            raise TypeError(
                f"{name} must be booleans or real numbers, got {values.dtype}"
            )
        if values.shape != scores.shape:
            raise ValueError(
                f"{name} must have one entry for each of the {scores.size} scores, "
                f"got {list(values.shape)}"
            )
