"""Memory, parameters, complaints and accounts."""

import numpy as np
import pytest

from tests import ptx
from tests.ptx.snippet import HEADER, entry, evaluate, launch

WORDS = np.arange(64, dtype=np.uint32) * 0x01010101


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize(
    ("bits", "length"), [(8, 4), (16, 4), (32, 8), (64, 4), (128, 1)]
)
def test_vector_loads_and_stores(bits, length):
    names = [f"%x{n}" for n in range(length)]
    group = f"{{{', '.join(names)}}}" if length > 1 else names[0]
    vector = f".v{length}" if length > 1 else ""
    size = bits * length // 8
    body = f"""
        .reg .b{max(bits, 16)} {", ".join(names)};
        mad.wide.u32 %w0, %r0, {size}, %w0;
        mad.wide.u32 %w1, %r0, {size}, %w1;
        ld.global{vector}.b{bits} {group}, [%w0];
        st.global{vector}.b{bits} [%w1], {group};"""
    source = np.random.default_rng(0).integers(0, 256, 32 * size, np.uint8)
    result = launch(body, source, ptx.OutputSpec(source.shape, np.uint8))
    np.testing.assert_array_equal(result.outputs[0], source)
    assert result.bytes_loaded == (32 * size, 0)
    assert result.bytes_stored == (0, 32 * size)


@pytest.mark.parametrize(
    ("kind", "expected"), [("u8", 0x9A), ("b8", 0x9A), ("s8", 0xFFFFFF9A)]
)
def test_narrow_loads_extend(kind, expected):
    # evaluate() leaves the address of its operand in %w0.
    text = f"ld.global.{kind} %d, [%w0];"
    assert evaluate(text, 32, [32], [(0x1234569A,)]) == [expected]


def test_moves_take_registers_apart_and_together():
    swap = "mov.b32 {%h1, %h2}, %a; mov.b32 %d, {%h2, %h1};"
    assert evaluate(swap, 32, [32], [(0x12345678,)]) == [0x56781234]
    halves = "mov.b64 {%r1, _}, %a; mov.b64 {_, %r2}, %a; mov.b64 %d, {%r2, %r1};"
    assert evaluate(halves, 64, [64], [(0x0123456789ABCDEF,)]) == [0x89ABCDEF01234567]
    quad = "mov.b64 {%h1, %h2, %h3, %h4}, %a; mov.b64 %d, {%h4, %h3, %h2, %h1};"
    assert evaluate(quad, 64, [64], [(0x0123456789ABCDEF,)]) == [0xCDEF89AB45670123]
    wide = "mov.b128 %q1, {%a, %b}; mov.b128 {_, %d}, %q1;"
    assert evaluate(wide, 64, [64, 64], [(1, 2)]) == [2]


def test_inline_assembly_has_its_own_registers():
    body = """add.u32 %r1, %a, 1;
        { .reg .b32 %r1, lo; mov.b32 %r1, 100; add.u32 lo, %r1, %a;
          { .reg .b32 lo; mov.b32 lo, 5; }
          mov.b32 %r2, lo; }
        add.u32 %d, %r1, %r2;"""
    assert evaluate(body, 32, [32], [(7,)]) == [7 + 1 + 107]


def test_guards_leave_the_other_threads_alone():
    body = """setp.lt.u32 %p1, %a, 10;
        mov.b32 %d, 1;
        @%p1 mov.b32 %d, 2;
        @!%p1 add.u32 %d, %d, 3;"""
    assert evaluate(body, 32, [32], [(5,), (15,), (9,)]) == [2, 4, 2]


def test_scalars_and_parameters():
    text = (
        HEADER
        + """
    .visible .entry scale(.param .u64 .ptr .global .align 1 out, .param .f32 x,
        .param .b32 n, .param .s64 k, .param .u8 flag, .param .u64 scratch)
    .reqntid 32
    { .reg .b32 %r<5>; .reg .b64 %w<5>;
      ld.param.b64 %w0, [out]; ld.param.f32 %r0, [x]; ld.param.b32 %r1, [n];
      ld.param.s64 %w1, [k]; ld.param.u8 %r2, [flag]; ld.param.u64 %w2, [scratch];
      cvt.u32.u64 %r3, %w1;
      st.global.v4.b32 [%w0], {%r0, %r1, %r2, %r3}; st.global.b64 [%w0+16], %w2;
      ret; }"""
    )
    kernel = ptx.Kernel(text)
    args = [ptx.OutputSpec((6,), np.int32), 1.5, -3, -4, True]
    result = kernel.launch(1, args=args)
    assert result.outputs[0].tolist() == [0x3FC00000, -3, 1, -4, 0, 0]
    args[1:3] = [np.float32(2.0), np.int32(9)]
    assert kernel.launch(1, args=args).outputs[0].tolist()[:2] == [0x40000000, 9]
    with pytest.raises(ValueError, match="needs 32 threads, got 64"):
        kernel.launch(1, 64, args)
    with pytest.raises(ValueError, match="no value for flag"):
        kernel.launch(1, args=args[:4])
    with pytest.raises(ValueError, match="6 parameters, got 7"):
        kernel.launch(1, args=[*args, 0, 0])


