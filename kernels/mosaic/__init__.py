"""The implementation as Pallas kernels for CUDA, compiled by JAX's Mosaic GPU backend."""
