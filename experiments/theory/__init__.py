"""Check what the paper proves: degree, rate, stability, and its table of bounds."""
