"""Benchmarks of the operator, training steps, epochs and data loading."""
