"""What a whole network costs: memory and traffic on a GPU, time on this machine."""
