"""Model files: a network written to a file and read back."""
