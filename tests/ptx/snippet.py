"""Small hand-written kernels: one instruction, one thread per test value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .kernel import Kernel, OutputSpec, Result

HEADER = ".version 8.4\n.target sm_80\n.address_size 64\n"
NAMES = "abce"
_REGISTERS = """
    .reg .pred %p<9>;
    .reg .b16 %h<9>;
    .reg .b32 %r<33>;
    .reg .b64 %w<33>;
    .reg .b128 %q<5>;
"""


def entry(body: str, parameters: int = 1, *, name: str = "k", module: str = "") -> str:
    """A kernel of pointer parameters p0, p1, ..., each already in %w0, %w1, ...

    %r0 holds the thread, and registers of all widths are declared.
    """
    signature = ", ".join(f".param .u64 p{n}" for n in range(parameters))
    loads = "".join(f"ld.param.u64 %w{n}, [p{n}];\n" for n in range(parameters))
    return (
        f"{HEADER}{module}\n.visible .entry {name}({signature})\n{{{_REGISTERS}"
        f"mov.u32 %r0, %tid.x;\n{loads}{body}\nret;\n}}\n"
    )


def launch(body: str, *args: object, threads: int = 32, **options: object) -> Result:
    """Runs one block of `entry(body)`, with the arguments as its parameters."""
    module = options.pop("module", "")
    kernel = Kernel(entry(body, len(args), module=module))
    return kernel.launch(options.pop("grid", 1), threads, args, **options)


def evaluate(
    instruction: str, target: int, sources: Sequence[int], rows: Sequence[Sequence[int]]
) -> list[int]:
    """Runs an instruction on rows of operands, all given and returned as bits.

    `target` and `sources` are widths in bits. The instruction uses the registers %d
    (result) and %a, %b, %c, %e (operands).
    """
    used = NAMES[: len(sources)]
    registers = "".join(
        f".reg .b{bits} %{name};\n"
        for name, bits in zip((*used, "d"), (*sources, target), strict=True)
    )
    body = registers
    for n, (name, bits) in enumerate(zip(used, sources, strict=True)):
        body += f"mad.wide.u32 %w{n}, %r0, {bits // 8}, %w{n};\n"
        body += f"ld.global.b{bits} %{name}, [%w{n}];\n"
    last = len(used)
    body += f"{instruction}\n"
    body += f"mad.wide.u32 %w{last}, %r0, {target // 8}, %w{last};\n"
    body += f"st.global.b{target} [%w{last}], %d;"
    kernel = Kernel(entry(body, last + 1))
    results: list[int] = []
    for start in range(0, len(rows), 1024):
        part = rows[start : start + 1024]
        columns = [
            np.array(column, np.uint64).astype(f"u{bits // 8}")
            for column, bits in zip(zip(*part, strict=True), sources, strict=True)
        ]
        output = OutputSpec((len(part),), f"u{target // 8}")
        results += kernel.launch(1, len(part), [*columns, output]).outputs[0].tolist()
    return results
