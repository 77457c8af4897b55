"""Do deep networks learn from the default initialisation? On rows of HIGGS."""

import math

import numpy as np

import jaxbern as jb
from jaxbern.train import NetworkConfig, TrainConfig

BATCH = 1024
STEPS = 300


def report(source: str) -> None:
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
