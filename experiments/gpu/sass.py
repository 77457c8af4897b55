"""What ``ptxas`` made of a kernel: registers, spills, and the machine code read back.

``analyse(ptx, "sm_80")`` assembles PTX text and returns, for each kernel in it, the
resources that ``ptxas -v`` states and the instructions that ``cuobjdump -sass`` lists,
divided into straight code (run once by every thread) and loops.
"""

import functools
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from experiments.gpu import toolchain
from experiments.gpu.sass_loops import natural_loops

# FP32 work by the pipe that does it; together they are "FP32 instructions".
FMA, COMPARE, SPECIAL = "fma", "compare", "special"
FP32 = (FMA, COMPARE, SPECIAL)

_KINDS = {
    FMA: "FFMA FADD FMUL FFMA32I FADD32I FMUL32I FFMA2 FADD2 FMUL2 FSWZADD",
    COMPARE: "FSEL FMNMX FMNMX3 FSETP FSET FCMP FCHK",
    SPECIAL: "MUFU",
    "convert": "F2F F2I I2F FRND I2FP F2IP",
    "pack": "F2FP",  # two float32 to a pair of narrow ones
    "multiply": "IMAD IMUL IMUL32I IMADSP IDP IDP4A",  # moves and shifts as such, too
    "uniform": "R2UR S2UR",  # and all whose name begins with U
    "half": "HADD2 HMUL2 HFMA2 HSETP2 HSET2 HMNMX2",
    "global": "LDG STG LD ST LDGSTS ATOM ATOMG RED REDG",
    "shared": "LDS STS LDSM STSM ATOMS",
    "local": "LDL STL",  # a spill, or an array the compiler could not keep
    "warp": "SHFL VOTE VOTEU MATCH REDUX",
    "tensor": "HMMA IMMA DMMA HGMMA IGMMA QGMMA BMMA",
    "fp64": "DADD DMUL DFMA DSETP DMNMX",
    "control": "BRA EXIT RET CALL BSSY BSYNC BAR WARPSYNC NOP BREAK BRX JMP JMX BMOV "
    "DEPBAR LDGDEPBAR MEMBAR ERRBAR CCTL CCTLL YIELD NANOSLEEP BPT KILL SYNCS "
    "ACQBULK ENDCOLLECTIVE",
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names.split()}


@dataclass(frozen=True)
class Instruction:
    """One machine instruction; ``opcode`` with its suffixes, such as ``LDG.E.128``."""

    address: int
    opcode: str
    operands: str = ""
    predicate: str = ""

    @property
    def base(self) -> str:
        """The opcode without suffixes."""
        return self.opcode.partition(".")[0]

    @property
    def kind(self) -> str:
        """A key of the table above; addresses, moves and the like are ``integer``."""
        # A half-precision multiply-add of zero registers is how ptxas loads constants.
        if self.base == "HFMA2" and self.operands.count("RZ") >= 2:
            return "integer"
        if self.base not in _KIND_OF and self.base.startswith("U"):
            return "uniform"
        return _KIND_OF.get(self.base, "integer")

    @property
    def target(self) -> int | None:
        """Where a direct branch or call goes."""
        found = re.search(r"\b0x([0-9a-f]+)\s*$", self.operands)
        direct = self.base in ("BRA", "JMP", "CALL")
        return int(found[1], 16) if direct and found else None

    @property
    def bytes(self) -> int:
        """Bytes that a memory instruction moves for one thread."""
        for suffix in self.opcode.split(".")[1:]:
            if suffix in _WIDTHS:
                return _WIDTHS[suffix]
        return 4


_WIDTHS = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}


@dataclass(frozen=True)
class Section:
    """Instructions that run equally often: the straight code, or one loop's body."""

    kinds: Counter  # instructions by kind
    opcodes: Counter  # instructions by base opcode
    loaded: int  # bytes from global memory, one thread, one pass
    stored: int
    start: int = 0  # address of the loop's first instruction

    @property
    def fp32(self) -> int:
        """FP32 instructions: arithmetic, comparisons and selections, special ones."""
        return sum(self.kinds[kind] for kind in FP32)

    @property
    def total(self) -> int:
        """All instructions."""
        return self.kinds.total()


