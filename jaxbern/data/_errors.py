"""Exceptions of this package."""


class DataError(ValueError):
    """Raised if data cannot be obtained or are damaged; the message says what to do."""


class DiskError(DataError):
    """Raised if the disk is full or not writable; the data themselves are fine."""
