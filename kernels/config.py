"""Launch configurations of the GPU kernels: data, and the reasons for it.

Compiled for A30 and H100, float32. In flight means bytes on their way from memory:
at 933 GB/s and about 0.5 us an A30 needs 8 KiB per SM, at 3.35 TB/s an H100 16 KiB.

- A tile is 32 columns wide where ``x`` is that wide: 128 bytes, one cache line, for each
  warp. More columns than lanes would give each thread coefficients of several.
- The forward kernel has 4 warps: small programs fill the last wave best, and nothing
  is shared among warps. 32 registers at degree 9, 48 at 25, hence 2048 and 1280 threads
  per SM, each with two to four loads under way: 16 KiB or more.
- The gradient kernel has 8 warps on the same columns, whose sums are added once at the
  end: the more warps, the more rows share one partial sum in memory. 48 registers at
  degree 9, 80 to 94 at 25: 1280 threads, and 512 or more, with up to eight loads each.
- On cards with half the lanes for multiply-adds it has 4 warps, each with twice the rows:
  fewer threads keep those lanes busy, and to add up the warps takes multiply-adds' time.
- Four tiles in flight: enough by the count above, and ptxas spills nothing at any
  degree up to 64. Two with an addend, and with sums beyond the ends up to degree
  15, or on an A30, where four would cost occupancy.
"""

import functools
import os

import jax

from jaxbern.kernels import tuned
from jaxbern.kernels.launch import Launch as Launch

LANES = 32
UNROLL = 4
FORWARD_THREADS = 128
GRADIENT_THREADS_PER_LANE = 2

# Programs below which a card is not full: two of the gradient, or four of the forward
# kernel's smaller ones, for each of an H100's 132 SMs. Vmapped seeds are groups of
# their own and count.
FORWARD_PROGRAMS = 512
GRADIENT_PROGRAMS = 256


# Rows and columns of every tile, where kernels cannot be given any other.
Tile = tuple[int, int] | None


def forward(
    sizes: tuple[int, int, int],
    degree: int,
    *,
    addend: bool = False,
    tile: Tile = None,
) -> Launch:
    """Launch for ``sizes = (S, B, W)``; with an ``addend`` a tile is two loads.

    Each program loads ``n+1`` coefficients per column first, which costs as much as two
    elements. Sixteen rows per thread hide that where memory is the limit (up to degree
    15 on an A30) and leave many programs to even out the last wave; beyond, where
    arithmetic is, thirty-two halve it.
    """
    if found := _tuned("forward", sizes, degree, tile):
        return found
    elements = 16 if degree <= 15 else 32
    unroll = UNROLL // 2 if addend else UNROLL
    tile = tile or _tile(sizes, FORWARD_THREADS)
    return _fit(sizes, tile, elements, 4, FORWARD_PROGRAMS, unroll)


def gradient(
    sizes: tuple[int, int, int],
    degree: int,
    *,
    ends: bool = False,
    tile: Tile = None,
) -> Launch:
    """Launch for ``sizes = (S, B, W)``; with ``ends`` there are two sums more.

    A program writes 4 bytes per sum and column beside the 12 bytes of each element:
    with 17 rows for each sum that is less than two percent. To add up its warps costs
    as much as four elements.

    The sums of what is beyond the ends need registers: two tiles in flight make up for
    that. Above degree 15 an H100 keeps four, as 512 threads need them for its 16 KiB; an
    A30 needs 8 KiB, which two tiles of 640 threads have.
    """
    if found := _tuned("gradient", sizes, degree, tile):
        return found
    sums = degree + (3 if ends else 1)
    lanes = fma_lanes()
    threads = tile[0] * tile[1] if tile else GRADIENT_THREADS_PER_LANE * lanes
    tile = tile or _tile(sizes, threads)
    elements = _power_of_two(17 * sums) * LANES // threads
    unroll = UNROLL // 2 if ends and (degree <= 15 or lanes == 64) else UNROLL
    return _fit(sizes, tile, elements, 8, GRADIENT_PROGRAMS, unroll)


def _tuned(
    kernel: str, sizes: tuple[int, int, int], degree: int, tile: Tile
) -> Launch | None:
    """What was measured for this call on the device at hand, if anything was.

    Without addend and interval, with which as many rows are a good choice too.
    """
    device = _device_kind()
    name = tuned_name(kernel, tile)
    return tuned.lookup(name, device, sizes, degree) if device else None


def tuned_name(kernel: str, tile: Tile) -> str:
    """The name in the file of tuned launches: kernels with another tile have their own."""
    return f"{kernel} in {tile[0]}x{tile[1]}" if tile else kernel


def fma_lanes() -> int:
    """Lanes of the multiply-add pipe of the GPU that is compiled for.

    That is the one at hand, or the one whose compute capability ``JAXBERN_CAPABILITY`` gives
    when a program is compiled for another machine. An A30 or A100 (8.0) has half as many
    as all others since.
    """
    capability = os.environ.get("JAXBERN_CAPABILITY") or _capability()
    return 64 if capability == "8.0" else 128


@functools.cache
def _capability() -> str | None:
    try:
        return jax.devices("cuda")[0].compute_capability
    except RuntimeError:
        return None


@functools.cache
def _device_kind() -> str | None:
    try:
        return jax.devices("cuda")[0].device_kind
    except RuntimeError:
        return None


def _tile(sizes: tuple[int, int, int], threads: int) -> tuple[int, int]:
    """Make a tile as wide as a warp, or as ``x`` if narrower; one element per thread."""
    _, batch, width = sizes
    rows = min(_power_of_two(batch), threads // min(_power_of_two(width), LANES))
    return rows, min(_power_of_two(width), threads // rows)


def _fit(
    sizes: tuple[int, int, int],
    tile: tuple[int, int],
    elements: int,
    few: int,
    programs: int,
    unroll: int,
) -> Launch:
    """``elements`` per thread, or fewer to have ``programs``.

    With a ``few`` elements a program's fixed cost counts: less only if most of the card
    would be idle otherwise.
    """
    (groups, batch, width), (rows, columns) = sizes, tile
    strips = groups * -(-width // columns)
    tiles = min(elements, _power_of_two(-(-batch // rows)))
    while tiles > 1:
        wanted = programs if tiles > few else programs // 4
        if strips * -(-batch // (rows * tiles)) >= wanted:
            break
        tiles //= 2
    unroll = min(unroll, tiles)
    return Launch(rows, columns, unroll, tiles // unroll)


def _power_of_two(number: int) -> int:
    """The least power of two that is no less than ``number``."""
    return 1 << (number - 1).bit_length()
