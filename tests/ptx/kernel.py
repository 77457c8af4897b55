"""The public face: load a kernel, launch it, look at what it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from .errors import Unsupported
from .lanes import Dims, Lanes
from .machine import assemble, run
from .memory import Buffer, GlobalMemory
from .parser import parse
from .syntax import Parameter

# Lanes simulated at once: enough to hide NumPy's cost per call, few enough to stay in
# the cache.
LANES_AT_ONCE = 8192


@dataclass(frozen=True)
class OutputSpec:
    """An output buffer. Nothing may be read from it before it is written."""

    shape: tuple[int, ...]
    dtype: np.typing.DTypeLike


@dataclass(frozen=True)
class InOut:
    """A buffer that the kernel may both read and write; returned as an output.

    Passed twice it is the same buffer: a kernel that works in place.
    """

    array: np.ndarray


Scalar = bool | int | float | np.generic
Argument = np.ndarray | OutputSpec | InOut | Scalar


@dataclass(frozen=True)
class Result:
    """What a launch produced and what it cost.

    `counts` maps each instruction to the threads that issued it (a thread whose
    guard is false issues it too). Bytes are per argument and as requested by the
    threads: threads that load the same address each count.
    """

    outputs: tuple[np.ndarray, ...]
    counts: Mapping[str, int]
    bytes_loaded: tuple[int, ...]
    bytes_stored: tuple[int, ...]
    unwritten: tuple[int, ...]  # bytes of each output that no thread stored to
    shared_loaded: int
    shared_stored: int

    @property
    def classes(self) -> dict[str, int]:
        """`counts` added up by class of instruction."""
        totals: dict[str, int] = {}
        for name, count in self.counts.items():
            group = classify(name)
            totals[group] = totals.get(group, 0) + count
        return totals


_FLOAT_TYPES = ("f16", "bf16", "f32", "f64", "f16x2", "bf16x2", "f32x2")
_CLASSES = {
    "convert": ("cvt",),
    "move": ("mov", "selp", "cvta", "createpolicy"),
    "compare": ("setp", "testp"),
    "special": ("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh", "div"),
    "warp": ("shfl", "vote", "redux", "activemask"),
    "barrier": ("bar", "barrier", "membar", "fence", "griddepcontrol"),
    "branch": ("bra", "ret", "exit"),
    "async": ("cp",),
}
_CLASS_OF = {opcode: group for group, names in _CLASSES.items() for opcode in names}


def classify(name: str) -> str:
    """The class of an instruction by its dotted name.

    ld and st are classed by address space ("global load"), arithmetic as "float",
    "fma" or "integer", and what the special-function unit does as "special".
    """
    opcode, *rest = name.split(".")
    if opcode in ("ld", "st"):
        known = ("global", "shared", "param")
        space = next(
            (s for s in known if any(r.startswith(s) for r in rest)), "generic"
        )
        return f"{space} {'load' if opcode == 'ld' else 'store'}"
    if opcode in _CLASS_OF and (opcode != "div" or rest[-1] in _FLOAT_TYPES):
        return _CLASS_OF[opcode]
    if opcode == "fma":
        return "fma"
    return "float" if rest and rest[-1] in _FLOAT_TYPES else "integer"


class Kernel:
    """One entry of a PTX text, ready to launch.

        kernel = Kernel(text, name="add")
        result = kernel.launch(8, 128, [x, y, OutputSpec(x.shape, x.dtype), n])

    Raises `Unsupported` at once if any instruction is unknown.
    """

    def __init__(self, text: str, name: str | None = None) -> None:
        self.program = parse(text, name)
        self.name = self.program.name
        self._steps = assemble(self.program)

    def launch(
        self,
        grid: int | Sequence[int],
        threads: int | Sequence[int] | None = None,
        args: Sequence[Argument] = (),
        *,
        shared_bytes: int = 0,
        max_steps: int = 2_000_000,
    ) -> Result:
        """Runs every block of the grid.

        Arguments fill the parameters in order: an array is a read-only buffer,
        `OutputSpec` and `InOut` are writable ones, numbers are passed by value.
        Pointers left over are null. `threads` defaults to what the kernel requires;
        `shared_bytes` is dynamic shared memory, on top of what the kernel declares.
        """
        grid, block = _dims(grid), self._threads(threads)
        memory = GlobalMemory()
        buffers: list[Buffer | None] = []
        for index, arg in enumerate(args):
            first = next(i for i, a in enumerate(args) if a is arg)
            shared = isinstance(arg, InOut) and first < index
            buffers.append(buffers[first] if shared else _buffer(memory, index, arg))
        parameters = self._bind(args, buffers)
        issued = [0] * len(self._steps)
        step = max(1, LANES_AT_ONCE // prod(block))
        loaded = stored = 0
        for first in range(0, prod(grid), step):
            blocks = range(first, min(first + step, prod(grid)))
            lanes = Lanes(
                self.program, grid, block, blocks, parameters, memory, shared_bytes
            )
            run(self._steps, lanes, issued, max_steps)
            loaded += lanes.shared.loaded
            stored += lanes.shared.stored
        return Result(
            outputs=_outputs(args, buffers),
            counts=self._count(issued),
            bytes_loaded=tuple(b.loaded if b else 0 for b in buffers),
            bytes_stored=tuple(b.stored if b else 0 for b in buffers),
            unwritten=tuple(_unwritten(b) for b in buffers),
            shared_loaded=loaded,
            shared_stored=stored,
        )

    def _threads(self, threads: int | Sequence[int] | None) -> Dims:
        required = self.program.threads
        if threads is None and required is None:
            raise ValueError(
                f"{self.name} does not say how many threads: pass threads="
            )
        block = _dims(required if threads is None else threads)
        if required is not None and prod(block) != required:
            raise ValueError(f"{self.name} needs {required} threads, got {prod(block)}")
        if not 1 <= prod(block) <= 1024:
            raise ValueError(f"a block has 1 to 1024 threads, got {prod(block)}")
        return block

    def _bind(
        self, args: Sequence[Argument], buffers: list[Buffer | None]
    ) -> dict[str, np.ndarray]:
        parameters = self.program.parameters
        if len(args) > len(parameters):
            raise ValueError(
                f"{self.name} has {len(parameters)} parameters, got {len(args)}"
            )
        bound = {}
        for index, parameter in enumerate(parameters):
            if index < len(args):
                buffer = buffers[index]
                value = args[index] if buffer is None else buffer.base
                bound[parameter.name] = _bytes_of(value, parameter)
            elif parameter.size == 8:
                bound[parameter.name] = np.zeros(8, np.uint8)
            else:
                raise ValueError(f"{self.name}: no value for {parameter.name}")
        return bound

    def _count(self, issued: list[int]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for step, threads in zip(self._steps, issued, strict=True):
            if threads:
                name = step.instruction.name
                counts[name] = counts.get(name, 0) + threads
        return counts


def _dims(size: int | Sequence[int]) -> Dims:
    sizes = (size,) if isinstance(size, int) else tuple(size)
    x, y, z = (*sizes, 1, 1)[:3]
    return int(x), int(y), int(z)


def _buffer(memory: GlobalMemory, index: int, arg: Argument) -> Buffer | None:
    label = f"argument {index}"
    if isinstance(arg, OutputSpec):
        size = prod(arg.shape) * np.dtype(arg.dtype).itemsize
        return memory.allocate(label, size, None, writable=True)
    if isinstance(arg, Scalar):
        return None
    array = np.asarray(arg.array if isinstance(arg, InOut) else arg)
    writable = isinstance(arg, InOut)
    return memory.allocate(label, array.nbytes, array.tobytes(), writable=writable)


def _bytes_of(value: Scalar, parameter: Parameter) -> np.ndarray:
    """A number as the bytes of a parameter; Python's take the parameter's width."""
    width = parameter.size
    is_float = isinstance(value, (float, np.floating)) or parameter.type.kind == "float"
    if isinstance(value, np.generic) and value.dtype.itemsize == width:
        raw = np.array([value])
    elif width not in (1, 2, 4, 8) or (is_float and width < 4):
        raise Unsupported(f"parameter {parameter.name} of {width} bytes")
    elif is_float:
        raw = np.array([value], f"f{width}")
    else:
        raw = np.array([int(value) % (1 << 8 * width)], f"u{width}")
    return raw.view(np.uint8)


def _outputs(
    args: Sequence[Argument], buffers: list[Buffer | None]
) -> tuple[np.ndarray, ...]:
    found = []
    for arg, buffer in zip(args, buffers, strict=True):
        if buffer is not None and buffer.writable:
            like = arg.array if isinstance(arg, InOut) else arg
            flat = buffer.data[: buffer.size].view(like.dtype)
            found.append(flat.reshape(like.shape))
    return tuple(found)


def _unwritten(buffer: Buffer | None) -> int:
    if buffer is None or buffer.defined is None:
        return 0
    return int(np.count_nonzero(~buffer.defined[: buffer.size]))
