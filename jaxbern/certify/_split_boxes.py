"""Cutting a box of inputs into smaller ones, whose bounds are tighter."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxbern.certify._rounding import Bounds


def split(f: Callable[[jax.Array], jax.Array], box: Bounds, times: int) -> Bounds:
    """Cut ``box [in]`` into ``2 ** times`` boxes ``[2 ** times, in]`` that cover it.

    Each round halves every box along the input that moves ``f`` most: the one with the
    largest width times slope of ``f`` at the centre. The halves share a face, so they cover
    the box wherever that is put; ``f`` only guides.
    """
    places = jnp.arange(2**times)
    boxes = jax.tree.map(lambda e: jnp.broadcast_to(e, (len(places), *e.shape)), box)

    def halve(boxes, bit):
        # From the start there is a place for every box of the last round; its bits say
        # which halves it is in. So a round is the same program as the one before.
        right = (places >> bit) % 2 == 1
        return jax.vmap(lambda box, right: _half(f, box, right))(boxes, right), None

    return jax.lax.scan(halve, boxes, jnp.arange(times))[0]


def _half(f, box: Bounds, right: jax.Array) -> Bounds:
    centre = 0.5 * box.lower + 0.5 * box.upper
    slopes = jnp.sum(jnp.abs(jax.jacrev(f)(centre)), axis=0)
    # A flat spot says little of the rest of the box: the width counts a little as well.
    slopes = slopes + 1e-3 * jnp.max(slopes) + 1e-30
    along = jnp.arange(len(centre)) == jnp.argmax(slopes * (box.upper - box.lower))
    return Bounds(
        jnp.where(along & right, centre, box.lower),
        jnp.where(along & ~right, centre, box.upper),
    )
