"""Layers and networks: the Flax activation and the network of the paper."""
