"""jaxbern beside other packages of learned activations: time, memory, training."""
