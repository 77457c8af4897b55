"""Start processes that work on data and are killed; they skip importing JAX to be fast."""

import subprocess
import sys
from pathlib import Path

import jaxbern

# Creates the packages without running their ``__init__``.
_PACKAGES = """
import sys, types
for name in ("jaxbern", "jaxbern.data"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [sys.argv.pop(1)]
"""


def start(code: str, *arguments: str) -> subprocess.Popen:
    """Run the code, which may import modules of ``jaxbern.data``."""
    package = Path(jaxbern.__file__).parent
    folders = [str(package), str(package / "data")]
    return subprocess.Popen(
        [sys.executable, "-c", _PACKAGES + code, *folders, *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )
