"""The number of attempts of each attack: a few, or as many as the environment says.

``JAXBERN_ATTACKS=500 pytest -m attack`` makes 500 mutations or layers of each kind, and
all networks.
"""

import os

import pytest

attack = pytest.mark.attack


def times(few: int) -> int:
    """Return the number of attempts: ``few``, unless the environment asks for more."""
    return max(few, int(os.environ.get("JAXBERN_ATTACKS", "0")))
