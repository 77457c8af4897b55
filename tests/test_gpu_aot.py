"""The GPU experiment: its parsers on literal samples, and real compilation.

Compilation for an absent GPU needs the extra ``gpu-aot``; those tests skip without it.
"""

import collections
import csv
import dataclasses
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

from experiments import __main__ as dispatcher
from experiments.gpu import (
    cli,
    loops,
    roofline,
    sass,
    targets,
    toolchain,
    traffic,
    triton_calls,
)
from experiments.gpu.occupancy import occupancy

needs_compiler = pytest.mark.skipif(
    not toolchain.available(), reason=f"needs {toolchain.INSTALL}"
)

# --- samples: what the tools said of kernels written for this file --------------------

USAGE = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'square' for 'sm_80'
ptxas info    : Function properties for square
    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 18 registers, used 1 barriers, 2048 bytes smem, 368 bytes cmem[0]
ptxas info    : Compile time = 13.478 ms
"""

# max(x * x, 0.5) for two rows of a column in each pass.
SASS = """\
	code for sm_80
		Function : square
	.headerflags	@"EF_CUDA_SM80 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM80)"
        /*0000*/                   MOV R1, c[0x0][0x28] ;       /* 0x00000a0000017a02 */
                                                                /* 0x000fe40000000f00 */
        /*0010*/                   S2R R3, SR_CTAID.X ;
        /*0020*/                   HFMA2.MMA R0, -RZ, RZ, 0, 0 ;
        /*0030*/                   IMAD.WIDE R6, R5, R2, c[0x0][0x160] ;
        /*0040*/                   LDG.E R6, [R6.64] ;
        /*0050*/                   LDG.E R8, [R6.64+0x400] ;
        /*0060*/                   FMUL R4, R6, R6 ;
        /*0070*/                   FMUL R5, R8, R8 ;
        /*0080*/                   FMNMX R4, R4, 0.5, !PT ;
        /*0090*/                   FMNMX R5, R5, 0.5, !PT ;
        /*00a0*/                   STG.E [R6.64], R4 ;
        /*00b0*/                   STG.E [R6.64+0x400], R5 ;
        /*00c0*/                   ISETP.NE.U32.AND P0, PT, R0, 0x10000, PT ;
        /*00d0*/               @P0 BRA 0x30 ;
        /*00e0*/              @!P1 EXIT ;
        /*00f0*/                   FADD R4, R4, R5 ;
        /*0100*/                   EXIT ;
        /*0110*/                   BRA 0x110;
        /*0120*/                   NOP;
"""

HLO = """\
HloModule jit_step, is_scheduled=true

%fused_slice (p0: f32[10,64,4], p1: s32[]) -> f32[64,4] {
  %p0 = f32[10,64,4]{2,1,0} parameter(0)
  %p1 = s32[] parameter(1)
  %zero = s32[] constant(0)
  %row = f32[1,64,4]{2,1,0} dynamic-slice(%p0, %p1, %zero, %zero), sizes={1,64,4}
  ROOT %flat = f32[64,4]{1,0} bitcast(%row)
}

%fused_update (p0: f32[10,64,4], p1: f32[1,64,4], p2: s32[]) -> f32[10,64,4] {
  %p0 = f32[10,64,4]{2,1,0} parameter(0)
  %p1 = f32[1,64,4]{2,1,0} parameter(1)
  %p2 = s32[] parameter(2)
  ROOT %updated = f32[10,64,4]{2,1,0} dynamic-update-slice(%p0, %p1, %p2)
}

%body (state: (s32[], f32[10,64,4])) -> (s32[], f32[10,64,4]) {
  %state = (s32[], f32[10,64,4]{2,1,0}) parameter(0)
  %i = s32[] get-tuple-element(%state), index=0
  %xs = f32[10,64,4]{2,1,0} get-tuple-element(%state), index=1
  %one = f32[64,4]{1,0} fusion(%xs, %i), kind=kLoop, calls=%fused_slice
  %again = f32[1,64,4]{2,1,0} bitcast(%one)
  %new = f32[10,64,4]{2,1,0} fusion(%xs, %again, %i), kind=kLoop, calls=%fused_update
  ROOT %out = (s32[], f32[10,64,4]{2,1,0}) tuple(%i, %new)
}

