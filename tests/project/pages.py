"""Parse documentation pages: code blocks, commands, links, names."""

import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jax

ROOT = Path(__file__).parents[2]
_ABOVE = ("README.md", "CONTRIBUTING.md", "tests/README.md", "tests/ptx/README.md")
PAGES = [*(ROOT / name for name in _ABOVE), *sorted((ROOT / "docs").glob("*.md"))]

_FENCED = re.compile(r"^```([^\n`]*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_LINKS = (
    re.compile(r"\]\(([^()\s]+)\)"),  # also of images
    re.compile(r"(?:src|srcset|href)=\"([^\"]+)\""),
)


class Block(NamedTuple):
    """A block of Python code, and the number of the line before it."""

    line: int
    code: str


@contextlib.contextmanager
def as_a_reader() -> Iterator[None]:
    """Set JAX's defaults, except for cheap keys and cheap compilation to save time."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    try:
        with (
            jax.numpy_dtype_promotion("standard"),
            jax.numpy_rank_promotion("allow"),
            jax.default_prng_impl("unsafe_rbg"),
        ):
            yield
    finally:
        jax.config.update("jax_disable_most_optimizations", before)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def chains(page: Path) -> list[list[Block]]:
    """Return the page's Python blocks in lists that run in one namespace.

    A block that begins with an import starts a new list; any other continues the one
    before it.
    """
    found: list[list[Block]] = []
    text = text_of(page)
    for match in _FENCED.finditer(text):
        if match[1] == "python":
            block = Block(text.count("\n", 0, match.start(2)), match[2])
            if found and not block.code.startswith(("import ", "from ")):
                found[-1].append(block)
            else:
                found.append([block])
    return found


def inline_code(text: str) -> list[str]:
    """Return the texts between backquotes, each on one line."""
    return [" ".join(code.split()) for code in _INLINE.findall(_FENCED.sub("", text))]


def commands(text: str) -> list[list[str]]:
    """Return every command, from fenced blocks without a language and from backquotes.

    A command is the list of words that a shell would pass on; a variable becomes ``1``.
    """
    lines = inline_code(text)
    for language, block in _FENCED.findall(text):
        if language in ("", "sh", "bash", "console"):
            lines += block.replace("\\\n", " ").splitlines()
    parts = [part for line in lines for part in re.split(r"&&|;", line)]
    kept = [part for part in parts if re.match(r"\s*(\w+=\S* +)*(pip|python3?) ", part)]
    found = [shlex.split(re.sub(r"\$\{?\w+\}?", "1", part), True) for part in kept]
    return [
        words[next(i for i, w in enumerate(words) if "=" not in w) :] for words in found
    ]


def links(text: str) -> list[str]:
    """Return the targets of links and images."""
    prose = _INLINE.sub("", _FENCED.sub("", text))
    return [target for kind in _LINKS for target in kind.findall(prose)]


def anchors(text: str) -> set[str]:
    """Return the anchors of this page, as GitHub derives them from headings."""
    headings = re.findall(r"^#+ +(.+)$", _FENCED.sub("", text), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
