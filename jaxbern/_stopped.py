"""Make Ctrl-C end ``python -m jaxbern`` without a traceback while it imports JAX.

Python imports the package, and JAX with it, before it runs ``__main__``, so the signal
has to be handled here. Programs that import jaxbern keep their own signal handling.
"""

import signal
import sys


def is_command() -> bool:
    """Return whether this process is ``python -m jaxbern``, before ``__main__`` runs."""
    words = sys.orig_argv
    if sys.argv[:1] != ["-m"] or "-m" not in words:
        return False
    return words[words.index("-m") + 1 :][:1] == ["jaxbern"]


def restore() -> None:
    """Let Ctrl-C raise ``KeyboardInterrupt`` again, which ``__main__`` catches."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
