"""Bytes that a compiled XLA:GPU program reads and writes, from its scheduled HLO.

Every instruction that becomes a kernel reads its operands and writes its result
once; a loop's body counts as often as it runs; where only a slice of an array is
touched, the slice counts. Caches are left out, so this is an upper bound on the
traffic to memory, and the right number to compare two programs by.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

_BITS = {
    "pred": 8, "s4": 4, "u4": 4, "s8": 8, "u8": 8, "s16": 16, "u16": 16, "f16": 16,
    "bf16": 16, "s32": 32, "u32": 32, "f32": 32, "s64": 64, "u64": 64, "f64": 64,
    "c64": 64, "c128": 128,
}  # fmt: skip
_NO_TRAFFIC = {
    "parameter", "get-tuple-element", "tuple", "bitcast", "constant", "after-all",
    "partition-id", "replica-id", "optimization-barrier",
}  # fmt: skip
_SLICES = {"dynamic-slice", "slice", "gather"}


@dataclass(frozen=True)
class Instruction:
    """One line of HLO; ``shape`` is the text of its result's type."""

    name: str
    shape: str
    opcode: str
    operands: tuple[str, ...]
    attributes: str

    @property
    def bytes(self) -> int:
        """Size of the result."""
        return size(self.shape)


@dataclass(frozen=True)
class Access:
    """What one instruction of the program reads and writes, each time it runs."""

    instruction: Instruction
    read: int
    written: int
    times: int

    @property
    def total(self) -> int:
        """Bytes over the whole run of the program."""
        return self.times * (self.read + self.written)


def traffic(hlo: str) -> int:
    """Bytes read and written by the program whose optimised HLO text is given."""
    return sum(access.total for access in accesses(hlo))


def accesses(hlo: str) -> list[Access]:
    """List every access of the program, in the order of its schedule."""
    computations, entry = parse(hlo)
    return list(_walk(computations, entry, 1))


def size(shape: str) -> int:
    """Bytes of an HLO type such as ``(f32[8,4]{1,0}, pred[])``."""
    return sum(
        math.prod(int(n) for n in dims.split(",") if n) * _bits(dtype) // 8
        for dtype, dims in re.findall(r"\b([a-z]+[\w]*)\[([\d,]*)\]", shape)
    )


def _bits(dtype: str) -> int:
    return 8 if dtype.startswith("f8") else _BITS.get(dtype, 0)


# --- the text of a module -------------------------------------------------------------


_HEADER = re.compile(r"^(ENTRY )?%?([\w.\-]+) .*\{\s*$")
_ASSIGNMENT = re.compile(
    r"^\s+(?:ROOT )?%?(?P<name>[\w.\-]+) = (?P<shape>\(.*?\)|\S+) (?P<opcode>[\w\-]+)\("
)


def parse(hlo: str) -> tuple[dict[str, list[Instruction]], str]:
    """Parse the computations of a module by name, and the name of its entry."""
    computations: dict[str, list[Instruction]] = {}
    entry, body = None, None
    for line in hlo.splitlines():
        if header := None if line.startswith(" ") else _HEADER.match(line):
            body = computations.setdefault(header[2], [])
            entry = header[2] if header[1] else entry
        elif body is not None and (found := _ASSIGNMENT.match(line)):
            operands, attributes = _split_call(line[found.end() :])
            name, shape, opcode = found["name"], found["shape"], found["opcode"]
            body.append(Instruction(name, shape, opcode, operands, attributes))
    if entry is None:
        raise ValueError("no ENTRY computation: give the text of a compiled HLO module")
    return computations, entry


def _split_call(text: str) -> tuple[tuple[str, ...], str]:
    """Divide what follows ``opcode(`` at the parenthesis that closes it."""
    depth = 1
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            # A parameter has its number where others have operands.
            names = re.findall(r"%([\w.\-]+)|^(\d+)$", text[:i])
            return tuple(name or number for name, number in names), text[i + 1 :]
    return (), ""


def _called(attributes: str) -> list[str]:
    pattern = r"(?:to_apply|calls|body|called_computations|\w+_computations?)="
    found = re.findall(pattern + r"(?:%([\w.\-]+)|\{([^}]*)\})", attributes)
    names = [one or many for one, many in found]
    return [name.strip(" %") for group in names for name in group.split(",")]


# --- what each instruction touches ----------------------------------------------------


def _walk(computations, name: str, times: int) -> Iterator[Access]:
    sizes: dict[str, int] = {}
    for instruction in computations[name]:
        sizes[instruction.name] = instruction.bytes
        # What was started has been counted when it is done.
        if instruction.opcode in _NO_TRAFFIC or instruction.opcode.endswith("-done"):
            continue
        if instruction.opcode in ("while", "call", "conditional", "async-start"):
            trips = _trips(instruction)
            for inner in _called(instruction.attributes):
                if inner in computations:
                    yield from _walk(computations, inner, times * trips)
            continue
        read, written = _touched(instruction, sizes, computations)
        yield Access(instruction, read, written, times)


def _trips(instruction: Instruction) -> int:
    found = re.search(r"known_trip_count\D*(\d+)", instruction.attributes)
    return int(found[1]) if instruction.opcode == "while" and found else 1


def _touched(instruction: Instruction, sizes, computations) -> tuple[int, int]:
    operands = [sizes.get(name, 0) for name in instruction.operands]
    if instruction.opcode in _SLICES:
        return instruction.bytes, instruction.bytes
    if instruction.opcode == "dynamic-update-slice":
        return operands[1], operands[1]
    if instruction.opcode in ("fusion", "fusion-start"):
        fused = [computations.get(c, []) for c in _called(instruction.attributes)]
        if fused and fused[0]:
            # The last instruction is the root. Started, a fusion's own type has its
            # operands in it as well.
            return _fusion(fused[0], operands, fused[0][-1].bytes)
    return sum(operands), instruction.bytes


def _fusion(body: list[Instruction], operands: list[int], result: int):
    """Count a fusion: one that slices an operand, or updates it in place, touches the slice."""
    sizes = {i.name: i.bytes for i in body}
    read = 0
    for parameter in (i for i in body if i.opcode == "parameter"):
        full = operands[int(parameter.operands[0])]
        uses = [i for i in body if parameter.name in i.operands]
        touched = [_use(use, parameter.name, full) for use in uses]
        read += min(full, sum(touched))
    updates = [i for i in body if i.opcode == "dynamic-update-slice"]
    saved = sum(i.bytes - sizes.get(i.operands[1], 0) for i in updates)
    return read, max(0, result - saved)


def _use(use: Instruction, parameter: str, full: int) -> int:
    sliced = use.operands and use.operands[0] == parameter
    if sliced and use.opcode in _SLICES:
        return use.bytes
    if sliced and use.opcode == "dynamic-update-slice":
        return 0
    return full
