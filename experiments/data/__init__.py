"""What data there are, how fast they are read, and what happens to bad ones."""
