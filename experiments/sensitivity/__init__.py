"""How much the conclusions hang on what the paper leaves open."""
