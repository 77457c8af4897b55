"""``python -m experiments training``: what the training engine does, in figures."""
