"""Networks trained to be provable: Bernstein activations, ReLU and DeepBern-Nets."""
