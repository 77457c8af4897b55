"""Compare time per epoch and AUC with PyTorch: same network, data, batch and rules."""

import importlib.util
import os
import sys
import time

import jax
import numpy as np

from experiments.bench import bench_seeds
from experiments.core.timing import best_in_turns
from jaxbern.data import Dataset, Split, split
from jaxbern.train import TrainConfig, fit


def table(source: str, size: str, rounds: int, trained: int, seeds: int) -> int:
    """Print both times, then both AUCs after ``trained`` epochs of each seed."""
    if importlib.util.find_spec("torch") is None:
        print("PyTorch is not installed: pip install torch", file=sys.stderr)
        return 1
    import torch

    data = bench_seeds.events(source)
    threads = os.cpu_count() or 1
    torch.set_num_threads(threads)
    config = bench_seeds.config(data, size, "relu", seeds=1)
    rows = _split(config, data)
    trainer = Trainer(config, data, rows, 0)
    runs = {"jaxbern": bench_seeds.epochs(config, data), "PyTorch": trainer.epoch}
    trainer.epoch()
    times = best_in_turns(runs, rounds)
    versions = f"JAX {jax.__version__}, PyTorch {torch.__version__}, {threads} threads"
    print(f"{data}\nresidual {size} ReLU, batch 1,024, one seed; {versions}")
    print(f"best of {rounds} epochs, validation and AUC included\n")
    for name, seconds in times.items():
        print(f"{name:8} {1e3 * seconds:7.0f} ms")
    print(f"ratio    {times['jaxbern'] / times['PyTorch']:7.2f}")
    if trained:
        _aucs(bench_seeds.config(data, size, "relu", seeds=seeds, epochs=trained), data)
    return 0


def _aucs(config, data) -> None:
    rows = _split(config, data)
    ours = fit(config, data)
    print(f"\nhighest validation AUC in {config.epochs} epochs, of each seed")
    print("jaxbern ", _numbers([max(ours.history[s]["auc"]) for s in config.seeds]))
    found = []
    for place in range(len(config.seeds)):
        trainer = Trainer(config, data, rows, place)
        aucs = []
        for _ in range(len(ours.history[config.seeds[place]]["auc"])):
            trainer.epoch()
            aucs.append(trainer.auc)
        found.append(max(aucs))
    print("PyTorch ", _numbers(found))


def _split(config: TrainConfig, data: Dataset) -> Split:
    return split(data, config.seeds, test_fraction=config.test_fraction)


def _numbers(aucs) -> str:
    listed = "  ".join(f"{auc:.4f}" for auc in aucs)
    return f"{listed}   median {np.median(aucs):.4f}"


class Trainer:
    """The same network and rules in idiomatic PyTorch, for one seed.

    The rows are scaled beforehand and held as tensors, without a data loader.
    """

    def __init__(self, config: TrainConfig, data, split: Split, place: int):
        """Make the network and its optimiser."""
        import torch

        torch.manual_seed(config.seeds[place])
        self._torch, self._batch = torch, config.batch_size
        rows = split[place]

        def tensors(part):
            x = np.asarray(rows.scale(data.x[part]))
            return torch.tensor(x), torch.tensor(data.y[part].astype(np.int64))

        self._train, self._test = tensors(rows.train), tensors(rows.test)
        network = config.network
        self.network = _network(network.in_features, network.depth, network.width)
        self._loss = torch.nn.CrossEntropyLoss()
        self._optimizer = torch.optim.AdamW(
            self.network.parameters(),
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
        )
        self._plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
            self._optimizer,
            mode="max",
            factor=config.plateau_factor,
            patience=config.plateau_patience,
            threshold=config.plateau_threshold,
        )
        self._start, self._epoch = config.plateau_start, 0
        self.auc = float("nan")

    def epoch(self) -> float:
        """Train and validate once; return the seconds it took."""
        torch, began = self._torch, time.perf_counter()
        x, y = self._train
        self.network.train()
        for rows in torch.randperm(len(x)).split(self._batch):
            self._optimizer.zero_grad()
            self._loss(self.network(x[rows]), y[rows]).backward()
            self._optimizer.step()
        x, y = self._test
        self.network.eval()
        with torch.no_grad():
            logits = self.network(x)
            self._loss(logits, y).item()
            self.auc = _auc(torch, logits[:, 1] - logits[:, 0], y)
        if self._epoch >= self._start:
            self._plateau.step(self.auc)
        self._epoch += 1
        return time.perf_counter() - began


def _network(features: int, depth: int, width: int):
    from torch import nn

    class Hidden(nn.Module):
        def __init__(self, first: bool):
            super().__init__()
            self.linear = nn.Linear(features if first else width, width)
            self.norm = nn.BatchNorm1d(width, affine=False)
            self.activation, self.skips = nn.ReLU(), not first

        def forward(self, h):
            out = self.activation(self.norm(self.linear(h)))
            return h + out if self.skips else out

    layers = [Hidden(first=i == 0) for i in range(depth)]
    return nn.Sequential(*layers, nn.Linear(width, 2))


def _auc(torch, scores, labels) -> float:
    """Compute the AUC by ranks; ties, which float32 logits hardly have, are not averaged."""
    ranks = torch.empty_like(scores)
    ranks[scores.argsort()] = torch.arange(1.0, len(scores) + 1)
    signal = labels == 1
    p, q = signal.sum().item(), (~signal).sum().item()
    return (ranks[signal].double().sum().item() - p * (p + 1) / 2) / (p * q)
