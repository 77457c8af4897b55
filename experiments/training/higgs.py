"""AUC on HIGGS rows: Bernstein activations beside ReLU."""

import time

import numpy as np

from experiments.report.groups import activation_name
from experiments.training import cases
from jaxbern.train import fit


def table(
    source: str, size: str, activations: list[str], trained: int, seeds: int
) -> None:
    """Print the highest validation AUC of each seed, and why it stopped."""
    data = cases.events(source)
    print(f"{data}\nresidual {size}, batch 1,024, at most {trained} epochs\n")
    print("| activation | median AUC | AUC of each seed | epochs | seconds |")
    print("|---|---|---|---|---|")
    for activation in activations:
        config = cases.config(data, size, activation, seeds=seeds, epochs=trained)
        began = time.perf_counter()
        result = fit(config, data)
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
