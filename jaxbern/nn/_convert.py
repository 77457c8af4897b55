"""``jaxbern.convert``: replace the activations of an existing network by learnable ones."""

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen, nnx

from jaxbern.initializers import FUNCTIONS
from jaxbern.kernels.array_types import Ends
from jaxbern.nn import _act_core as core
from jaxbern.nn._act import BernsteinAct
from jaxbern.nn._inline import Inline, inline_calls

# Further elementwise functions of one argument that are used as activations.
_OTHERS = ("hard_tanh", "hard_sigmoid", "hard_silu", "relu6", "log_sigmoid")
ACTIVATIONS = (*FUNCTIONS.values(), *(getattr(jax.nn, name) for name in _OTHERS))


@dataclass(frozen=True)
class Replaced:
    """One activation that was replaced by a layer."""

    path: str  # "blocks.0.act"
    function: str  # "gelu"
    features: int | None  # None if shared, or inferred from the input as in linen
    calls: int = 1

    def __str__(self) -> str:
        """Describe the replacement in one line."""
        widths = "" if self.features is None else f"features={self.features}"
        times = "" if self.calls == 1 else f", called {self.calls} times"
        return f"{self.path}: {self.function} -> BernsteinAct({widths}){times}"


@dataclass(frozen=True)
class Conversion:
    """The report of :func:`convert`; ``print`` shows it.

    Attributes:
      replaced: activations that were replaced by layers.
      unused: paths of activations that the sample did not reach; left unchanged.
      inline: activations called in the code of modules; left unchanged.
      change: the largest change of an output for the sample.
      scale: the largest output, for comparison.
    """

    replaced: tuple[Replaced, ...]
    unused: tuple[str, ...]
    inline: tuple[Inline, ...]
    change: float
    scale: float

    def __str__(self) -> str:
        """List the activations, and say how to convert those that were left."""
        lines = [f"replaced {len(self.replaced)} activations"]
        lines += [f"  {each}" for each in self.replaced]
        lines.append(
            f"largest change of an output: {self.change:.2g} (outputs reach "
            f"{self.scale:.2g})"
        )
        lines += [
            f"left {path}: the sample input does not reach it" for path in self.unused
        ]
        for found in self.inline:
            name = name_of(found.function)
            lines.append(
                f"left {found.call} ({found.where}): write self.act = jb.BernsteinAct("
                f"features, init={name}, rngs=rngs) in __init__, self.act(...) here"
            )
        return "\n".join(lines)


def convert(
    model: nnx.Module,
    sample: Any,
    degree: int = core.DEGREE,
    *,
    functions: Iterable[Callable] = (),
    shared: bool = False,
    lower: Ends = core.LOWER,
    upper: Ends = core.UPPER,
    outside: str = core.OUTSIDE,
) -> tuple[Any, Conversion]:
    """Replace the activations of a network by layers that start as the same functions.

    Functions such as ``nnx.relu``, ``gelu``, ``silu``, ``tanh`` are found in attributes of
    modules, in lists, tuples and dictionaries there, and in ``nnx.Sequential``. Each becomes
    a :class:`jaxbern.BernsteinAct` that starts as that function, so that a trained network
    computes nearly the same as before and can be trained further. Activations that are
    called in the code of a module cannot be replaced; the report lists them.

    >>> import jax.numpy as jnp, jaxbern as jb
    >>> from flax import nnx
    >>> rngs = nnx.Rngs(0)
    >>> first, last = nnx.Linear(2, 16, rngs=rngs), nnx.Linear(16, 1, rngs=rngs)
    >>> model = nnx.Sequential(first, nnx.gelu, last)
    >>> model, report = jb.convert(model, jnp.ones((4, 2)))
    >>> report.replaced[0]
    Replaced(path='layers.1', function='gelu', features=16, calls=1)

    Args:
      model: a ``flax.nnx`` network; it is not changed. For ``flax.linen`` use
        :func:`jaxbern.linen.convert`.
      sample: an input that determines the widths and on which the outputs before and
        after are compared, in evaluation mode; a tuple for several arguments.
      degree: degree of the polynomials.
      functions: further elementwise functions of one argument to replace.
      shared: use one polynomial per layer instead of one per neuron. An activation that
        is called with inputs of several widths is always shared.
      lower: left end of the interval.
      upper: right end.
      outside: as for :class:`jaxbern.BernsteinAct`.

    Returns:
      The new network, and a :class:`Conversion` that lists what was replaced.
    """
    if isinstance(model, linen.Module):
        raise TypeError("model is of flax.linen: write jb.linen.convert(model, ...)")
    if not isinstance(model, nnx.Module):
        raise TypeError(f"model must be a flax.nnx.Module, got {type(model).__name__}")
    known = functools.partial(is_known, more=tuple(functions))
    arguments = sample if isinstance(sample, tuple) else (sample,)

    probed, probes = nnx.clone(model), {}
    _replace(probed, known, lambda path, f: probes.setdefault(path, _Probe(f)))
    inline = _inline(model, known)
    if not probes and not inline:
        raise ValueError(
            f"{type(model).__name__} holds no activation that is known; name the "
            "functions to replace: functions=(my_activation,)"
        )
    before = _outputs(probed, arguments)

    options = {"lower": lower, "upper": upper, "outside": outside}

    def layer(path: str, f: Callable) -> Any:
        widths = probes[path].widths
        if not widths:
            return f
        one = len(set(widths)) == 1 and not shared
        return BernsteinAct(
            widths[0] if one else None, degree, init=f, shared=not one, **options,
            rngs=nnx.Rngs(0),
        )  # fmt: skip

    made = nnx.clone(model)
    _replace(made, known, _fitting(model, known, layer, arguments))
    after = _outputs(nnx.clone(made), arguments)
    change, scale = difference(before, after)
    replaced = tuple(
        Replaced(
            path,
            name_of(probe.f).strip('"'),
            _features(probe, shared),
            len(probe.widths),
        )
        for path, probe in probes.items()
        if probe.widths
    )
    unused = tuple(path for path, probe in probes.items() if not probe.widths)
    return made, Conversion(replaced, unused, tuple(inline), change, scale)


