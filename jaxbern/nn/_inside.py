"""Find the Bernstein activations of a network and record their inputs."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from flax import nnx

from jaxbern.nn import _network
from jaxbern.nn._act import BernsteinAct
from jaxbern.nn._hidden import hidden_layer, linear
from jaxbern.nn._mlp import MLP


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer of activations, as plain arrays.

    Attributes:
      name: its path in the network.
      coeffs: ``[W, n+1]``.
      lower: left ends of the intervals, ``[W]``; ``upper`` has the right ends.
      outside: the rule beyond them, ``"clamp"`` or ``"linear"``.
      inputs: ``[N, W]``, or None if the network was not run.
    """

    name: str
    coeffs: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    outside: str
    inputs: np.ndarray | None = None


Path = tuple[Any, ...]
Part = BernsteinAct | MLP
Calls = list[np.ndarray] | None  # the inputs of each call; None if there was none


def layers(module: nnx.Module, inputs: Any = None) -> list[Layer]:
    """Return all layers of Bernstein activations, ordered by their path in the network.

    With ``inputs`` (a tuple if the network takes several) a copy of the network in
    evaluation mode is run on them; the network itself is not changed. The order is then
    that of the first calls, and layers that were not called come last.
    """
    if not isinstance(module, nnx.Module):
        raise TypeError(
            f"module must be a flax.nnx.Module, got {type(module).__name__}; "
            "jb.plot.activation(coeffs) draws coefficients themselves"
        )
    copy = nnx.clone(module)
    copy.eval()
    found = _find(copy)
    if not found:
        raise ValueError(
            f"{type(module).__name__} has no Bernstein activation: there must be a "
            "jb.BernsteinAct or a jb.MLP with activation='bernstein' in it"
        )
    seen = {} if inputs is None else _run(copy, found, inputs)
    made = []
    for path in [*seen, *(path for path in found if path not in seen)]:
        for place, part, calls in _unstacked(path, found[path], seen.get(path)):
            rows = None if calls is None else _rows(calls)
            if isinstance(part, MLP):
                made += _of_network(place, part, rows)
            else:
                made.append(_of_layer(place, part, rows))
    return made


def _find(module: nnx.Module) -> dict[Path, Part]:
    found = {
        path: part
        for path, part in nnx.iter_modules(module)
        if isinstance(part, BernsteinAct)
        or (isinstance(part, MLP) and part.coeffs is not None)
    }
    # Attribute names and indices cannot be compared: sort by type first.
    order = sorted(found, key=lambda path: [(str(type(k)), k) for k in path])
    return {path: found[path] for path in order}


def _recorded(kind: type, called: Callable[[], None]) -> type:
    """Subclass ``kind`` so that its calls can be captured and are announced."""

    def call(self, x):
        called()
        self.sow(nnx.Intermediate, "recorded", x)
        return kind.__call__(self, x)

    return type(kind.__name__, (kind,), {"__call__": call})


def _unstacked(
    path: Path, part: Part, calls: Calls
) -> Iterator[tuple[Path, Part, Calls]]:
    """Yield the part, or each of those that ``nnx.vmap`` or ``nnx.scan`` stacks in it."""
    if isinstance(part, MLP):
        coeffs, axes = part.params()["coeffs"], 3
    else:
        coeffs, axes = part.coeffs[...], 1 if part.config.shared else 2
    if coeffs.ndim == axes:
        yield path, part, calls
        return
    if calls is not None and any(len(x) != len(coeffs) for x in calls):
        raise ValueError(
            f"{_name(path)} stacks {len(coeffs)} layers along the first axis, so it must be "
            "called by nnx.vmap or nnx.scan over that axis; it saw inputs of shape "
            f"{list(calls[0].shape)}"
        )
    graph, state = nnx.split(part)
    for k in range(len(coeffs)):
        one = nnx.merge(graph, jax.tree.map(lambda a, k=k: a[k], state))
        its = None if calls is None else [x[k] for x in calls]
        yield from _unstacked((*path, k), one, its)


def _rows(calls: Iterable[np.ndarray]) -> np.ndarray:
    """Concatenate all inputs of a part as rows of features."""
    return np.concatenate([x.reshape(-1, x.shape[-1]) for x in calls])


def _run(module: nnx.Module, found: dict[Path, Part], inputs: Any) -> dict[Path, Calls]:
    """Return the inputs of each part, call by call."""
    order: dict[Path, None] = {}
    for path, part in found.items():
        part.__class__ = _recorded(type(part), lambda path=path: order.setdefault(path))
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    _, seen = nnx.capture(module, nnx.Intermediate)(*arguments)
    given: dict[Path, Calls] = {}
    for path in order:
        here: Any = seen
        for key in path:
            here = here.get(key, {})
        if "recorded" in here:
            given[path] = [np.asarray(x) for x in here["recorded"].get_value()]
    return given


def _of_layer(path: Path, act: BernsteinAct, inputs: np.ndarray | None) -> Layer:
    coeffs = np.asarray(act.coefficients, np.float64)
    if coeffs.ndim == 1:  # shared: repeated for each neuron if their number is known
        width = act.features or (1 if inputs is None else inputs.shape[-1])
        coeffs = np.broadcast_to(coeffs, (width, len(coeffs)))
    lower, upper = (
        np.broadcast_to(np.asarray(end, np.float64), coeffs.shape[:1])
        for end in act.interval
    )
    name = _name(path) or "activation"
    return Layer(name, coeffs, lower, upper, act.config.outside, inputs)


def _of_network(path: Path, network: MLP, rows: np.ndarray | None) -> list[Layer]:
    config = network.config
    coeffs = np.asarray(
        config.layer.coefficients(network.params()["coeffs"]), np.float64
    )
    inputs: list[Any] = [None] * config.depth
    if rows is not None:
        inputs = _normalised(network, rows)
    lower, upper = (np.full(config.width, end) for end in (config.lower, config.upper))
    prefix = _name(path)
    return [
        Layer(
            f"{prefix} layer {k}".strip(),
            coeffs[k],
            lower,
            upper,
            config.outside,
            inputs[k],
        )
        for k in range(config.depth)
    ]


def _normalised(network: MLP, x: np.ndarray) -> list[np.ndarray]:
    """Return the inputs of each hidden layer's activations, after BatchNorm."""
    config, params = network.config, network.params()
    h = _network.checked_input(config, x)
    coeffs = config.layer.coefficients(params["coeffs"])
    seen = []
    for k in range(config.depth):
        weights = params["first"]
        if k:
            weights = jax.tree.map(lambda part, k=k: part[k - 1], params["hidden"])
        mean, var = network.mean[k], network.var[k]
        z = linear(h, weights)
        seen.append(np.asarray((z - mean[None]) / np.sqrt(var + config.epsilon)[None]))
        skip = h if k and config.residual else None
        h, _ = hidden_layer(h, weights, coeffs[k].T, (mean, var), skip, config=config)
    return seen


def _name(path: Path) -> str:
    return ".".join(map(str, path))
