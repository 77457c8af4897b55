"""Files that appear whole or not at all: written under another name, then renamed."""

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def replacing(path: Path, mode: str = "w") -> Iterator[IO]:
    """A file to write that takes the place of ``path`` when the block ends.

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
    """Replace a file, or make one, in one step."""
    with replacing(path) as file:
        file.write(text)


def temporary_name(final: Path) -> Path:
    """A name beside the final one that nobody else uses, now or after a crash."""
    return final.with_name(f".{final.name}.{uuid.uuid4().hex[:12]}.tmp")


def flush(file: IO) -> None:
    """Bring a file to the disk, so that its name never stands for less than all of it."""
    file.flush()
    os.fsync(file.fileno())
