"""How far the conclusions depend on what the paper leaves open."""
