"""XLA on TPUs, with a kernel for the gradient where XLA would read its arguments often."""
