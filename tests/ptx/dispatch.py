"""From an instruction to the function that performs it.

A *builder* looks at an instruction once, refuses what it does not know, and returns
an *action* that runs it on any set of lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .errors import Unsupported
from .lanes import Lanes, Mask, read_bits, read_value, write_bits
from .rounding import narrow
from .syntax import Instruction, Operand
from .values import Array, Type

Action = Callable[[Lanes, Mask], None]
Builder = Callable[[Instruction, dict[str, int]], Action]

_BUILDERS: dict[tuple[str, str], Builder] = {}


def builds(
    opcodes: Iterable[str], kinds: Iterable[str]
) -> Callable[[Builder], Builder]:
    """Registers a builder for these opcodes and kinds of their last type."""

    def register(builder: Builder) -> Builder:
        for opcode in opcodes:
            for kind in kinds:
                _BUILDERS[opcode, kind] = builder
        return builder

    return register


def build(instruction: Instruction, shared: dict[str, int]) -> Action:
    """The action of an instruction; `shared` holds the shared variables' offsets."""
    kind = instruction.types[-1].kind if instruction.types else ""
    builder = _BUILDERS.get((instruction.opcode, kind))
    if builder is None:
        raise Unsupported(f"{instruction.name}: unknown instruction")
    return builder(instruction, shared)


def compute(
    function: Callable[..., Array],
    sources: Iterable[tuple[Operand, Type]],
    target: tuple[Operand, Type],
    shared: dict[str, int],
) -> Action:
    """target = function(*sources), each seen as its type; floats are rounded."""
    readers = [read_value(operand, kind, shared) for operand, kind in sources]
    kind = target[1]
    write = write_bits(*target)

    def encode(result: Array) -> Array:
        rounds = kind.kind == "float"
        return narrow(result, kind) if rounds else result.view(kind.storage)

    def action(lanes: Lanes, mask: Mask) -> None:
        result = function(*[read(lanes, mask) for read in readers])
        write(lanes, encode(result), mask)

    return action


def copy(
    function: Callable[..., Array],
    sources: Iterable[tuple[Operand, Type]],
    target: tuple[Operand, Type],
    shared: dict[str, int],
) -> Action:
    """target = function(*sources) on stored bits, uninterpreted."""
    readers = [read_bits(operand, kind, shared) for operand, kind in sources]
    write = write_bits(*target)

    def action(lanes: Lanes, mask: Mask) -> None:
        write(lanes, function(*[read(lanes, mask) for read in readers]), mask)

    return action
