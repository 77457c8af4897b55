"""``jaxbern.linen.convert``: replace the activations of a linen network."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
from flax import linen, traverse_util
from flax.errors import ScopeParamShapeError

from jaxbern.kernels.array_types import Ends
from jaxbern.nn import _act_core as core
from jaxbern.nn._convert import Conversion, Replaced, difference, is_known, name_of
from jaxbern.nn._inline import inline_calls
from jaxbern.nn.linen_act import BernsteinAct


def convert(
    module: linen.Module,
    variables: Mapping[str, Any],
    sample: Any,
    degree: int = core.DEGREE,
    *,
    functions: Iterable[Callable] = (),
    shared: bool = False,
    lower: Ends = core.LOWER,
    upper: Ends = core.UPPER,
    outside: str = core.OUTSIDE,
) -> tuple[Any, dict[str, Any], Conversion]:
    """Replace the activations of a linen network by layers that start as the same functions.

    Functions such as ``nn.relu`` are found in the fields of modules (``act: Callable =
    nn.gelu``), in lists and dictionaries there, and in ``nn.Sequential``. Activations that
    are called in the code of a module cannot be replaced; the report lists them.

    >>> import jax, jax.numpy as jnp, jaxbern as jb
    >>> from flax import linen as nn
    >>> module = nn.Sequential([nn.Dense(16), nn.gelu, nn.Dense(1)])
    >>> variables = module.init(jax.random.key(0), jnp.ones((4, 2)))
    >>> module, variables, report = jb.linen.convert(module, variables, jnp.ones((4, 2)))
    >>> variables["params"]["layers_1"]["coeffs"].shape
    (16, 10)

    Args:
      module: a ``flax.linen`` network.
      variables: its parameters and other collections, trained or not.
      sample: an input on which the outputs before and after are compared; a tuple for
        several arguments.
      degree: degree of the polynomials.
      functions: further elementwise functions of one argument to replace.
      shared: use one polynomial per layer instead of one per neuron.
      lower: left end of the interval.
      upper: right end.
      outside: as for :class:`jaxbern.BernsteinAct`.

    Returns:
      The new network, its variables (the old ones and the coefficients), and a report.
    """
    if not isinstance(module, linen.Module):
        raise TypeError(
            f"module must be a flax.linen.Module, got {type(module).__name__}; networks "
            "of flax.nnx are for jb.convert"
        )
    known = functools.partial(is_known, more=tuple(functions))
    arguments = sample if isinstance(sample, tuple) else (sample,)
    places: dict[str, str] = {}

    def layer(path: str, f: Callable) -> linen.Module:
        places[path] = name_of(f).strip('"')
        ends = {"lower": lower, "upper": upper, "outside": outside}
        return BernsteinAct(degree, init=f, shared=shared, **ends)

    inline = tuple(inline_calls(_classes(module), known))
    made = _inside(module, "", known, layer)
    if not places and not inline:
        raise ValueError(
            f"{type(module).__name__} is given no activation that is known; name the "
            "functions to replace: functions=(my_activation,)"
        )
    try:
        new = made.init(jax.random.key(0), *arguments)
    except ScopeParamShapeError as error:
        raise ValueError(
            "an activation is called with inputs of several widths: write shared=True"
        ) from error
    merged = _merged(new, variables)
    before, after = (
        m.apply(v, *arguments) for m, v in ((module, variables), (made, merged))
    )
    change, scale = difference(before, after)
    replaced = tuple(Replaced(path, name, None, 1) for path, name in places.items())
    return made, merged, Conversion(replaced, (), inline, change, scale)


def _inside(value: Any, path: str, known: Callable, layer: Callable) -> Any:
    """Return the value with replacements; the same object if there are none."""

    def within(part, name):
        return _inside(part, f"{path}.{name}".lstrip("."), known, layer)

    if isinstance(value, linen.Module):
        fields = {f.name: getattr(value, f.name) for f in _fields(value)}
        new = {name: within(part, name) for name, part in fields.items()}
        changed = {k: v for k, v in new.items() if v is not fields[k]}
        return value.clone(**changed) if changed else value
    if isinstance(value, list | tuple):
        parts = [within(part, k) for k, part in enumerate(value)]
        same = all(a is b for a, b in zip(parts, value, strict=True))
        return value if same else type(value)(parts)
    if isinstance(value, Mapping):
        pairs = {k: within(part, k) for k, part in value.items()}
        return value if all(pairs[k] is value[k] for k in pairs) else pairs
    return layer(path, value) if callable(value) and known(value) else value


def _fields(module: linen.Module) -> list[dataclasses.Field]:
    own = dataclasses.fields(module)
    return [f for f in own if f.init and f.name not in ("parent", "name")]


def _classes(module: linen.Module) -> Iterable[type]:
    yield from (
        k for k in type(module).__mro__
        if k.__module__.partition(".")[0] not in ("flax", "jaxbern", "builtins")
    )  # fmt: skip
    parts = jax.tree.leaves(
        [getattr(module, f.name) for f in _fields(module)],
        is_leaf=lambda part: isinstance(part, linen.Module),
    )
    for part in parts:
        if isinstance(part, linen.Module):
            yield from _classes(part)


def _merged(new: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """Return the old variables, and those new ones that were not there before."""
    flat = traverse_util.flatten_dict(new), traverse_util.flatten_dict(old)
    if lost := flat[1].keys() - flat[0].keys():
        names = ", ".join("/".join(map(str, path)) for path in sorted(lost))
        raise ValueError(
            f"variables must belong to the network; it has no {names}: pass those that its "
            "init returned"
        )
    return traverse_util.unflatten_dict(flat[0] | flat[1])
