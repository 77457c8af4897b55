"""Keep one message of the CUDA plugin from people whom it does not concern."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator

# The plugin of JAX 0.10 says so, whatever the log level, each time a part of it loads.
_EXPECTED = ("Could not find cuda drivers", "before absl::InitializeLog()")


@contextlib.contextmanager
def no_driver_expected() -> Iterator[None]:
    """Hold back standard error, and repeat it without notes that a driver is absent.

    They are written by C++ code, past Python's own stream: hence the file descriptor.
    """
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(saved, 2)
            os.close(saved)
            held.seek(0)
            for line in held.read().decode(errors="replace").splitlines():
                if not any(expected in line for expected in _EXPECTED):
                    print(line, file=sys.stderr)
