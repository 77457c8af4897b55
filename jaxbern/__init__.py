"""Learnable Bernstein-polynomial activations for JAX."""
