"""PTX types: how a register stores a value and what arithmetic sees of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .errors import Unsupported

Array = np.ndarray


@dataclass(frozen=True)
class Type:
    """A PTX type. Registers hold `storage`; `value` is the arithmetic type.

    Halves are widened to float32 (exact). A packed type is two `part`s in one
    register and is seen as an array with a trailing axis of two.
    """

    name: str
    kind: str  # "int", "float", "pred" or "opaque"
    storage: np.dtype
    value: np.dtype
    part: Type | None = None

    @property
    def bytes(self) -> int:
        return self.storage.itemsize

    @property
    def bits(self) -> int:
        return 8 * self.bytes

    @property
    def signed(self) -> bool:
        return self.kind == "int" and self.value.kind == "i"


def _types() -> dict[str, Type]:
    table = {}

    def add(name: str, kind: str, storage: str, value: str, part: str = "") -> None:
        table[name] = Type(
            name, kind, np.dtype(storage), np.dtype(value), table.get(part)
        )

    for size in (1, 2, 4, 8):
        for letter in "bu":
            add(f"{letter}{8 * size}", "int", f"u{size}", f"u{size}")
        add(f"s{8 * size}", "int", f"u{size}", f"i{size}")
    add("b128", "opaque", "V16", "V16")
    add("pred", "pred", "?", "?")
    add("f64", "float", "u8", "f8")
    for name in ("f32", "tf32"):
        add(name, "float", "u4", "f4")
    for name in ("f16", "bf16"):
        add(name, "float", "u2", "f4")
        add(f"{name}x2", "float", "u4", "f4", part=name)
    add("f32x2", "float", "u8", "f4", part="f32")
    return table


TYPES = _types()


def decode(kind: Type, raw: Array) -> Array:
    """What arithmetic sees of the stored bits `raw`."""
    if kind.part is not None:
        return decode(kind.part, raw.view(kind.part.storage).reshape(-1, 2))
    if kind.name == "f16":
        return raw.view(np.float16).astype(np.float32)
    if kind.name == "bf16":
        return (raw.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return raw.view(kind.value)


def resize(raw: Array, source: Type, target: np.dtype) -> Array:
    """Bits of type `source` in a register of dtype `target`: cut, or extended."""
    if raw.dtype == target:
        return raw
    if "V" in (raw.dtype.kind, target.kind) or "b" in (raw.dtype.kind, target.kind):
        raise Unsupported(f"{source.name} in a register of {8 * target.itemsize} bits")
    if source.signed and target.itemsize > raw.dtype.itemsize:
        signed = raw.view(source.value).astype(f"i{target.itemsize}")
        return signed.view(target)
    return raw.astype(target)


def immediate(text: str, kind: Type) -> Array:
    """The stored bits of a literal read as type `kind`, as an array of one."""
    lead = text[:2].lower()
    if kind.kind == "opaque":
        raise Unsupported(f"literal {text} of 128 bits")
    if lead in ("0f", "0d"):
        expected = 4 if lead == "0f" else 8
        if kind.bytes != expected:
            raise Unsupported(f"literal {text} as {kind.name}")
        bits = int(text[2:], 16)
    elif "." in text or ("e" in text.lower() and lead != "0x"):
        if kind.name not in ("f32", "f64"):
            raise Unsupported(f"literal {text} as {kind.name}")
        return np.array([float(text)]).astype(kind.value).view(kind.storage)
    else:
        bits = integer(text)
    if kind.kind == "pred":
        return np.array([bits != 0])
    return np.array([bits & ((1 << kind.bits) - 1)], np.uint64).astype(kind.storage)


def integer(text: str) -> int:
    """An integer literal of PTX: decimal, 0x, 0b or octal, with an optional U."""
    digits = text.rstrip("uU") if text[:2].lower() != "0x" else text.rstrip("U")
    body = digits.lstrip("-")
    if len(body) > 1 and body[0] == "0" and body.isdigit():
        return int(digits, 8)
    try:
        return int(digits, 0)
    except ValueError:
        raise Unsupported(f"literal {text}") from None
