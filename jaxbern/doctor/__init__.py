"""``python -m jaxbern doctor``: a check of the installation."""

from jaxbern.doctor._doctor import run as run
