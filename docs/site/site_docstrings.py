"""An extension of mkdocstrings: turn reStructuredText in docstrings into Markdown."""

import re

import griffe
from latex2mathml.converter import convert


class Marks(griffe.Extension):
    """Turns roles into code, ``.. math::`` into formulas, and puts fences around examples."""

    def on_object(self, *, obj: griffe.Object, **about) -> None:
        """Change the docstring of an object before it is parsed."""
        if obj.docstring is not None:
            obj.docstring.value = marked(obj.docstring.value)


def marked(text: str) -> str:
    """Return a docstring as Markdown.

    >>> marked("See :func:`~jaxbern.bernstein`.")
    'See `jaxbern.bernstein`.'
    """
    text = re.sub(r":(?:func|class|meth|mod|data|attr):`~?([^`]+)`", r"`\1`", text)
    text = re.sub(
        r"^( *)(>>> .*?)(?=\n\s*\n|\Z)",
        r"\1```pycon\n\1\2\n\1```",
        text,
        flags=re.DOTALL | re.MULTILINE,
    )
    return re.sub(
        r"^( *)\.\. math::(.*?)(?=\n\s*\n|\Z)",
        lambda found: found[1] + convert(found[2], display="block"),
        text,
        flags=re.DOTALL | re.MULTILINE,
    )
