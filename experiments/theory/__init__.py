"""What the paper proves, checked: degree, rate, stability, and its table of bounds."""
