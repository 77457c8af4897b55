"""Time per epoch and AUC beside PyTorch: the same network, data, batch and rules."""

import importlib.util
import os
import sys

import jax
import numpy as np

from experiments.training import cases
from experiments.training.bench import best, epochs
from jaxbern.train import fit
from jaxbern.train._checks import checked_split


def table(source: str, size: str, rounds: int, trained: int, seeds: int) -> int:
    """Print both times, then both AUCs after ``trained`` epochs of each seed."""
    if importlib.util.find_spec("torch") is None:
        print("PyTorch is not installed: pip install torch", file=sys.stderr)
        return 1
    import torch

    from experiments.training.pytorch import Trainer

    data = cases.events(source)
    threads = os.cpu_count() or 1
    torch.set_num_threads(threads)
    config = cases.config(data, size, "relu", seeds=1)
    split = checked_split(config, data)
    trainer = Trainer(config, data, split, 0)
    runs = {"jaxbern": epochs(config, data), "PyTorch": trainer.epoch}
    trainer.epoch()
    times = best(runs, rounds)
    versions = f"JAX {jax.__version__}, PyTorch {torch.__version__}, {threads} threads"
    print(f"{data}\nresidual {size} ReLU, batch 1,024, one seed; {versions}")
    print(f"best of {rounds} epochs, validation and AUC included\n")
    for name, seconds in times.items():
        print(f"{name:8} {1e3 * seconds:7.0f} ms")
    print(f"ratio    {times['jaxbern'] / times['PyTorch']:7.2f}")
    if trained:
        _aucs(cases.config(data, size, "relu", seeds=seeds, epochs=trained), data)
    return 0


def _aucs(config, data) -> None:
    from experiments.training.pytorch import Trainer

    split = checked_split(config, data)
    ours = fit(config, data)
    print(f"\nhighest validation AUC in {config.epochs} epochs, of each seed")
    print("jaxbern ", _numbers([max(ours.history[s]["auc"]) for s in config.seeds]))
    found = []
    for place in range(len(config.seeds)):
        trainer = Trainer(config, data, split, place)
        aucs = []
        for _ in range(len(ours.history[config.seeds[place]]["auc"])):
            trainer.epoch()
            aucs.append(trainer.auc)
        found.append(max(aucs))
    print("PyTorch ", _numbers(found))


def _numbers(aucs) -> str:
    listed = "  ".join(f"{auc:.4f}" for auc in aucs)
    return f"{listed}   median {np.median(aucs):.4f}"
