"""What every experiment shares: options, tables, progress, timing, the environment."""
