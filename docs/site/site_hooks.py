"""Hooks of mkdocs: let the reference find the kernels, and drop links that leave the site."""

import re
import shutil
import tempfile
from pathlib import Path

from mkdocs.plugins import event_priority

ROOT = Path(__file__).parents[2]


@event_priority(100)  # before mkdocstrings reads its options
def on_config(config, **about):
    """Show mkdocstrings a tree in which ``kernels/`` is ``jaxbern/kernels/``, as installed."""
    package = Path(tempfile.mkdtemp(prefix="jaxbern-site-"), "jaxbern")
    shutil.copytree(ROOT / "jaxbern", package)
    shutil.copytree(ROOT / "kernels", package / "kernels")
    handlers = config.plugins["mkdocstrings"].config.handlers
    handlers["python"]["paths"] = [str(package.parent)]
    return config


def on_page_markdown(markdown: str, **about) -> str:
    """Replace ``[text](../path)`` by ``text``, because the site does not have the source."""
    return re.sub(r"\[([^\]]+)\]\(\.\./[^)]*\)", r"\1", markdown)
