"""Damage files at random, as disks, interrupted copies and careless edits do."""

from pathlib import Path

import numpy as np


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the content with one random damage; it always differs."""
    while True:
        changed = _DAMAGES[rng.integers(len(_DAMAGES))](content, rng)
        if changed != content:
            return changed


def mutate_file(path: Path, rng: np.random.Generator) -> str:
    """Damage a file in place."""
    path.write_bytes(mutated(path.read_bytes(), rng))
    return f"damaged {path.name}"


def mutate_folder(folder: Path, rng: np.random.Generator) -> str:
    """Damage, remove, rename or exchange files and folders in a folder."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    file = files[rng.integers(len(files))]
    kind = rng.integers(12)
    if kind == 0:
        file.unlink()
        return f"removed {file.relative_to(folder)}"
    if kind == 1:
        places = [place for place in sorted(folder.rglob("*"))]
        place = places[rng.integers(len(places))]
        place.rename(place.with_name(f"{rng.integers(10)}{place.name}"))
        return f"renamed {place.relative_to(folder)}"
    if kind == 2:
        other = files[rng.integers(len(files))]
        one, two = file.read_bytes(), other.read_bytes()
        file.write_bytes(two)
        other.write_bytes(one)
        return f"exchanged {file.relative_to(folder)}, {other.relative_to(folder)}"
    return mutate_file(file, rng)


def _bit(content, rng):
    changed = bytearray(content or b"\0")
    changed[rng.integers(len(changed))] ^= 1 << rng.integers(8)
    return bytes(changed)


def _byte(content, rng):
    changed = bytearray(content or b"\0")
    changed[rng.integers(len(changed))] = rng.integers(256)
    return bytes(changed)


def _digit(content, rng):
    """Replace a digit by another, if there are any, so that text stays well-formed."""
    characters = np.frombuffer(content, np.uint8).copy()
    digits = np.flatnonzero((characters >= 48) & (characters < 58))
    if not len(digits):
        return _bit(content, rng)
    characters[digits[rng.integers(len(digits))]] = 48 + rng.integers(10)
    return characters.tobytes()


def _range(content, rng):
    start, stop = np.sort(rng.integers(len(content) + 1, size=2))
    return int(start), int(stop)


def _cut(content, rng):
    return content[: rng.integers(len(content) + 1)]


def _removed(content, rng):
    start, stop = _range(content, rng)
    return content[:start] + content[stop:]


def _zeroed(content, rng):
    start, stop = _range(content, rng)
    return content[:start] + bytes(stop - start) + content[stop:]


def _doubled(content, rng):
    start, stop = _range(content, rng)
    return content[:stop] + content[start:stop] + content[stop:]


def _more(content, rng):
    place = int(rng.integers(len(content) + 1))
    noise = rng.integers(0, 256, rng.integers(1, 40), dtype=np.uint8).tobytes()
    return content[:place] + noise + content[place:]


def _line_twice(content, rng):
    lines = content.splitlines(keepends=True)
    place = int(rng.integers(len(lines))) if lines else 0
    return b"".join([*lines[: place + 1], *lines[place:]])


_DAMAGES = (
    _bit,
    _bit,
    _bit,
    _byte,
    _digit,
    _digit,
    _cut,
    _removed,
    _zeroed,
    _doubled,
    _more,
    _line_twice,
)
