"""The GPU experiment reads what the tools say: machine code, calls and HLO."""

import re

import pytest

from experiments.gpu import gpu_compile, hlo_traffic, sass, sass_loops
from tests.experiments.gpu_cases import HLO, analysed

# --- machine code ---------------------------------------------------------------------


def test_resources_are_read_from_ptxas():
    report = analysed()
    assert (report.registers, report.shared, report.stack) == (18, 2048, 16)
    assert (report.spill_stores, report.spill_loads, report.spills) == (12, 8, 20)


def test_hot_loop_is_told_from_straight_code():
    report = analysed()
    [loop] = report.loops
    assert report.hot_loop is loop
    assert loop.start == 0x30
    assert loop.kinds == {
        "integer": 1, "multiply": 1, "global": 4, "fma": 2, "compare": 2, "control": 1,
    }  # fmt: skip
    assert (loop.loaded, loop.stored, loop.fp32) == (8, 8, 4)
    # A constant loaded by the half-precision pipe is no arithmetic; padding is nothing.
    assert report.straight.kinds == {"integer": 3, "control": 2, "fma": 1}


@pytest.mark.parametrize(
    ("opcode", "kind", "nbytes"),
    [
        ("LDG.E.128.CONSTANT", "global", 16),
        ("STG.E.64", "global", 8),
        ("LDG.E.U16", "global", 2),
        ("STG.E", "global", 4),
        ("LDS.128", "shared", 16),
        ("STL", "local", 4),
        ("FFMA", "fma", 4),
        ("FMNMX.NAN", "compare", 4),
        ("MUFU.RCP", "special", 4),
        ("F2FP.BF16.PACK_AB", "pack", 4),
        ("SHFL.BFLY", "warp", 4),
        ("IMAD.MOV.U32", "multiply", 4),
        ("UIADD3", "uniform", 4),
    ],
)
def test_kinds_and_widths(opcode, kind, nbytes):
    instruction = sass.Instruction(0, opcode, "R1, R2")
    assert (instruction.kind, instruction.bytes) == (kind, nbytes)


def code(*lines: str) -> list[sass.Instruction]:
    text = "Function : f\n" + "\n".join(
        f"/*{16 * i:04x}*/ {line} ;" for i, line in enumerate(lines)
    )
    return sass.parse_sass(text)["f"]


def test_jump_back_from_a_rare_block_is_no_loop():
    # 0 -> 1 -> 2 (exit), with 0 -> 3 -> 1 for the rare case.
    found, reached = sass_loops.natural_loops(
        code("@P0 BRA 0x30", "FADD R1, R1, R2", "EXIT", "BRA 0x10")
    )
    assert found == []
    assert reached == {0, 1, 2, 3}


def test_nested_loops_and_subroutines():
    found, reached = sass_loops.natural_loops(
        code(
            "MOV R1, R2",  # 0
            "FADD R1, R1, R2",  # 1: outer
            "FMUL R1, R1, R2",  # 2: inner
            "@P0 BRA 0x20",  # 3
            "CALL.REL.NOINC 0x80",  # 4
            "@P1 BRA 0x10",  # 5
            "EXIT",  # 6
            "NOP",
            "MUFU.RCP R1, R1",  # 7: only called
            "RET.REL.NODEC R4 0x0",  # 8
        )
    )
    assert found == [{1, 2, 3, 4, 5}, {2, 3}]
    assert reached == set(range(7))


def test_loop_is_left_by_a_call_that_never_returns():
    # ptxas writes the jump to what follows a loop like this, as in the gradient for an A30.
    found, reached = sass_loops.natural_loops(
        code(
            "FADD R1, R1, R2",  # 0: the loop
            "@!P0 CALL.REL.NOINC 0x30",  # 1
            "BRA 0x0",  # 2
            "SHFL.BFLY PT, R1, R2, 0x1, 0x1f",  # 3: behind it
            "EXIT",  # 4
            "RET.REL.NODEC R4 0x0",
        )
    )
    assert found == [{0, 1, 2}]
    assert reached == {0, 1, 2, 3, 4}


# --- kernels of jax-triton ------------------------------------------------------------


def message(*fields: tuple[int, int | bytes]) -> bytes:
    """A protocol buffer of fields below 16 and values below 16384."""
    out = b""
    for number, value in fields:
        size = value if isinstance(value, int) else len(value)
        varint = bytes([size & 0x7F | 0x80, size >> 7])
        wire = 0 if isinstance(value, int) else 2
        out += bytes([8 * number + wire]) + varint
        out += b"" if wire == 0 else value
    return out


def test_kernel_is_decoded_from_a_call():
    kernel = message((1, b"square"), (2, 4), (3, 2048), (4, b".version 8.8"), (6, 80))
    call = message((1, kernel), (2, 300), (3, 2), (4, 1), (5, b"\n\x00"))
    found = gpu_compile.decode(message((1, call), (4, b"name")))
    assert (found.name, found.ptx) == ("square", ".version 8.8")
    assert (found.grid, found.threads, found.shared) == ((300, 2, 1), 128, 2048)
    autotuned = message((2, message((1, b"name"), (2, message((1, call))))))
    assert gpu_compile.decode(autotuned) == found


# --- traffic --------------------------------------------------------------------------


def test_traffic_counts_slices_and_trips():
    slice_bytes, call_bytes = 64 * 4 * 4, 8 * 4 * (2 + 4)
    index = 4  # the loop counter is read by both fusions
    # Each of ten passes reads a slice and writes it, then does so again in place.
    assert hlo_traffic.traffic(HLO) == 10 * (4 * slice_bytes + 2 * index) + call_bytes
    last = hlo_traffic.accesses(HLO)[-1]
    assert last.instruction.opcode == "custom-call"
    assert 'name = "square"' in last.instruction.attributes


def test_traffic_of_a_fusion_that_is_started_and_awaited():
    plain = re.search(r"  %(\S+) = (\S+) fusion\((.*?)\)(.*calls=%(\S+?)\b.*)", HLO)
    name, result, operands, rest = plain.groups()[:4]
    started = (
        f"  %begun = ((s32[], {result}), {result}, u32[]) fusion-start({operands}){rest}\n"
        f"  %{name} = {result} fusion-done(%begun)"
    )
    assert hlo_traffic.traffic(HLO.replace(plain[0], started)) == hlo_traffic.traffic(
        HLO
    )


@pytest.mark.parametrize(
    ("shape", "nbytes"),
    [
        ("f32[16384,256]{1,0}", 16384 * 256 * 4),
        ("(bf16[3]{0}, pred[], s32[2,2]{1,0})", 6 + 1 + 16),
        ("f8e4m3fn[16]{0}", 16),
        ("token[]", 0),
    ],
)
def test_size_of_a_type(shape, nbytes):
    assert hlo_traffic.size(shape) == nbytes


def test_text_without_entry_is_refused():
    with pytest.raises(ValueError, match="ENTRY"):
        hlo_traffic.traffic("module @jit_f {}")
