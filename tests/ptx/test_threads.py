"""Threads together: shuffles, votes, shared memory, barriers, divergence."""

import numpy as np
import pytest

from . import oracle
from .errors import Divergence, Endless, MemoryFault, Race, Undefined, Unsupported
from .kernel import Kernel, OutputSpec
from .snippet import entry, launch

STORE = """
    mad.wide.u32 %w9, %r0, 4, %w0;
    st.global.b32 [%w9], %r9;
"""
SHARED = ".shared .align 16 .b8 tile[512];"


def words(threads=32):
    return OutputSpec((threads,), np.uint32)


def run(body, threads=32, **options):
    """What each thread leaves in %r9."""
    return launch(body + STORE, words(threads), threads=threads, **options).outputs[0]


# ---------------------------------------------------------------- warps


@pytest.mark.parametrize("segment", [0, 0x1800, 0x1C00])
@pytest.mark.parametrize("offset", [0, 1, 3, 16, 31])
@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffles(mode, offset, segment):
    clamp = segment | (0 if mode == "up" else 31)
    body = f"""
        mul.lo.u32 %r1, %r0, 7;
        shfl.sync.{mode}.b32 %r2|%p1, %r1, {offset}, {clamp}, -1;
        selp.b32 %r3, 1000, 0, %p1;
        add.u32 %r9, %r2, %r3;"""
    expected = []
    for thread in range(64):
        source, inside = oracle.shuffle(mode, thread % 32, offset, clamp)
        expected.append(7 * (thread // 32 * 32 + source) + 1000 * inside)
    assert run(body, 64).tolist() == expected


def test_shuffle_needs_its_source_and_its_members():
    half = "setp.lt.u32 %p1, %r0, 16;\nmov.u32 %r9, %r0;\n"
    reach = "@%p1 shfl.sync.bfly.b32 %r9, %r0, 16, 31, 0xffff;"
    with pytest.raises(Undefined, match="does not take part"):
        run(half + reach)
    with pytest.raises(Divergence, match="member mask"):
        run(half + "@%p1 shfl.sync.bfly.b32 %r9, %r0, 1, 31, -1;")
    got = run(half + "@%p1 shfl.sync.bfly.b32 %r9, %r0, 1, 31, 0xffff;")
    assert got.tolist() == [t ^ 1 if t < 16 else t for t in range(32)]


def test_votes_and_warp_reductions():
    body = """
        setp.ge.u32 %p1, %r0, 30;
        vote.sync.ballot.b32 %r1, %p1, -1;
        vote.sync.any.pred %p2, %p1, -1;
        vote.sync.all.pred %p3, %p1, -1;
        selp.b32 %r2, 1, 0, %p2;
        selp.b32 %r3, 2, 0, %p3;
        redux.sync.add.s32 %r4, %r0, -1;
        redux.sync.max.u32 %r5, %r0, -1;
        xor.b32 %r9, %r1, %r2;
        xor.b32 %r9, %r9, %r3;
        add.u32 %r9, %r9, %r4;
        add.u32 %r9, %r9, %r5;"""
    expected = []
    for warp in range(2):
        threads = range(32 * warp, 32 * warp + 32)
        ballot = sum((t >= 30) << (t % 32) for t in threads)
        word = (
            ballot ^ any(t >= 30 for t in threads) ^ 2 * all(t >= 30 for t in threads)
        )
        expected += [(word + sum(threads) + max(threads)) % 2**32] * 32
    assert run(body, 64).tolist() == expected


# ---------------------------------------------------------------- shared memory

REVERSE = """
    mov.b32 %r1, tile;
    shl.b32 %r2, %r0, 2;
    add.u32 %r3, %r1, %r2;
    st.shared.b32 [%r3], %r0;
    {barrier}
    sub.u32 %r4, 508, %r2;
    add.u32 %r4, %r1, %r4;
    ld.shared.b32 %r9, [%r4];
"""


def test_shared_memory_and_barrier():
    got = run(REVERSE.format(barrier="bar.sync 0;"), 128, module=SHARED)
    assert got.tolist() == list(range(127, -1, -1))


def test_a_barrier_that_counts_its_threads():
    body = REVERSE.format(barrier="mov.b32 %r5, 1;\nbar.sync %r5, 128;")
    assert run(body, 128, module=SHARED).tolist() == list(range(127, -1, -1))
    for other in ("bar.sync 1, 64;", "bar.sync %r0, 128;", "bar.sync 16;"):
        with pytest.raises(Unsupported, match="barrier"):
            run(REVERSE.format(barrier=other), 128, module=SHARED)


def test_a_missing_barrier_is_a_race():
    with pytest.raises(Race, match="written by another warp"):
        run(REVERSE.format(barrier=""), 128, module=SHARED)


def test_overwriting_what_another_warp_still_reads_is_a_race():
    again = "st.shared.b32 [%r4], %r9;"
    body = REVERSE.format(barrier="bar.sync 0;")
    with pytest.raises(Race, match="read by another warp"):
        run(f"{body}\nst.shared.b32 [%r3], 7;", 128, module=SHARED)
    run(f"{body}\nbar.sync 0;\n{again}", 128, module=SHARED)
    # Both warps read the byte in one access; then one of them overwrites it.
    body = """st.shared.b32 [tile], 5;
        bar.sync 0;
        ld.shared.b32 %r9, [tile];
        setp.{}.u32 %p1, %r0, 32;
        @%p1 st.shared.b32 [tile], 7;"""
    for warp in ("lt", "ge"):
        with pytest.raises(Race, match="read by another warp"):
            run(body.format(warp), 64, module=SHARED)


def test_two_threads_storing_different_values_is_a_race():
    with pytest.raises(Race, match="different values"):
        run("st.shared.b32 [tile], %r0;\nmov.u32 %r9, 0;", module=SHARED)
    with pytest.raises(Race, match="different values"):
        launch("st.global.b32 [%w0], %r0;", words())


def test_shared_memory_is_checked():
    with pytest.raises(Undefined, match="shared memory"):
        run("ld.shared.b32 %r9, [tile];", module=SHARED)
    for offset in (512, -4, 510):
        with pytest.raises(MemoryFault, match="shared memory") as caught:
            run(f"ld.shared.b32 %r9, [tile+{offset}];", module=SHARED)
        assert caught.value.count == 32


def test_dynamic_shared_memory_and_generic_addresses():
    body = """
        cvta.shared.u64 %w1, %w2;
        mul.wide.u32 %w3, %r0, 4;
        add.u64 %w1, %w1, %w3;
        st.b32 [%w1], %r0;
        cvta.to.shared.u64 %w4, %w1;
        ld.shared.b32 %r9, [%w4];
        ld.b32 %r8, [%w1];
        add.u32 %r9, %r9, %r8;"""
    module = ".extern .shared .align 16 .b8 dynamic[];"
    body = "mov.u64 %w2, dynamic;" + body
    got = run(body, module=module, shared_bytes=128)
    assert got.tolist() == [2 * t for t in range(32)]
    with pytest.raises(MemoryFault, match="124 bytes of shared"):
        run(body, module=module, shared_bytes=124)


ASYNC = """
    mov.b32 %r1, tile;
    mul.lo.u32 %r2, %r0, 16;
    add.u32 %r1, %r1, %r2;
    mad.wide.u32 %w5, %r0, 16, %w1;
    setp.lt.u32 %p1, %r0, 8;
    selp.b32 %r3, 16, 0, %p1;
    cp.async.cg.shared.global [%r1], [%w5], 16, %r3;
    cp.async.commit_group;
    {wait}
    ld.shared.b32 %r9, [%r1+12];
"""


def test_asynchronous_copies_arrive_when_waited_for():
    source = np.arange(128, dtype=np.uint32)

    def go(wait):
        text = ASYNC.format(wait=wait) + STORE
        return launch(text, words(), source[:32], module=SHARED)

    result = go("cp.async.wait_group 0;")
    assert result.outputs[0].tolist() == [4 * t + 3 if t < 8 else 0 for t in range(32)]
    assert result.bytes_loaded == (0, 128)
    for wait in ("", "cp.async.wait_group 1;"):
        with pytest.raises(Undefined, match="shared memory"):
            go(wait)


# ---------------------------------------------------------------- control flow

COLLATZ = """
    mov.u32 %r9, 0;
    add.u32 %r1, %r0, 1;
LOOP:
    setp.eq.u32 %p1, %r1, 1;
    @%p1 bra DONE;
    and.b32 %r2, %r1, 1;
    setp.eq.u32 %p2, %r2, 1;
    @%p2 bra ODD;
    shr.u32 %r1, %r1, 1;
    bra.uni NEXT;
ODD:
    mad.lo.u32 %r1, %r1, 3, 1;
NEXT:
    add.u32 %r9, %r9, 1;
    bra LOOP;
DONE:
"""


def collatz(n):
    steps = 0
    while n != 1:
        n, steps = (3 * n + 1 if n % 2 else n // 2), steps + 1
    return steps


@pytest.mark.parametrize("threads", [1, 5, 32, 100])
def test_threads_may_part_and_meet_again(threads):
    got = run(COLLATZ, threads)
    assert got.tolist() == [collatz(n + 1) for n in range(threads)]


def test_diverged_threads_meet_before_a_barrier():
    body = COLLATZ + "bar.sync 0;\nredux.sync.add.s32 %r9, %r9, -1;"
    assert run(body, 32).tolist() == [sum(collatz(n + 1) for n in range(32))] * 32


def test_a_barrier_that_some_threads_skip():
    skip = "setp.lt.u32 %p1, %r0, 40;\nmov.u32 %r9, 0;\n{}\nbar.sync 0;\nAFTER:"
    with pytest.raises(Divergence, match="barrier"):
        run(skip.format("@%p1 bra AFTER;"), 64)
    # Threads that have left need not arrive.
    result = launch(skip.format("@%p1 ret;") + STORE, words(64), threads=64)
    assert result.unwritten == (40 * 4,)


def test_blocks_run_together_but_apart():
    body = """
        .reg .b32 %n, %i;
        mov.u32 %n, %ctaid.x;
        mad.lo.u32 %i, %n, 128, %r0;
        st.shared.b32 [tile], %n;
        bar.sync 0;
        ld.shared.b32 %r9, [tile];
        mov.u32 %r5, 0;
    AGAIN:
        setp.ge.u32 %p1, %r5, %n;
        @%p1 bra OUT;
        add.u32 %r9, %r9, 1000;
        add.u32 %r5, %r5, 1;
        bra AGAIN;
    OUT:
        mad.wide.u32 %w9, %i, 4, %w0;
        st.global.b32 [%w9], %r9;"""
    kernel = Kernel(entry(body, 1, module=SHARED))
    result = kernel.launch(300, 128, [OutputSpec((300, 128), np.uint32)])
    expected = np.repeat(1001 * np.arange(300)[:, None], 128, axis=1)
    np.testing.assert_array_equal(result.outputs[0], expected)


def test_grid_and_block_in_three_dimensions():
    body = """
        .reg .b32 %n<9>;
        mov.u32 %n0, %ctaid.z; mov.u32 %n1, %nctaid.y; mov.u32 %n2, %ctaid.y;
        mad.lo.u32 %n3, %n0, %n1, %n2;
        mov.u32 %n1, %nctaid.x; mov.u32 %n2, %ctaid.x;
        mad.lo.u32 %n3, %n3, %n1, %n2;
        mov.u32 %n1, %ntid.y; mov.u32 %n2, %tid.y;
        mad.lo.u32 %n3, %n3, %n1, %n2;
        mov.u32 %n1, %ntid.x; mov.u32 %n2, %tid.x;
        mad.lo.u32 %n3, %n3, %n1, %n2;
        mad.wide.u32 %w1, %n3, 4, %w0;
        st.global.b32 [%w1], %n3;"""
    result = Kernel(entry(body)).launch(
        (2, 3, 4), (8, 4), [OutputSpec((24, 32), np.uint32)]
    )
    np.testing.assert_array_equal(result.outputs[0].ravel(), np.arange(24 * 32))


def test_a_loop_without_end_is_stopped():
    with pytest.raises(Endless):
        run("FOREVER: bra FOREVER;", max_steps=1000)