def test_one_entry_of_several():
    text = HEADER + "".join(
        entry(f"st.global.b32 [%w0], {n};", name=name).removeprefix(HEADER)
        for n, name in enumerate(("first", "second"))
    )
    with pytest.raises(ptx.Unsupported, match="first, second; pass name="):
        ptx.Kernel(text)
    kernel = ptx.Kernel(text, name="second")
    assert kernel.launch(1, 32, [ptx.OutputSpec((1,), np.int32)]).outputs[0] == [1]


# ---------------------------------------------------------------- complaints

LOAD = "mad.wide.u32 %w2, %r0, 4, %w0;\n"
# Where argument 1 lies is found by subtracting pointers, as no honest kernel does.
NEIGHBOUR = (
    "sub.s64 %w3, %w1, %w0; add.s64 %w3, %w0, %w3; ld.global.b32 %r1, [%w3+256];"
)
OUTSIDE = [
    (LOAD + "ld.global.b32 %r1, [%w2+4];", 0, 1, 128),
    (LOAD + "ld.global.b32 %r1, [%w2+-8];", 0, 2, -8),
    (LOAD + "ld.global.b32 %r1, [%w2+0x7fffffffc];", 0, 32, 0x7FFFFFFFC),
    ("ld.global.v2.b32 {%r1, %r2}, [%w0+128];", 0, 32, 128),
    (NEIGHBOUR, 1, 32, 256),
]


@pytest.mark.parametrize(("body", "argument", "count", "offset"), OUTSIDE)
def test_loads_outside_their_buffer(body, argument, count, offset):
    with pytest.raises(ptx.MemoryFault) as caught:
        launch(body, WORDS[:32], WORDS)
    text = str(caught.value)
    assert f"offset {offset} of argument {argument}, which has" in text
    assert caught.value.count == count
    assert f"{caught.value.address:#x}" in text
    assert caught.value.kernel == "k"
    assert caught.value.instruction.startswith("ld.global")


def test_threads_may_use_different_buffers():
    choose = """and.b32 %r1, %r0, 1;
        setp.eq.u32 %p1, %r1, 0;
        selp.b64 %w3, %w0, %w1, %p1;
        mad.wide.u32 %w3, %r0, 4, %w3;
        mad.wide.u32 %w4, %r0, 4, %w2;
        ld.global.b32 %r2, [%w3];
        st.global.b32 [%w4], %r2;"""
    output = ptx.OutputSpec((32,), np.uint32)
    result = launch(choose, WORDS, WORDS + 1, output)
    expected = WORDS[:32] + np.arange(32, dtype=np.uint32) % 2
    np.testing.assert_array_equal(result.outputs[0], expected)
    assert result.bytes_loaded == (64, 64, 0)
    with pytest.raises(ptx.MemoryFault, match=r"argument 1, .* 4 thread"):
        launch(choose, WORDS, WORDS[:24], output)


def test_a_store_into_the_redzone():
    store = "st.global.b32 [%w2], %r0;"
    launch(LOAD + store, ptx.OutputSpec((32,), np.uint32))
    with pytest.raises(
        ptx.MemoryFault, match=r"offset 124 of argument 0, .* 124 bytes"
    ):
        launch(LOAD + store, ptx.OutputSpec((31,), np.uint32))
    # Not even the padding that rounds a buffer up to its alignment.
    with pytest.raises(ptx.MemoryFault, match="6 thread"):
        launch(LOAD + store, ptx.OutputSpec((26,), np.uint32))


def test_inputs_are_read_only_unless_lent():
    add = (
        LOAD
        + "ld.global.b32 %r1, [%w2]; add.u32 %r1, %r1, 1; st.global.b32 [%w2], %r1;"
    )
    with pytest.raises(ptx.MemoryFault, match="is an input"):
        launch(add, WORDS[:32])
    result = launch(add, ptx.InOut(WORDS[:32]))
    np.testing.assert_array_equal(result.outputs[0], WORDS[:32] + 1)


