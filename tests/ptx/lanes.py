"""The threads that run together: their registers, masks and places in the grid.

Threads of several blocks are simulated at once, one array element ("lane") each.
Blocks are padded to whole warps; the padding never becomes active. A value that is
the same for every thread is kept as an array of one and broadcasts.

A mask is a boolean array over the lanes, or None for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import prod

import numpy as np

from .errors import Undefined, Unsupported
from .memory import GlobalMemory
from .shared import SharedMemory
from .syntax import (
    Immediate,
    Negated,
    Operand,
    Program,
    Register,
    Sink,
    Special,
    Symbol,
)
from .values import TYPES, Array, Type, decode, immediate, resize

WARP = 32
Mask = Array | None
Dims = tuple[int, int, int]


class Lanes:
    """The state of the threads of some blocks of one launch."""

    def __init__(
        self,
        program: Program,
        grid: Dims,
        threads: Dims,
        blocks: range,
        parameters: dict[str, Array],
        memory: GlobalMemory,
        shared_bytes: int,
    ) -> None:
        self.program = program
        self.grid = grid
        self.threads = threads
        self.blocks = blocks
        self.parameters = parameters
        self.memory = memory
        self.per_block = -(-prod(threads) // WARP) * WARP
        self.count = self.per_block * len(blocks)
        index = np.arange(self.count)
        self.row = index // self.per_block
        self.thread = index % self.per_block
        self.alive = self.thread < prod(threads)
        self.shared = SharedMemory(len(blocks), program.shared_bytes + shared_bytes)
        # Copies on their way to shared memory: closed groups, and the open one.
        self.copies: list[list[Callable[[], None]]] = []
        self.open_copies: list[Callable[[], None]] = []
        size = len(program.registers)
        self._values: list[Array | None] = [None] * size
        self._defined: list[bool | Array] = [False] * size

    def read(self, register: Register, mask: Mask) -> Array:
        """The bits of a register, all of which the threads in `mask` have written."""
        defined = self._defined[register.index]
        if defined is not True:
            missing = ~np.broadcast_to(defined, self.count)
            if mask is not None:
                missing &= mask
            if missing.any():
                raise Undefined(
                    f"register {register.name} is read before it is written "
                    f"in {missing.sum()} thread(s)"
                )
        return self._values[register.index]

    def write(self, register: Register, raw: Array, mask: Mask) -> None:
        """Replaces the bits of a register in the threads of `mask`."""
        index = register.index
        old = self._values[index]
        if mask is None:
            self._values[index], self._defined[index] = raw, True
            return
        self._values[index] = raw if old is None else np.where(mask, raw, old)
        defined = self._defined[index]
        if defined is not True:
            defined = defined | mask
            self._defined[index] = True if defined.all() else defined

    def full(self, x: Array) -> Array:
        """`x` with one element per lane."""
        return np.broadcast_to(x, self.count)

    def chosen(self, x: Array, mask: Mask) -> Array:
        """The elements of `x` that belong to the threads of `mask`."""
        return self.full(x) if mask is None else self.full(x)[mask]

    @cached_property
    def special(self) -> dict[str, Array]:
        """The read-only registers, as uint32."""
        block = np.array(self.blocks)[self.row]
        lane = self.thread % WARP
        table = {
            "%laneid": lane,
            "%warpid": self.thread // WARP,
            "%nwarpid": [self.per_block // WARP],
            "%lanemask_eq": 1 << lane,
            "%lanemask_lt": (1 << lane) - 1,
            "%lanemask_le": (2 << lane) - 1,
            "%lanemask_gt": 0xFFFFFFFF ^ ((2 << lane) - 1),
            "%lanemask_ge": 0xFFFFFFFF ^ ((1 << lane) - 1),
        }
        places = (("ctaid", block, self.grid), ("tid", self.thread, self.threads))
        for name, index, sizes in places:
            x, y, _ = sizes
            parts = (index % x, index // x % y, index // (x * y))
            for axis, part, size in zip("xyz", parts, sizes, strict=True):
                table[f"%{name}.{axis}"] = part
                table[f"%n{name}.{axis}"] = [size]
        return {k: np.asarray(v).astype(np.uint32) for k, v in table.items()}


Reader = Callable[[Lanes, Mask], Array]
Writer = Callable[[Lanes, Array, Mask], None]

_KNOWN_SPECIAL = {
    *(f"%{n}{d}.{a}" for n in ("", "n") for d in ("tid", "ctaid") for a in "xyz"),
    *("%laneid", "%warpid", "%nwarpid"),
    *(f"%lanemask_{order}" for order in ("eq", "lt", "le", "gt", "ge")),
}


def read_bits(operand: Operand, kind: Type, shared: dict[str, int]) -> Reader:
    """How to fetch the stored bits of a source read as type `kind`."""
    if isinstance(operand, Register):
        if operand.type.storage == kind.storage:
            return lambda lanes, mask: lanes.read(operand, mask)
        if operand.type.bytes < kind.bytes:
            raise Unsupported(f"{operand.name} is narrower than {kind.name}")
        return lambda lanes, mask: resize(
            lanes.read(operand, mask), operand.type, kind.storage
        )
    if isinstance(operand, Negated):
        return lambda lanes, mask: ~lanes.read(operand.register, mask)
    if isinstance(operand, Special) and operand.name in _KNOWN_SPECIAL:
        word = TYPES["u32"]
        return lambda lanes, _: resize(lanes.special[operand.name], word, kind.storage)
    if isinstance(operand, Immediate):
        constant = immediate(operand.text, kind)
    elif isinstance(operand, Symbol) and operand.name in shared:
        constant = np.array([shared[operand.name]]).astype(kind.storage)
    elif isinstance(operand, Symbol) and operand.name == "WARP_SZ":
        constant = np.array([WARP]).astype(kind.storage)
    else:
        raise Unsupported(f"operand {operand}")
    return lambda *_: constant


def read_value(operand: Operand, kind: Type, shared: dict[str, int]) -> Reader:
    """How to fetch what arithmetic of type `kind` sees of a source."""
    bits = read_bits(operand, kind, shared)
    if kind.value == kind.storage:
        return bits
    return lambda lanes, mask: decode(kind, bits(lanes, mask))


def write_bits(operand: Operand, kind: Type) -> Writer:
    """How to store bits of type `kind`, extended to the width of the register."""
    if isinstance(operand, Sink):
        return lambda *_: None
    if not isinstance(operand, Register):
        raise Unsupported(f"destination {operand}")
    if operand.type.bytes < kind.bytes:
        raise Unsupported(f"{operand.name} is too narrow for {kind.name}")
    storage = operand.type.storage
    if storage == kind.storage:
        return lambda lanes, raw, mask: lanes.write(operand, raw, mask)
    return lambda lanes, raw, mask: lanes.write(
        operand, resize(raw, kind, storage), mask
    )
