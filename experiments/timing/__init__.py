"""Time and memory of an epoch over the paper's grid, beside ReLU's."""
