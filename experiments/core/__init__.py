"""Shared parts of the experiments: options, tables, progress, timing, environment."""
