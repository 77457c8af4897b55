"""The errors that this package raises about data."""


class DataError(ValueError):
    """A data set cannot be had, or is not what it should be; the text says what to do."""


class DiskError(DataError):
    """The disk is full or closed: nothing is wrong with the data."""
