"""How hard the attacks of this suite try: a few times each, or as often as asked for.

``JAXBERN_ATTACKS=500 pytest -m attack`` makes 500 mutations or layers of each kind, and
all networks.
"""

import os

import pytest

attack = pytest.mark.attack


def times(few: int) -> int:
    """How often to try: ``few``, unless the environment asks for more."""
    return max(few, int(os.environ.get("JAXBERN_ATTACKS", "0")))
