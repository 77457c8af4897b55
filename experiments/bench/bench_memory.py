"""Memory and traffic of a training step compiled for a GPU that is not here."""

import dataclasses

from experiments.bench import bench_step
from experiments.gpu import gpu_targets, hlo_traffic
from experiments.gpu.gpu_compile import compile_for
from jaxbern.nn import NetworkConfig

GIB = 2**30


def table(
    target: str, depth: int, width: int, rows: int, degrees: list[int], kernel: str
) -> None:
    """Print GiB held and GiB moved, and the ratios to standard and to lean ReLU."""
    relu = NetworkConfig(bench_step.HIGGS_FEATURES, depth, width, activation="relu")
    name = gpu_targets.get(target).description
    print(f"training step {depth}x{width}, batch {rows}, float32, compiled for {name}")
    print(f"{'':>24}  memory   / standard  / lean   traffic   / lean")
    lean = _measure(target, relu, rows)
    standard = _measure(target, dataclasses.replace(relu, lean=False), rows)
    _line("relu, standard", standard, standard, lean)
    _line("relu", lean, standard, lean)
    for degree in degrees:
        for implementation in ("xla", kernel):
            config = _bernstein(relu, degree, implementation)
            label = f"n={degree}, {implementation}"
            _line(label, _measure(target, config, rows), standard, lean)
    last = degrees[-1]
    light = {"relu": relu, f"n={last}, {kernel}": _bernstein(relu, last, kernel)}
    for label, config in light.items():
        again = dataclasses.replace(config, remat=True)
        _line(f"{label}, remat", _measure(target, again, rows), standard, lean)


def _bernstein(relu: NetworkConfig, degree: int, implementation: str) -> NetworkConfig:
    return dataclasses.replace(
        relu, activation="bernstein", degree=degree, implementation=implementation
    )


def _measure(target: str, config: NetworkConfig, rows: int) -> tuple[float, float]:
    args = bench_step.shapes(config, rows)
    compiled = compile_for(target, bench_step.loss_and_gradients(config), *args)
    return compiled.peak_memory / GIB, hlo_traffic.traffic(compiled.hlo) / GIB


def _line(name, measured, standard, lean) -> None:
    (memory, moved), (of_standard, _), (of_lean, least) = measured, standard, lean
    print(
        f"{name:>24}  {memory:6.2f}   {memory / of_standard:6.2f}x    "
        f"{memory / of_lean:6.2f}x  {moved:7.1f}   {moved / least:6.2f}x",
        flush=True,
    )
