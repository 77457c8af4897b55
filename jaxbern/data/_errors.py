"""The one error that this package raises about data."""


class DataError(ValueError):
    """A data set cannot be had, or is not what it should be; the text says what to do."""