def test_what_is_lent_twice_is_one_buffer():
    lent, other = ptx.InOut(WORDS[:32]), ptx.InOut(WORDS[:32])
    read_after_write = """
        mad.wide.u32 %w2, %r0, 4, %w0; st.global.b32 [%w2], 7;
        mad.wide.u32 %w2, %r0, 4, %w1; ld.global.b32 %r1, [%w2];
        add.u32 %r1, %r1, 1; st.global.b32 [%w2], %r1;"""
    for result in launch(read_after_write, lent, lent).outputs:
        np.testing.assert_array_equal(result, np.full(32, 8))
    first, second = launch(read_after_write, lent, other).outputs
    np.testing.assert_array_equal(first, np.full(32, 7))
    np.testing.assert_array_equal(second, WORDS[:32] + 1)


def test_misaligned_and_null_pointers():
    with pytest.raises(ptx.MemoryFault, match="not a multiple") as caught:
        launch("ld.global.b32 %r1, [%w0+2];", WORDS)
    assert caught.value.count == 32
    with pytest.raises(ptx.MemoryFault, match="not a multiple"):
        launch(LOAD + "ld.global.v2.b32 {%r1, %r2}, [%w2];", WORDS)
    with pytest.raises(ptx.MemoryFault, match="null pointer"):
        ptx.Kernel(entry("ld.global.b32 %r1, [%w1+8];", 2)).launch(1, 32, [WORDS])


def test_undefined_values():
    with pytest.raises(ptx.Undefined, match=r"register %r7 .* 32 thread"):
        launch("add.u32 %r1, %r7, 1;", WORDS)
    partly = "setp.lt.u32 %p1, %r0, 20; @%p1 mov.u32 %r7, 1;\n"
    with pytest.raises(ptx.Undefined, match="12 thread"):
        launch(partly + "add.u32 %r1, %r7, 1;", WORDS)
    launch(partly + "@%p1 add.u32 %r1, %r7, 1;", WORDS)
    with pytest.raises(ptx.Undefined, match="argument 0 is read before"):
        launch("ld.global.b32 %r1, [%w0];", ptx.OutputSpec((1,), np.uint32))


UNSUPPORTED = [
    "atom.global.add.u32 %r1, [%w0], 1;",
    "red.global.add.f32 [%w0], %r1;",
    "frobnicate.b32 %r1, %r2;",
    "add.cc.u32 %r1, %r2, %r3;",
    "add.rz.f16 %h1, %h2, %h3;",
    "fma.rm.f64 %w1, %w2, %w3, %w4;",
    "min.xorsign.abs.f32 %r1, %r2, %r3;",
    "mul.f32 %r1, %r2;",
    "prmt.b32.f4e %r1, %r2, %r3, %r4;",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r1}, {%r2}, {%r3}, {%r4};",
    "ld.const.b32 %r1, [%w0];",
    "mov.b32 %r1, %clock;",
    "mov.b32 %r1, elsewhere;",
    "mov.b32 %r1, %undeclared;",
    "bra NOWHERE;",
    "call foo;",
    ".local .align 4 .b8 stack[16];",
    "cvt.rn.e4m3x2.f32 %h1, %r1, %r2;",
    "ex2.f32 %r1, %r2;",
]


@pytest.mark.parametrize("text", UNSUPPORTED)
def test_unknown_instructions_are_refused_before_anything_runs(text):
    with pytest.raises(ptx.Unsupported) as caught:
        ptx.Kernel(entry(text))
    if not text.startswith("."):
        assert caught.value.kernel == "k"
        assert text.startswith(caught.value.instruction)


# ---------------------------------------------------------------- accounts


def test_instructions_and_bytes_are_counted():
    body = (
        LOAD
        + """
        setp.lt.u32 %p1, %r0, 8;
        mov.b32 %r1, 0;
        @%p1 ld.global.b32 %r1, [%w2];
        ld.global.b32 %r2, [%w0];
        fma.rn.f32 %r3, %r1, %r2, %r2;
        mad.wide.u32 %w3, %r0, 4, %w1;
        st.global.b32 [%w3], %r3;"""
    )
    kernel = ptx.Kernel(entry(body, 2))
    result = kernel.launch(3, 32, [WORDS, ptx.OutputSpec((40,), np.uint32)])
    threads = 3 * 32
    assert result.counts["fma.rn.f32"] == threads
    assert result.counts["ld.global.b32"] == 2 * threads
    assert result.classes == {
        "move": 2 * threads,
        "param load": 2 * threads,
        "integer": 2 * threads,
        "compare": threads,
        "global load": 2 * threads,
        "fma": threads,
        "global store": threads,
        "branch": threads,
    }
    assert result.bytes_loaded == (3 * (8 + 32) * 4, 0)
    assert result.bytes_stored == (0, threads * 4)
    assert result.unwritten == (0, 8 * 4)
