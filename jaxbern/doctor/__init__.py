"""``python -m jaxbern doctor``: a check of the installation."""