def _fitting(
    model: nnx.Module, known: Callable, layer: Callable, arguments: tuple
) -> Callable:
    """Return ``layer(path, f)``, stacked where the module that holds ``f`` is.

    ``nnx.vmap`` stacks the parameters of modules and ``nnx.scan`` runs them: a layer in one
    of them needs the same leading axis. Such a module has arrays of one leading size; others,
    such as a Linear of 8 by 8, have that by chance, so the network is tried with the layer.
    """
    sizes = {}
    for path, module in nnx.iter_modules(model):
        leading = {leaf.shape[:1] for leaf in jax.tree.leaves(nnx.state(module))}
        if len(leading) == 1 and () not in leading:
            sizes[".".join(map(str, path))] = leading.pop()[0]

    def fitting(path: str, f: Callable) -> Any:
        made, size = layer(path, f), sizes.get(path.rpartition(".")[0])
        if size is None or not isinstance(made, BernsteinAct):
            return made
        graph, state = nnx.split(made)
        stacked = nnx.merge(graph, jax.tree.map(lambda a: jnp.stack([a] * size), state))
        # What does not fit raises, if tried first: one polynomial per neuron with an axis
        # too many, a shared one with an axis too few.
        trials = (made, stacked) if made.config.shared else (stacked, made)
        trial = nnx.clone(model)
        _replace(trial, known, lambda p, g: nnx.clone(trials[0]) if p == path else g)
        try:
            _outputs(trial, arguments)
        except Exception:
            return trials[1]
        return trials[0]

    return fitting


class _Probe:
    """Stands in for a function and records the widths it is called with."""

    def __init__(self, f: Callable):
        self.f, self.widths = f, []

    def __call__(self, x):
        self.widths.append(jnp.shape(x)[-1] if jnp.ndim(x) else 1)
        return self.f(x)


def _features(probe: _Probe, shared: bool) -> int | None:
    return None if shared or len(set(probe.widths)) > 1 else probe.widths[0]


def is_known(f: Any, more: tuple = ()) -> bool:
    """Return whether ``f`` is a known activation, possibly a ``functools.partial`` of one."""
    if isinstance(f, functools.partial):
        return not f.args and is_known(f.func, more)
    return any(f is each for each in (*ACTIVATIONS, *more))


def name_of(f: Any) -> str:
    """Return what to write for ``init=``: a quoted name, or the name of the function."""
    if isinstance(f, functools.partial):
        return name_of(f.func)
    for name, each in FUNCTIONS.items():
        if f is each:
            return f'"{name}"'
    return getattr(f, "__name__", None) or repr(f)


def _replace(model: nnx.Module, known: Callable, new: Callable) -> None:
    """Replace every known ``f`` that a module holds by ``new(path, f)``."""

    def inside(value: Any, path: str) -> Any:
        """Return the value with replacements; the same object if there are none."""
        if isinstance(value, list | tuple | nnx.List):
            parts = [inside(part, f"{path}.{k}") for k, part in enumerate(value)]
            same = all(a is b for a, b in zip(parts, value, strict=True))
            return value if same else nnx.List([_held(part) for part in parts])
        if isinstance(value, dict | nnx.Dict):
            pairs = {k: inside(part, f"{path}.{k}") for k, part in value.items()}
            same = all(pairs[k] is value[k] for k in pairs)
            return value if same else nnx.Dict({k: _held(v) for k, v in pairs.items()})
        return new(path, value) if callable(value) and known(value) else value

    for path, module in list(nnx.iter_modules(model)):
        for name, value in list(vars(module).items()):
            if name.startswith("_pytree__"):
                continue
            replaced = inside(value, ".".join(map(str, (*path, name))))
            if replaced is not value:
                setattr(module, name, _held(replaced))


def _held(value: Any) -> Any:
    """Mark a value as data where Flax requires it to hold a layer."""
    holds = isinstance(
        value, nnx.Module | nnx.List | nnx.Dict | nnx.Variable | jax.Array
    )
    return nnx.data(value) if holds else value


def _outputs(model: nnx.Module, arguments: tuple) -> Any:
    model.eval()
    return model(*arguments)


def difference(before: Any, after: Any) -> tuple[float, float]:
    """Return the largest change of any number in a tree of outputs, and its scale."""
    change = scale = 0.0
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        change = max(change, np.abs(a - b).max(initial=0.0))
        scale = max(scale, np.abs(a).max(initial=0.0))
    return float(change), float(scale)


def _inline(model: nnx.Module, known: Callable) -> list[Inline]:
    kinds = [k for _, module in nnx.iter_modules(model) for k in type(module).__mro__]
    others = ("flax", "jaxbern", "builtins")
    return inline_calls(
        (k for k in kinds if k.__module__.partition(".")[0] not in others), known
    )