ENTRY %main (x: bf16[8,4], xs: f32[10,64,4]) -> (f32[8,4], f32[10,64,4]) {
  %x = bf16[8,4]{1,0} parameter(0)
  %xs.1 = f32[10,64,4]{2,1,0} parameter(1)
  %start = s32[] constant(0)
  %pair = (s32[], f32[10,64,4]{2,1,0}) tuple(%start, %xs.1)
  %loop = (s32[], f32[10,64,4]{2,1,0}) while(%pair), condition=%cond, body=%body, \
backend_config={"known_trip_count":{"n":"10"}}
  %ys = f32[10,64,4]{2,1,0} get-tuple-element(%loop), index=1
  %call = f32[8,4]{1,0} custom-call(%x), custom_call_target="__gpu$xla.gpu.triton", \
backend_config={ir = "ML)(\\EF", name = "square", num_warps = 4 : i32}
  ROOT %both = (f32[8,4]{1,0}, f32[10,64,4]{2,1,0}) tuple(%call, %ys)
}
"""


def analysed() -> sass.Report:
    [instructions] = sass.parse_sass(SASS).values()
    return sass.report("square", sass.parse_usage(USAGE)["square"], instructions)


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
        "integer": 2, "global": 4, "fma": 2, "compare": 2, "control": 1,
    }  # fmt: skip
    assert (loop.loaded, loop.stored, loop.fp32) == (8, 8, 4)
    # A constant loaded by the half-precision pipe is no arithmetic; padding is nothing.
    assert report.straight.kinds == {"integer": 3, "control": 2, "fma": 1}


def test_instructions_per_element():
    # 4 FP32 instructions for 2 elements in the loop; 1 more in each of 10 threads.
    counts = roofline.executed(analysed(), threads=10, elements=1000, itemsize=4)
    assert counts["fma"] == 1000 + 10
    assert counts["compare"] == 1000
    assert counts["global"] == 2000


def test_loop_that_stores_nothing_runs_until_all_is_read():
    report = analysed()
    loop = dataclasses.replace(report.loops[0], stored=0)
    report = dataclasses.replace(report, loops=(loop,))
    counts = roofline.executed(report, threads=1, elements=7, itemsize=4, read=800)
    assert counts["compare"] == 2 * 100


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
        ("F2FP.BF16.PACK_AB", "convert", 4),
        ("SHFL.BFLY", "warp", 4),
        ("IMAD.MOV.U32", "integer", 4),
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
    found, reached = loops.natural_loops(
        code("@P0 BRA 0x30", "FADD R1, R1, R2", "EXIT", "BRA 0x10")
    )
    assert found == []
    assert reached == {0, 1, 2, 3}


def test_nested_loops_and_subroutines():
    found, reached = loops.natural_loops(
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


# --- occupancy and roofline -----------------------------------------------------------


@pytest.mark.parametrize(
    ("need", "blocks", "limit"),
    [
        ({"registers": 32, "threads": 128}, 16, "threads"),
        ({"registers": 128, "threads": 128}, 4, "registers"),
        ({"registers": 33, "threads": 256}, 6, "registers"),  # rounded up to 40
        ({"registers": 255, "threads": 128}, 2, "registers"),
        ({"registers": 16, "threads": 32}, 32, "blocks"),
        ({"registers": 32, "threads": 128, "shared": 40960}, 4, "shared memory"),
        ({"registers": 255, "threads": 1024}, 0, "registers"),
    ],
)
def test_occupancy_on_a30(need, blocks, limit):
    held = occupancy(targets.A30, **need)
    assert (held.blocks, held.limit) == (blocks, limit)
    assert held.share == blocks * -(-need["threads"] // 32) / 64


def test_l4_holds_fewer_threads_than_a30():
    held = occupancy(targets.L4, registers=32, threads=256)
    assert (held.blocks, held.share) == (6, 1.0)


def test_bound_names_the_slowest_resource():
    counts = collections.Counter(fma=40, compare=10, special=1, integer=2)
    few = roofline.bound(targets.A30, 8, counts)
    # 51 instructions on 64 lanes of 56 cores against 8 bytes at 933 GB/s.
    assert few.limit == "fp32"
    assert few.time == pytest.approx(51 / (64 * 56 * 1.44e9))
    assert roofline.bound(targets.A30, 80, counts).limit == "memory"
    # The H100 has twice the lanes for a multiply-add but not for a comparison.
    compares = collections.Counter(compare=100)
    assert roofline.bound(targets.H100, 8, compares).limit == "alu"


def test_relu_is_bound_by_its_traffic():
    assert roofline.relu_time(targets.A30, "forward", 10**6, 4) == 8e6 / 933e9
    assert roofline.relu_time(targets.A30, "gradient", 10**6, 2) == 6e6 / 933e9


@pytest.mark.parametrize(
    ("name", "tflops", "arch"),
    [
        ("a30", 10.3, "sm_80"),
        ("a100", 19.5, "sm_80"),
        ("h100", 66.9, "sm_90"),
        ("l4", 30.3, "sm_89"),
    ],
)
def test_targets_have_the_peak_of_their_data_sheets(name, tflops, arch):
    target = targets.get(name)
    assert target.tflops == pytest.approx(tflops, rel=0.005)
    assert target.arch == arch
    assert f"core_count: {target.cores}\n" in target.text_proto()


def test_unknown_target_is_explained():
    with pytest.raises(ValueError, match=r"one of a30, a100, h100, l4, got 'b9'"):
        targets.get("b9")


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
    found = triton_calls.decode(message((1, call), (4, b"name")))
    assert (found.name, found.ptx) == ("square", ".version 8.8")
    assert (found.grid, found.threads, found.shared) == ((300, 2, 1), 128, 2048)
    autotuned = message((2, message((1, b"name"), (2, message((1, call))))))
    assert triton_calls.decode(autotuned) == found


# --- traffic --------------------------------------------------------------------------


def test_traffic_counts_slices_and_trips():
    slice_bytes, call_bytes = 64 * 4 * 4, 8 * 4 * (2 + 4)
    index = 4  # the loop counter is read by both fusions
    # Each of ten passes reads a slice and writes it, then does so again in place.
    assert traffic.traffic(HLO) == 10 * (4 * slice_bytes + 2 * index) + call_bytes
    last = traffic.accesses(HLO)[-1]
    assert last.instruction.opcode == "custom-call"
    assert 'name = "square"' in last.instruction.attributes


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
    assert traffic.size(shape) == nbytes


def test_text_without_entry_is_refused():
    with pytest.raises(ValueError, match="ENTRY"):
        traffic.traffic("module @jit_f {}")


# --- the command ----------------------------------------------------------------------


def test_help_is_quick_and_lists_experiments():
    command = [sys.executable, "-c", _HELP_WITHOUT_JAX]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "gpu" in done.stdout


_HELP_WITHOUT_JAX = """
import sys
from experiments.__main__ import main
main(["--help"])
assert "jax" not in sys.modules
"""


def test_unknown_experiment_is_helped(capsys):
    assert dispatcher.main(["gpus"]) == 2
    assert "did you mean 'gpu'?" in capsys.readouterr().err


def test_unknown_gpu_is_explained(capsys):
    with pytest.raises(SystemExit):
        cli.parser().parse_args(["--target", "a30,b9"])
    assert "one of a30, a100, h100, l4" in capsys.readouterr().err


def test_missing_packages_are_named(monkeypatch, capsys):
    monkeypatch.setattr(toolchain, "cuda_plugin", lambda: None)
    assert cli.main(["--degree", "3"]) == 1
    assert 'pip install "jaxbern[gpu-aot]"' in capsys.readouterr().err


def test_plugin_of_another_version_is_told(monkeypatch):
    monkeypatch.setattr(toolchain, "cuda_plugin", lambda: "0.0.1")
    with pytest.raises(toolchain.ToolchainMissing, match=r"found 0\.0\.1"):
        toolchain.require()
    assert not toolchain.available()


# --- real compilation -----------------------------------------------------------------


def struct(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


@needs_compiler
@pytest.mark.parametrize("name", ["a30", "h100", "l4"])
def test_xla_kernel_compiles_for_an_absent_gpu(name):
    from experiments.gpu.compile import compile_for

    compiled = compile_for(name, lambda x: jnp.maximum(x, 0), struct(1024, 256))
    [(kernel_name, ptx)] = compiled.ptx.items()
    kernel = compiled.kernels[kernel_name]
    assert f".target {compiled.target.arch}" in ptx
    report = sass.analyse(ptx, compiled.target.arch)[kernel_name]
    elements, threads = 1024 * 256, kernel.blocks * kernel.threads
    counts = roofline.executed(report, threads=threads, elements=elements, itemsize=4)
    assert counts["compare"] == elements  # one FMNMX each
    assert report.spills == 0
    assert traffic.traffic(compiled.hlo) == 8 * elements
    assert compiled.peak_memory == 8 * elements


def _square(x_ref, y_ref):
    from jax.experimental import pallas as pl

    @pl.loop(0, x_ref.shape[0])
    def _(i):
        row = x_ref[pl.ds(i, 1), :]
        y_ref[pl.ds(i, 1), :] = jnp.maximum(row * row, 0.5)


@needs_compiler
@pytest.mark.filterwarnings("ignore:.*[Tt]riton.*:DeprecationWarning")
def test_pallas_kernel_compiles_again_and_again():
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton as plgpu

    from experiments.gpu.compile import compile_for

    block = pl.BlockSpec((256, 128), lambda i, j: (i, j))
    call = pl.pallas_call(
        _square,
        grid=(64, 2),
        in_specs=[block],
        out_specs=block,
        out_shape=struct(16384, 256),
        name="square",
        compiler_params=plgpu.CompilerParams(num_warps=4, num_stages=1),
    )
    for target in (targets.A30, targets.A30, targets.H100):
        compiled = compile_for(target, call, struct(16384, 256))
        kernel = compiled.kernels["square"]
        assert (kernel.grid, kernel.threads) == ((64, 2, 1), 128)
        report = sass.analyse(kernel.ptx, target.arch)["square"]
        loop = report.hot_loop
        assert loop.fp32 / (loop.stored / 4) == 2
        counts = roofline.executed(
            report, threads=64 * 2 * 128, elements=16384 * 256, itemsize=4
        )
        # A pass that ptxas peeled off the loop is counted twice.
        assert 1 <= counts["fma"] / (16384 * 256) < 1.02


@needs_compiler
@pytest.mark.parametrize("implementation", ["pallas", "triton"])
def test_kernels_move_what_relu_moves(implementation):
    from experiments.gpu import measure, programs

    workload = programs.Workload()
    for which, accesses in roofline.RELU_ACCESSES.items():
        row = measure.measure(targets.A30, workload, 9, implementation, which)
        assert row.kernel.startswith("jaxbern_bernstein")
        assert row.spills == 0
        assert row.fp32_per_element > 10  # a coefficient is at least one multiply-add
        # Coefficients, and partial sums of their gradient, come on top: how many is the
        # launch configuration's choice.
        assert 1 <= row.bytes_per_element / (4 * accesses) < 1.1
        assert row.ratio < 1.1


@needs_compiler
def test_command_writes_table_csv_and_plot(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    options = ["--degree", "3", "--rows", "1024", "--implementation", "xla"]
    assert cli.main([*options, "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "NVIDIA A30, sm_80, degree 3" in printed
    assert "h + act(batchnorm(h w + b))" in printed
    with (tmp_path / "gpu.csv").open() as file:
        rows = list(csv.DictReader(file))
    relu = [row for row in rows if row["activation"] == "relu"]
    assert [float(row["ratio"]) for row in relu] == [1, 1]
    assert [float(row["bytes_per_element"]) for row in relu] == [8, 12]
    assert {row["which"] for row in rows} == {"forward", "gradient"}
    assert all(float(row["ratio"]) >= 1 for row in rows)
    assert (tmp_path / "roofline.png").stat().st_size > 10_000
    assert (tmp_path / "roofline.svg").exists()
