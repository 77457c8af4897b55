"""Compare jaxbern with other packages of learned activations."""
