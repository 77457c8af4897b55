"""The implementation as Triton kernels for CUDA, called through jax-triton."""
