"""Compute a random order of ``n`` rows, each entry independently of the others.

``jax.random.permutation`` sorts, twice: on a CPU that took a third of an epoch of a small
network. A block cipher on the numbers below ``2^bits`` is a permutation of them at the
cost of some integer arithmetic per entry, with no memory besides the result.
"""

import jax
import jax.numpy as jnp
from jax import lax

from jaxbern.kernels.array_types import Array, Int, Shaped

_ROUNDS = 8  # twice as many as pass the statistical tests


def order(key: Shaped[Array, ""], rows: int) -> Int[Array, " {rows}"]:
    """Return ``0 .. rows - 1`` in random order, int32 ``[rows]``.

    Uses a Feistel network on the smallest power of two that is at least ``rows``; numbers
    outside the range are enciphered again until they are inside (cycle walking), which
    gives a permutation. Suitable for shuffling, not for cryptography.

    >>> sorted(order(jax.random.key(0), 6).tolist())
    [0, 1, 2, 3, 4, 5]

    Reference: J. Black and P. Rogaway, *Ciphers with arbitrary finite domains*, CT-RSA
    2002.
    """
    # With fewer bits, some orders are more frequent.
    bits = max(8, (rows - 1).bit_length())
    keys = jax.random.bits(key, (_ROUNDS,), jnp.uint32)

    def again(entries):
        return jnp.where(entries < rows, entries, _encipher(entries, keys, bits))

    entries = _encipher(jnp.arange(rows, dtype=jnp.uint32), keys, bits)
    entries = lax.while_loop(lambda e: jnp.any(e >= rows), again, entries)
    return entries.astype(jnp.int32)


def _encipher(
    entries: Shaped[Array, " rows"], keys: Shaped[Array, " rounds"], bits: int
) -> Shaped[Array, " rows"]:
    """Apply Feistel rounds: change one half of the bits by a hash of the other, swap."""
    width, other = bits // 2, bits - bits // 2  # of the high and of the low half
    high, low = entries >> other, entries & ((1 << other) - 1)
    for key in keys:
        high, low = low, (high ^ _hash(low + key)) & ((1 << width) - 1)
        width, other = other, width
    return (high << other) | low


def _hash(word: Shaped[Array, "..."]) -> Shaped[Array, "..."]:
    """Mix the bits of a word (the finaliser of MurmurHash3)."""
    word = (word ^ (word >> 16)) * jnp.uint32(0x85EBCA6B)
    word = (word ^ (word >> 13)) * jnp.uint32(0xC2B2AE35)
    return word ^ (word >> 16)
