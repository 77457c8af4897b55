"""What can go wrong while a kernel runs, each with the instruction it went wrong at."""

from __future__ import annotations


class PtxError(Exception):
    """Base of every complaint; the machine fills in kernel and instruction."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.kernel = ""
        self.instruction = ""

    def at(self, kernel: str, instruction: str) -> PtxError:
        """The same error, naming where it happened."""
        self.kernel, self.instruction = kernel, instruction
        return self

    def __str__(self) -> str:
        where = f" [kernel {self.kernel}: {self.instruction}]" if self.kernel else ""
        return self.reason + where


class Unsupported(PtxError):
    """PTX this machine does not know. It never guesses."""


class MemoryFault(PtxError):
    """An access outside its buffer, misaligned, or to memory it may not touch.

    `address` is the first offending one, `count` how many threads offended.
    """

    def __init__(self, reason: str, address: int, count: int) -> None:
        super().__init__(f"{reason}; address {address:#x}, {count} thread(s)")
        self.address = address
        self.count = count


class Undefined(PtxError):
    """A register or a byte of memory was read before anything wrote it."""


class Race(PtxError):
    """Two threads touched the same memory with nothing ordering them."""


class Divergence(PtxError):
    """A barrier or a warp operation that not every thread it names has reached."""


class Endless(PtxError):
    """More steps than the launch allowed."""
