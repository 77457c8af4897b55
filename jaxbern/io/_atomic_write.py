"""Write files atomically: under a temporary name, then renamed."""

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def replacing(path: Path, mode: str = "w") -> Iterator[IO]:
    """Open a file for writing that replaces ``path`` when the block ends.

    If the block raises, ``path`` stays as it was. A process that is killed leaves at most
    a file whose name begins with a dot.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> with replacing(path) as file:
    ...     _ = file.write("1 2 3")
    >>> path.read_text()
    '1 2 3'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    new = temporary_name(path)
    try:
        with new.open(mode) as file:
            yield file
            flush(file)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a file atomically, replacing an existing one."""
    with replacing(path) as file:
        file.write(text)


def temporary_name(final: Path) -> Path:
    """Return a unique path next to the final one, also unique across crashes."""
    return final.with_name(f".{final.name}.{uuid.uuid4().hex[:12]}.tmp")


def flush(file: IO) -> None:
    """Flush a file to disk before it is renamed, so that a crash cannot truncate it."""
    file.flush()
    os.fsync(file.fileno())
