"""Compare the AUC of activations on HIGGS rows; check that deep networks learn."""

import math
import time

import numpy as np

import jaxbern as jb
from experiments.bench import bench_seeds
from experiments.report.grid_groups import activation_name
from jaxbern.train import NetworkConfig, TrainConfig

BATCH = 1024
STEPS = 300


def table(
    source: str, size: str, activations: list[str], trained: int, seeds: int
) -> None:
    """Print the highest validation AUC of each seed, and why it stopped."""
    data = bench_seeds.events(source)
    print(f"{data}\nresidual {size}, batch 1,024, at most {trained} epochs\n")
    print("| activation | median AUC | AUC of each seed | epochs | seconds |")
    print("|---|---|---|---|---|")
    for activation in activations:
        config = bench_seeds.config(data, size, activation, seeds=seeds, epochs=trained)
        began = time.perf_counter()
        result = jb.train.fit(config, data)
        seconds = time.perf_counter() - began
        histories = [result.history[seed]["auc"] for seed in config.seeds]
        aucs = [max(history) for history in histories]
        print(
            f"| {activation_name(activation)} | {np.median(aucs):.4f} "
            f"| {', '.join(f'{auc:.4f}' for auc in aucs)} "
            f"| {', '.join(str(len(history)) for history in histories)} "
            f"| {seconds:.0f} |",
            flush=True,
        )


def deep(source: str) -> None:
    """Print the validation AUC of 50 layers, then the loss of 150 in two precisions."""
    data = jb.data.load(source)
    features = data.x.shape[1]
    print(f"{data!r}\nresidual 50x16, batch {BATCH}: validation AUC of 8 epochs")
    for name, options in _options().items():
        history = _train(NetworkConfig(features, 50, 16, **options), data, epochs=8)
        print(f"{name:>15}: {_numbers(history['auc'])}", flush=True)
    epochs = math.ceil(STEPS / (0.8 * len(data) / BATCH))
    print(f"residual 150x16, batch {BATCH}: training loss of {epochs} epochs")
    for dtype in ("float32", "bfloat16"):
        for name, options in _options().items():
            network = NetworkConfig(features, 150, 16, dtype=dtype, **options)
            history = _train(network, data, epochs)
            print(
                f"{name:>15} {dtype:>8}: {_numbers(history['train_loss'])}", flush=True
            )


def _options() -> dict[str, dict]:
    degrees = {f"bernstein n={n}": {"degree": n} for n in (3, 9, 15, 25)}
    return {"relu": {"activation": "relu"}, **degrees}


def _train(network: NetworkConfig, data: jb.data.Dataset, epochs: int) -> dict:
    config = TrainConfig(network, seeds=(0,), epochs=epochs, batch_size=BATCH)
    result = jb.train.fit(config, data, progress=False)
    if result.stops[0].reason != "finished":
        print(f"    {result.stops[0]}")
    return result.history[0]


def _numbers(values: np.ndarray) -> str:
    return " ".join(f"{value:.4f}" for value in values)
