"""The GPU experiment counts instructions, and bounds the time that they take."""

import collections
import dataclasses

import pytest

from experiments.gpu import gpu_targets, roofline, sass
from experiments.gpu.roofline import occupancy
from tests.experiments.gpu_cases import analysed

# --- instructions ---------------------------------------------------------------------


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
    held = occupancy(gpu_targets.A30, **need)
    assert (held.blocks, held.limit) == (blocks, limit)
    assert held.share == blocks * -(-need["threads"] // 32) / 64


def test_l4_holds_fewer_threads_than_a30():
    held = occupancy(gpu_targets.L4, registers=32, threads=256)
    assert (held.blocks, held.share) == (6, 1.0)


def test_bound_names_the_slowest_resource():
    counts = collections.Counter(fma=40, compare=10, special=1, integer=2)
    few = roofline.bound(gpu_targets.A30, 4, counts)
    # 40 instructions on 64 lanes of 56 cores against 4 bytes at 933 GB/s.
    assert few.limit == "fma"
    assert few.time == pytest.approx(40 / (64 * 56 * 1.44e9))
    assert roofline.bound(gpu_targets.A30, 80, counts).limit == "memory"
    # The H100 has twice the lanes for a multiply-add but not for a comparison.
    compares = collections.Counter(compare=100)
    assert roofline.bound(gpu_targets.H100, 8, compares).limit == "alu"


def test_each_instruction_counts_on_its_pipe():
    """Selects run beside multiply-adds; an integer product takes their place."""

    def kind(line):
        opcode, _, operands = line.partition(" ")
        return sass.Instruction(0, opcode, operands).kind

    code = [
        "FFMA R1, R2",
        "FSEL R1",
        "IMAD.MOV.U32 R1",
        "IADD3 R1",
        "F2FP.BF16.PACK_AB",
    ]
    code += [
        "MUFU.RCP R1",
        "UIADD3 UR4",
        "LDG.E R1",
        "R2UR UR1",
        "I2F R1",
        "LOP3.LUT R1",
    ]
    counts = collections.Counter(map(kind, code))
    pipes = {pipe: roofline.on_pipe(counts, pipe) for pipe in roofline.PIPES}
    assert pipes == {"fma": 2, "alu": 4, "special": 2}
    # Three run on none of these, and are issued all the same.
    seconds = roofline.bound(gpu_targets.A30, 0, counts).seconds
    assert seconds["issue"] == pytest.approx(11 / (128 * 56 * 1.44e9))


def test_the_form_with_fewer_multiply_adds_wins_where_they_are_scarce():
    """By its pipes: more instructions in all, and yet less time on an A30."""
    factored = collections.Counter(fma=56, compare=2, **{"global": 2})
    ratio = collections.Counter(fma=36, compare=31, special=1, **{"global": 2})
    for target, better in ((gpu_targets.A30, ratio), (gpu_targets.H100, factored)):
        times = [roofline.bound(target, 4, each).time for each in (factored, ratio)]
        assert min(times) == roofline.bound(target, 4, better).time


def test_relu_is_bound_by_its_traffic():
    assert roofline.relu_time(gpu_targets.A30, "forward", 10**6, 4) == 8e6 / 933e9
    assert roofline.relu_time(gpu_targets.A30, "gradient", 10**6, 2) == 6e6 / 933e9


@pytest.mark.parametrize(
    ("name", "tflops", "arch"),
    [
        ("a30", 10.3, "sm_80"),
        ("a100", 19.5, "sm_80"),
        ("h100", 66.9, "sm_90"),
        ("l4", 30.3, "sm_89"),
        ("l40s", 91.6, "sm_89"),
        ("b200", 74.4, "sm_100"),
    ],
)
def test_targets_have_the_peak_of_their_data_sheets(name, tflops, arch):
    target = gpu_targets.get(name)
    assert target.tflops == pytest.approx(tflops, rel=0.005)
    assert target.arch == arch
    assert f"core_count: {target.cores}\n" in target.text_proto()


def test_unknown_target_is_explained():
    with pytest.raises(
        ValueError, match=r"one of a30, a100, h100, l4, l40s, b200, got 'b9'"
    ):
        gpu_targets.get("b9")
