"""The parsed form of a kernel: operands, instructions, program."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import Unsupported
from .values import Type


@dataclass(frozen=True)
class Register:
    """A declared register; `index` is its place in the register file."""

    name: str
    index: int
    type: Type


@dataclass(frozen=True)
class Special:
    """A read-only register such as %tid.x."""

    name: str


@dataclass(frozen=True)
class Immediate:
    """A literal, kept as text: its bits depend on the type it is read as."""

    text: str


@dataclass(frozen=True)
class Symbol:
    """A label, a parameter or a shared variable."""

    name: str


@dataclass(frozen=True)
class Sink:
    """`_`: a result nobody wants."""


@dataclass(frozen=True)
class Negated:
    """`!p` as a source."""

    register: Register


@dataclass(frozen=True)
class Pair:
    """`d|p`: two destinations."""

    first: Operand
    second: Operand


@dataclass(frozen=True)
class Vector:
    """`{a, b, ...}`."""

    items: tuple[Operand, ...]


@dataclass(frozen=True)
class Address:
    """`[base + offset]`."""

    base: Register | Symbol | Immediate
    offset: int


Operand = (
    Register | Special | Immediate | Symbol | Sink | Negated | Pair | Vector | Address
)


@dataclass(frozen=True)
class Instruction:
    """One statement: `@guard opcode.modifiers.types operands`."""

    text: str
    opcode: str
    modifiers: tuple[str, ...]
    types: tuple[Type, ...]
    operands: tuple[Operand, ...]
    guard: Register | Negated | None

    @property
    def name(self) -> str:
        """The dotted name, as in `fma.rn.f32`."""
        types = (t.name for t in self.types)
        return ".".join((self.opcode, *self.modifiers, *types))

    @property
    def type(self) -> Type:
        """The only type of an instruction that must have exactly one."""
        if len(self.types) != 1:
            raise Unsupported(f"{self.name}: expected one type")
        return self.types[0]

    def expect(self, least: int, most: int | None = None) -> None:
        """Refuses any other number of operands."""
        if not least <= len(self.operands) <= (most or least):
            raise Unsupported(f"{self.name} with {len(self.operands)} operands")

    def allow(self, *modifiers: str) -> None:
        """Refuses any modifier that is not named here."""
        unknown = [m for m in self.modifiers if m not in modifiers]
        if unknown:
            raise Unsupported(f"{self.name}: modifier .{unknown[0]}")


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter of `size` bytes."""

    name: str
    type: Type
    size: int


@dataclass(frozen=True)
class Program:
    """One `.entry`, ready to be built."""

    name: str
    parameters: tuple[Parameter, ...]
    registers: tuple[Register, ...]
    shared: dict[str, int]
    shared_bytes: int
    threads: int | None
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]
