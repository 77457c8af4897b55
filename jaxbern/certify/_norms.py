"""Upper bounds on operator norms of matrices, sound in float arithmetic."""

import math

import jax
import jax.numpy as jnp

from jaxbern.certify._layers import matmul
from jaxbern.certify._rounding import FLOOR, gamma, size

_SQUARINGS = 8


def upper_norm(matrix: jax.Array, norm: float) -> jax.Array:
    """Upper bound on ``sup |matrix x| / |x|`` in the norm 1, 2 or infinity.

    Entries may be off by a few roundings.
    """
    if norm == 1:  # the largest sum of a column, which is a row of the transpose
        return upper_norm(matrix.T, math.inf)
    if norm == math.inf:
        sums = jnp.sum(size(matrix), axis=1)
        return jnp.max(sums) * (1 + gamma(matrix.shape[1], matrix.dtype))
    return _spectral(matrix)


def _spectral(matrix: jax.Array) -> jax.Array:
    """Upper bound on the largest singular value, within a factor ``n^(1/1024)``.

    Power iteration would come from below. From above: in the spectral norm ``|M|^2`` is
    ``|M^T M|``, and ``|M|`` is at most the Frobenius norm. So square again and again, take the
    Frobenius norm in the end, and as many square roots. Every product is scaled to the
    Frobenius norm one, ``M = f N``. Rounding moves ``N^T N`` by at most ``gamma`` in the
    Frobenius norm, hence in the spectral one, and the entries of ``N`` by less:

        |N_k|^2 <= f_{k+1} (|N_{k+1}| + gamma) + gamma.
    """
    if matrix.shape[0] < matrix.shape[1]:
        matrix = matrix.T  # the norm is the same, the products are smaller
    rows, columns = matrix.shape
    error = gamma(rows, matrix.dtype)

    def square(scaled, _):
        return _scaled(matmul(scaled.T, scaled))

    def root(norm, scale):
        return jnp.sqrt(scale * (norm + error) + error) * (1 + error), None

    scaled, outer = _scaled(matrix)
    scaled, inner = square(scaled, None)
    _, scales = jax.lax.scan(square, scaled, length=_SQUARINGS)
    # The last Frobenius norm is one, but for the rounding of these squares.
    norm = jnp.asarray(1 + gamma(columns * columns, matrix.dtype), matrix.dtype)
    norm, _ = jax.lax.scan(root, norm, scales, reverse=True)
    norm, _ = root(norm, inner)
    return outer * (norm + 2 * error) * (1 + error)


def _scaled(matrix):
    scale = jnp.maximum(jnp.sqrt(jnp.sum(jnp.square(matrix))), FLOOR)
    return matrix / scale, scale
