"""The version of jaxbern; the build reads it from here."""

__version__ = "0.1.0"
