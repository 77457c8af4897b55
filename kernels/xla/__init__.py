"""The implementation in plain ``jax.numpy``, which runs on every platform."""