@dataclass(frozen=True)
class Report:
    """One assembled kernel."""

    name: str
    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    shared: int  # bytes declared in the PTX; more may be given at launch
    straight: Section
    loops: tuple[Section, ...]
    instructions: tuple[Instruction, ...] = field(repr=False)

    @property
    def spills(self) -> int:
        """Bytes that ptxas spilled, both ways."""
        return self.spill_stores + self.spill_loads

    @property
    def hot_loop(self) -> Section | None:
        """The loop with the most FP32 work, where a long kernel spends its time."""
        return max(self.loops, key=lambda loop: loop.fp32, default=None)

    @property
    def opcodes(self) -> Counter:
        """Every instruction of the kernel by base opcode."""
        return Counter(i.base for i in self.instructions)


def analyse(ptx: str, arch: str) -> dict[str, Report]:
    """Assemble ``ptx`` for ``arch`` (``"sm_80"``): a report for each kernel in it."""
    usage_text, sass_text = assemble(ptx, arch)
    usage = parse_usage(usage_text)
    return {
        name: report(name, usage[name], instructions)
        for name, instructions in parse_sass(sass_text).items()
    }


@functools.lru_cache(maxsize=256)
def assemble(ptx: str, arch: str) -> tuple[str, str]:
    """Assemble ``ptx``; return what ``ptxas -v`` prints, and the machine code as text."""
    # Code for one card only (sm_90a) assembles for nothing else.
    own = re.search(rf"^\.target\s+({arch}[af]?)\b", ptx, flags=re.M)
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx)
        flags = ["-v", f"-arch={own[1] if own else arch}", "-o", str(binary)]
        for program in toolchain.ptxas():
            done = _run([program, *flags, str(source)])
            if "Unsupported .version" not in done.stderr:
                break
        usage = _output(done)
        sass = _output(_run([toolchain.cuobjdump(), "-sass", str(binary)]))
    return usage, sass


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True)


def _output(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode:
        raise RuntimeError(f"{' '.join(done.args)} failed:\n{done.stderr}")
    return done.stdout + done.stderr


def parse_usage(text: str) -> dict[str, dict[str, int]]:
    """Resources by kernel from the output of ``ptxas -v``."""
    usage: dict[str, dict[str, int]] = {}
    name = None
    for line in text.splitlines():
        if entry := re.search(r"Compiling entry function '([^']+)'", line):
            name = entry[1]
            usage[name] = dict.fromkeys(_USAGE, 0)
        elif name is not None:
            for key, pattern in _USAGE.items():
                if found := re.search(pattern, line):
                    usage[name][key] = int(found[1])
    return usage


_USAGE = {
    "registers": r"Used (\d+) registers",
    "stack": r"(\d+) bytes stack frame",
    "spill_stores": r"(\d+) bytes spill stores",
    "spill_loads": r"(\d+) bytes spill loads",
    "shared": r"(\d+) bytes smem",
}
_LINE = re.compile(
    r"/\*(?P<address>[0-9a-f]{4,})\*/\s+(?:@(?P<predicate>!?U?P\w+)\s+)?"
    r"(?P<opcode>[A-Z][\w.]*)\s*(?P<operands>[^;]*);"
)


def parse_sass(text: str) -> dict[str, list[Instruction]]:
    """Instructions by kernel from ``cuobjdump -sass``, without the padding behind."""
    kernels: dict[str, list[Instruction]] = {}
    current: list[Instruction] = []
    for line in text.splitlines():
        if function := re.search(r"Function : (\S+)", line):
            current = kernels.setdefault(function[1], [])
        elif found := _LINE.search(line):
            instruction = Instruction(
                int(found["address"], 16),
                found["opcode"],
                found["operands"].strip(),
                found["predicate"] or "",
            )
            # Behind the code stand a branch to itself and NOPs up to the alignment.
            padding = instruction.target == instruction.address
            if not padding and instruction.base != "NOP":
                current.append(instruction)
    return kernels


def report(name: str, usage: dict[str, int], instructions: list[Instruction]) -> Report:
    """Divide ``instructions`` into straight code and loops, and count."""
    loops, reached = natural_loops(instructions)
    in_loops = set().union(*loops)
    return Report(
        name=name,
        straight=_section(instructions, sorted(reached - in_loops)),
        loops=tuple(_section(instructions, sorted(loop)) for loop in loops),
        instructions=tuple(instructions),
        **usage,
    )


def _section(instructions: list[Instruction], indices: Iterable[int]) -> Section:
    chosen = [instructions[i] for i in indices]
    return Section(
        kinds=Counter(i.kind for i in chosen),
        opcodes=Counter(i.base for i in chosen),
        loaded=sum(i.bytes for i in chosen if i.base in ("LDG", "LD", "LDGSTS")),
        stored=sum(i.bytes for i in chosen if i.base in ("STG", "ST")),
        start=chosen[0].address if chosen else 0,
    )
