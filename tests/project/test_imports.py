"""Which part may import what, imports inside functions included."""

import ast
import fnmatch
import re
import sys
import tomllib
from typing import NamedTuple

import pytest

from tests.project.import_graph import (
    ROOT,
    imports,
    imports_in,
    is_ours,
    loaded_by,
    modules,
)


class Part(NamedTuple):
    """Modules, and what they may import besides themselves and the standard library."""

    modules: str  # patterns; a module belongs to the first part that has one for it
    ours: str = ""  # parts, by name
    packages: str = ""  # anywhere
    inside_functions: str = ""  # there alone: they may be missing


PARTS = {
    "triton": Part("jaxbern.kernels.triton.*", "kernels", "jax numpy triton", "jax_triton"),
    # Mosaic takes instructions that it has no name for as operations of jaxlib's MLIR.
    "kernels": Part(
        "jaxbern.kernels jaxbern.kernels.*", "triton", "jax numpy", "jaxlib",
    ),
    "optim": Part(
        "jaxbern.optim jaxbern.metrics jaxbern._plateau", "kernels", "jax numpy optax",
    ),
    "data": Part(
        "jaxbern.data jaxbern.data.*", "core kernels", "jax numpy",
        "isal pyarrow",
    ),
    "certify": Part("jaxbern.certify jaxbern.certify.*", "core", "jax numpy flax"),
    "plot": Part(
        "jaxbern.plot jaxbern.plot.*", "core kernels", "jax numpy flax", "matplotlib",
    ),
    "train": Part(
        "jaxbern.train jaxbern.train.*", "core data kernels optim", "jax numpy flax optax",
        "orbax tensorboardX wandb",
    ),
    "doctor": Part("jaxbern.__main__ jaxbern.doctor jaxbern.doctor.*", "core", "jax numpy"),
    # The operator, the layers, the network: all that `import jaxbern` loads.
    "core": Part("jaxbern jaxbern.*", "kernels", "jax numpy flax", "orbax rich"),
    # Measures other packages than ours, whichever these are.
    "comparison": Part(
        "experiments.comparison experiments.comparison.*",
        "core data experiments kernels optim plot train", "jax numpy flax optax", "*",
    ),
    "pictures": Part(
        "experiments.*.*_figures",
        "core data experiments plot", "jax numpy matplotlib PIL",
    ),
    "experiments": Part(
        "experiments experiments.*",
        "certify comparison core data kernels optim pictures plot train triton",
        "jax numpy flax optax jaxlib scipy",
        "isal jinja2 matplotlib pandas pyarrow ray rich sklearn torch",
    ),
}  # fmt: skip
# A cycle through a function is no error of Python's. These are meant: what is on the
# left loads what is on the right when a user first asks for it.
LAZY_CYCLES = {
    ("jaxbern.nn._mlp", "jaxbern.io.model_files"),
}
# What comes along with packages that are dependencies, and what a user brings himself.
ALONG = {"jaxlib": "jax", "scipy": "jax", "orbax": "flax", "PIL": "matplotlib"}
BROUGHT = {"pandas", "sklearn", "tensorboardX", "torch", "wandb"}


def part_of(module: str) -> str:
    return next(
        name
        for name, part in PARTS.items()
        if any(fnmatch.fnmatch(module, pattern) for pattern in part.modules.split())
    )


@pytest.mark.parametrize("name", PARTS)
def test_a_part_imports_of_ours_what_it_may(name):
    allowed = {name, *PARTS[name].ours.split()}
    assert allowed <= PARTS.keys()
    own = [module for module in modules() if part_of(module) == name]
    assert own or name == "comparison", f"{name} has no modules"
    for module in own:
        for each in filter(is_ours, (each.of for each in imports()[module])):
            assert each in modules(), f"{module} must not import {each}: not a part"
            assert part_of(each) in allowed, f"{module} must not import {each}"


@pytest.mark.parametrize("name", PARTS)
def test_a_part_imports_of_others_what_it_may(name):
    part = PARTS[name]
    for module in modules():
        for each in imports()[module] if part_of(module) == name else ():
            package = each.of.partition(".")[0]
            if is_ours(each.of) or package in sys.stdlib_module_names:
                continue
            allowed = part.packages.split()
            if each.inside_function:
                allowed += part.inside_functions.split()
            where = "in a function" if each.inside_function else "at module level"
            assert package in allowed or "*" in allowed, (
                f"{module} must not import {package} {where}"
            )


def test_importing_jaxbern_loads_the_core_and_nothing_optional():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = set(map(distribution, project["dependencies"]))
    loaded = loaded_by("jaxbern")
    assert {part_of(module) for module in loaded} == {"core", "kernels"}
    for module in loaded:
        for each in imports()[module]:
            package = each.of.partition(".")[0]
            known = is_ours(package) or package in sys.stdlib_module_names
            assert each.inside_function or known or package in needed, (
                f"`import jaxbern` loads {module}, which imports {package}"
            )


def test_packages_come_with_an_extra_or_are_the_users_own():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = [project["dependencies"], *project["optional-dependencies"].values()]
    installed = {distribution(line) for lines in required for line in lines}
    for part in PARTS.values():
        for package in {*part.packages.split(), *part.inside_functions.split()} - {"*"}:
            known = {package, ALONG.get(package)} & installed
            assert known or package in BROUGHT, f"{package} is in no extra"


def distribution(requirement: str) -> str:
    """The package that a line such as ``"jax-triton>=0.3"`` is imported as."""
    return re.split(r"[\[>=<; ]", requirement)[0].replace("-", "_")


@pytest.mark.parametrize("lazily", [False, True])
def test_no_module_imports_itself_by_way_of_others(lazily):
    graph = {
        name: {
            each.of
            for each in own
            if each.of in modules()
            and (lazily or not each.inside_function)
            and (name, each.of) not in LAZY_CYCLES
        }
        for name, own in imports().items()
    }
    # Take away, again and again, what imports nothing that is left, or what nothing does.
    while ends := {name for name, own in graph.items() if not own & graph.keys()} | (
        graph.keys() - set().union(*graph.values())
    ):
        graph = {name: own for name, own in graph.items() if name not in ends}
    assert not graph, f"a cycle among {sorted(graph)}"


@pytest.mark.parametrize(
    "source, found",
    [
        ("import torch.nn", [("torch.nn", False)]),
        ("def f():\n    from ray import init", [("ray", True)]),
        ("if True:\n    import rich", [("rich", False)]),
        ("class A:\n    f = lambda s: optional('pyarrow.csv')", [("pyarrow.csv", True)]),
        ("if TYPE_CHECKING:\n    import rich\nelse:\n    import ray", [("ray", False)]),
        ("x = importlib.import_module(f'matplotlib.{y}')", [("matplotlib", False)]),
        ("from jaxbern.nn import _mlp, x", [("jaxbern.nn._mlp", False), ("jaxbern.nn", False)]),
    ],
)  # fmt: skip
def test_no_way_to_import_goes_unseen(source, found):
    assert list(imports_in(ast.parse(source), False)) == found
