"""The operator: its arguments, and which implementation computes it."""
