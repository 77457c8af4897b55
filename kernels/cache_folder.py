"""The folder for what jaxbern can make or fetch again: one rule for all of it."""

import os
from pathlib import Path

CACHE_VARIABLE = "JAXBERN_CACHE"


def cache_folder() -> Path:
    """``$JAXBERN_CACHE``, or ``jaxbern`` in the user's cache directory."""
    if folder := os.environ.get(CACHE_VARIABLE):
        return Path(folder).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jaxbern"
