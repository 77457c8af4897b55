"""The implementations that the contract suite runs over."""

IMPLEMENTATIONS = ["xla"]
