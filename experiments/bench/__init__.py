"""Times and memory of the operator, of steps, of epochs and of data, in turns."""
