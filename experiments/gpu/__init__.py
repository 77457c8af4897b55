"""What the kernels cost on a named GPU, found by compiling for it without one."""
