"""What must hold before anything is compiled; every error says what to do."""

from jaxbern.data import Dataset, Split, split
from jaxbern.train._config import TrainConfig


def checked_split(config: TrainConfig, data: Dataset) -> Split:
    """The rows of each seed, if this network can be trained on them.

    Events of one class only, too few of them, or features that are not finite are
    refused by ``jb.data.split``.
    """
    if not isinstance(data, Dataset):
        raise TypeError(
            f"data must be a jb.data.Dataset, got {type(data).__name__}; for arrays "
            'write jb.data.Dataset.from_arrays("name", x, y, columns)'
        )
    features = data.x.shape[1]
    if features != config.network.in_features:
        raise ValueError(
            f"the network takes in_features={config.network.in_features}, but "
            f"{data.name!r} has {features} features; write NetworkConfig({features}, ...)"
        )
    rows = split(data, config.seeds, test_fraction=config.test_fraction)
    count = rows.train.shape[1]
    if config.batch_size > count:
        raise ValueError(
            f"batch_size must be at most {count:,}, the training rows that test_fraction="
            f"{config.test_fraction:g} leaves of {len(data):,}, got "
            f"{config.batch_size:,}; write batch_size={count}"
        )
    return rows
