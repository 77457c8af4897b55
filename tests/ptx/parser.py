"""From PTX text to a `Program`.

Register names are resolved here, with the scopes that inline assembly opens, so
that nothing later looks at text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .errors import Unsupported
from .syntax import (
    Address,
    Immediate,
    Instruction,
    Negated,
    Operand,
    Pair,
    Parameter,
    Program,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)
from .values import TYPES, Type, integer

if TYPE_CHECKING:
    from re import Match

_NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*\.(?:loc|file)\b[^\n]*$", re.M | re.S)
_ENTRY = re.compile(r"\.entry\s+([\w$.]+)\s*(?:\(([^)]*)\))?([^{;]*)\{")
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+(?:\.ptr\b.*?)?([\w$]+)(?:\[(\d+)\])?$"
)
_SHARED = re.compile(
    r"\.shared\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)\s*(?:\[(\d*)\])?\s*;"
)
_THREADS = re.compile(r"\.reqntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")
_TOKEN = re.compile(r"\S")
_LABEL = re.compile(r"([\w$%]+)\s*:(?!:)")
_GUARD = re.compile(r"@(!?)\s*([\w$%]+)\s+")
_ADDRESS = re.compile(r"([\w$%]+)\s*(?:\+\s*(-?\w+))?$")
_NUMBER = re.compile(r"-?\d")


def parse(text: str, name: str | None = None) -> Program:
    """Parses the entry `name`, or the only entry there is."""
    text = _NOISE.sub("", text)
    entry = _find_entry(text, name)
    body = text[entry.end() : _closing_brace(text, entry.end())]
    shared, shared_bytes = _shared_layout(text, body)
    threads = _THREADS.search(entry[3])
    reader = _Body()
    reader.read(body)
    return Program(
        name=entry[1],
        parameters=tuple(_parameters(entry[2] or "")),
        registers=tuple(reader.registers),
        shared=shared,
        shared_bytes=shared_bytes,
        threads=_product(threads) if threads else None,
        instructions=tuple(reader.instructions),
        labels=reader.labels,
    )


def _find_entry(text: str, name: str | None) -> Match[str]:
    entries = {m[1]: m for m in _ENTRY.finditer(text)}
    if name is None and len(entries) == 1:
        return next(iter(entries.values()))
    if name not in entries:
        names = ", ".join(entries) or "none"
        raise Unsupported(f"no entry {name!r}: the text has {names}; pass name=")
    return entries[name]


def _closing_brace(text: str, start: int) -> int:
    depth = 1
    for brace in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.start()
    raise Unsupported("unbalanced braces")


def _product(match: Match[str]) -> int:
    x, y, z = (int(group or 1) for group in match.groups())
    return x * y * z


def _parameters(text: str) -> Iterator[Parameter]:
    for item in filter(None, (" ".join(part.split()) for part in text.split(","))):
        found = _PARAMETER.match(item)
        if not found:
            raise Unsupported(f"parameter {item!r}")
        kind = _type(found[1])
        yield Parameter(found[2], kind, kind.bytes * int(found[3] or 1))


def _shared_layout(text: str, body: str) -> tuple[dict[str, int], int]:
    """Offsets of the shared variables that the body uses; the dynamic one is last."""
    used = (m for m in _SHARED.finditer(text) if m[3] in body)
    found = sorted(used, key=lambda m: m[4] == "")
    offsets, end = {}, 0
    for align, kind, name, length in (m.groups() for m in found):
        size = _type(kind).bytes
        unit = int(align or size)
        offsets[name] = -(-end // unit) * unit
        end = offsets[name] + size * (1 if length is None else int(length or 0))
    return offsets, end


def _type(name: str) -> Type:
    if name not in TYPES:
        raise Unsupported(f"type .{name}")
    return TYPES[name]


class _Body:
    """Reads the statements between the braces of an entry."""

    def __init__(self) -> None:
        self.registers: list[Register] = []
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        # Innermost scope last: a plain name, or (prefix, "<") for a numbered range.
        self._scopes: list[dict[str, Type | Register]] = [{}]

    def read(self, body: str) -> None:
        at = 0
        while token := _TOKEN.search(body, at):
            at = token.start()
            label = _LABEL.match(body, at)
            if token[0] == "{":
                self._scopes.append({})
                at += 1
            elif token[0] == "}":
                self._scopes.pop()
                at += 1
            elif label:
                self.labels[label[1]] = len(self.instructions)
                at = label.end()
            else:
                end = body.find(";", at)
                if end < 0:
                    raise Unsupported(f"no end of {body[at : at + 60]!r}")
                self._statement(" ".join(body[at:end].split()))
                at = end + 1

    def _statement(self, text: str) -> None:
        if text.startswith(".reg "):
            self._declare(text[5:])
        elif text.startswith("."):
            if not text.startswith((".pragma", ".shared")):
                raise Unsupported(f"directive {text!r}")
        elif text:
            self.instructions.append(self._instruction(text))

    def _declare(self, text: str) -> None:
        kind, _, names = text.partition(" ")
        for name in names.replace(" ", "").split(","):
            prefix, bracket, _ = name.partition("<")
            self._scopes[-1][prefix + bracket] = _type(kind.lstrip("."))

    def _register(self, name: str) -> Register | None:
        for scope in reversed(self._scopes):
            found = scope.get(name) or scope.get(name.rstrip("0123456789") + "<")
            if isinstance(found, Type):
                found = Register(name, len(self.registers), found)
                self.registers.append(found)
                scope[name] = found
            if found is not None:
                return found
        return None

    def _instruction(self, text: str) -> Instruction:
        guard: Register | Negated | None = None
        rest = text
        if match := _GUARD.match(text):
            guard = self._register(match[2])
            if guard is None:
                raise Unsupported(f"undeclared register in {text!r}")
            guard = Negated(guard) if match[1] else guard
            rest = text[match.end() :]
        name, _, operands = rest.partition(" ")
        opcode, *dotted = name.split(".")
        count = len(dotted)
        while count and dotted[count - 1] in TYPES:
            count -= 1
        return Instruction(
            text=text,
            opcode=opcode,
            modifiers=tuple(dotted[:count]),
            types=tuple(TYPES[t] for t in dotted[count:]),
            operands=tuple(self._operand(o) for o in _split(operands)),
            guard=guard,
        )

    def _operand(self, text: str) -> Operand:
        if text.startswith("{"):
            return Vector(tuple(self._operand(o) for o in _split(text[1:-1])))
        if text.startswith("["):
            return self._address(text[1:-1].strip())
        if text == "_":
            return Sink()
        if "|" in text:
            first, second = (self._operand(o.strip()) for o in text.split("|"))
            return Pair(first, second)
        if text.startswith("!"):
            register = self._register(text[1:].strip())
            if register is None:
                raise Unsupported(f"operand {text!r}")
            return Negated(register)
        if register := self._register(text):
            return register
        if text.startswith("%"):
            return Special(text)
        return Immediate(text) if _NUMBER.match(text) else Symbol(text)

    def _address(self, text: str) -> Address:
        match = _ADDRESS.match(text)
        if not match:
            raise Unsupported(f"address [{text}]")
        base, offset = match.groups()
        return Address(self._operand(base), integer(offset) if offset else 0)


def _split(text: str) -> list[str]:
    """Splits at the commas outside braces and brackets."""
    parts = re.split(r",(?![^{]*\})(?![^\[]*\])", text)
    return [part.strip() for part in parts if part.strip()]
