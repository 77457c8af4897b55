"""``BernsteinAct`` in networks that people already have, beside fixed activations."""
