"""Experiments over jaxbern: ``python -m experiments NAME``. Nothing imports them."""
