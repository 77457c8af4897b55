"""Which modules bounds can be computed of, said before any work."""

from typing import Any

from flax import nnx

# Modules that cannot be bounded step by step, and why.
_REFUSED: dict[type, str] = {
    nnx.LayerNorm: "divides by the spread of each row, which depends on the input: over a "
    "box its output is a quotient of two ranges and becomes unbounded. Use nnx.BatchNorm",
    nnx.RMSNorm: "divides by the size of each row, which depends on the input: over a box "
    "its output becomes unbounded. Use nnx.BatchNorm",
    nnx.GroupNorm: "divides by the spread of each group, which depends on the input: over "
    "a box its output becomes unbounded. Use nnx.BatchNorm",
    nnx.MultiHeadAttention: "multiplies values that all depend on the input. Bounds are "
    "known for networks of Linear, Conv and activations",
}


def check_known(network: Any) -> None:
    """Raise for a module with layers that cannot be bounded, naming the layer."""
    if not isinstance(network, nnx.Module):
        raise TypeError(
            "network must be a flax.nnx.Module, such as a jaxbern.MLP or an "
            f"nnx.Sequential, got {type(network).__name__}"
        )
    for path, part in nnx.iter_modules(network):
        for kind, reason in _REFUSED.items():
            if isinstance(part, kind):
                where = ".".join(map(str, path)) or "the network"
                raise NotImplementedError(
                    f"{where} is a {kind.__name__}, of which there are no bounds: it "
                    f"{reason}"
                )


def check_evaluation(network: nnx.Module) -> None:
    """Neither statistics of a batch nor chance."""
    for path, part in nnx.iter_modules(network):
        batch = getattr(part, "use_running_average", True) is False
        config = getattr(part, "config", None)
        if batch and getattr(config, "domain", "batch") != "batch":
            batch = False  # a BernsteinAct without running statistics
        if batch or getattr(part, "deterministic", True) is False:
            where = ".".join(map(str, path))
            where = f"; {where} ({type(part).__name__}) is not" if where else ""
            raise ValueError(
                "network must be in evaluation mode: in training its outputs depend on "
                f"the whole batch or on chance; call network.eval() first{where}"
            )
