"""Write files in UCI's format, for the benchmark and for tests of damaged files."""

import functools
import struct
import zlib
from pathlib import Path

import jaxbern as jb


@functools.lru_cache(8)
def lines(rows: int, seed: int = 0) -> bytes:
    """Return lines of simulated HIGGS events, with 18 digits as UCI writes them."""
    data = jb.data.load("collider:higgs", rows=rows, seed=seed)
    numbers = zip(data.y.tolist(), data.x.tolist(), strict=True)
    form = ",".join(["%.18e"] * (1 + len(data.columns))) + "\n"
    return "".join([form % (label, *features) for label, features in numbers]).encode()


def write_repeated(path: Path, text: bytes, times: int) -> None:
    """Repeat the text in one gzip stream, compressing it only once.

    A full flush resets the compressor, so that the compressed piece can be repeated.
    """
    packer = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    piece = packer.compress(text) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    with path.open("wb") as file:
        file.write(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03")
        for _ in range(times):
            checksum = zlib.crc32(text, checksum)
            file.write(piece)
        empty_last_block = b"\x03\x00"
        size = len(text) * times % 2**32
        file.write(empty_last_block + struct.pack("<II", checksum, size))
