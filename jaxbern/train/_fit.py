"""``fit``: the loop over epochs, with callbacks, checkpoints and interrupts."""

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np

from jaxbern.data import Dataset
from jaxbern.io import bar_wanted
from jaxbern.train import _result
from jaxbern.train._callbacks import Callback, ProgressBar
from jaxbern.train._config import TrainConfig, checked_split
from jaxbern.train._directory import Directory, Nowhere
from jaxbern.train._engine import engine as choose_engine
from jaxbern.train._interrupt import Interrupts
from jaxbern.train._result import History, Result, Training


def fit(
    config: TrainConfig,
    data: Dataset,
    *,
    directory: str | os.PathLike | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    devices: Sequence[jax.Device] | None = None,
    device_bytes: int | None = None,
    checkpoint_seconds: float = 1.0,
) -> Result:
    """Train all seeds of a configuration at once.

    An epoch is one compiled program: shuffle, steps, validation, AUC, learning rate, early
    stopping. A stopped seed no longer changes while the others continue. The same
    configuration and data give the same bits on the same machine and versions. On a GPU seeds
    are vmapped, so one call trains all of them. On a CPU small networks train side by side, a
    call for each seed, and large ones in turn within one call, on all cores. Side by side, a
    seed gives the same bits alone and with others; otherwise the same up to rounding.

    With a directory, ``config.json``, ``history.jsonl`` (a line per seed and epoch), the last
    two ``checkpoints`` and, at the end, ``summary.json`` are written. After a kill,
    ``resume=True`` continues and gives the same bits as an uninterrupted training. Ctrl-C
    finishes the current epoch and saves it.

    Args:
      config: what to train.
      data: what to train on; stored on the device once for all seeds.
      directory: where to write; nothing is written if not given.
      resume: continue from the last checkpoint in ``directory``, if there is one. A
        checkpoint of another configuration or other data is refused; only ``epochs`` may
        differ.
      callbacks: called after every epoch, such as :class:`TensorBoard` and :class:`WandB`.
      progress: show a progress bar; if None, only on a terminal.
      devices: devices over which each batch is sharded. Defaults to all devices, including
        those of other hosts after ``jax.distributed.initialize()``.
      device_bytes: memory for data on each device. Data that need more stay on the host
        and are sent in pieces, each while the previous one is used. Defaults to half of
        the device's memory.
      checkpoint_seconds: minimum time between two checkpoints; the last epoch is always
        saved.
    """
    split = checked_split(config, data)
    state, engine = choose_engine(
        config, data, split, devices=devices, device_bytes=device_bytes
    )
    training = Training(0, state, History.empty(config.seeds))
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(
            Nowhere(resume=resume)
            if directory is None
            else Directory(
                Path(directory), config, data, resume=resume, seconds=checkpoint_seconds
            )
        )
        training = place.restore(training)
        listeners = [*callbacks, *place.listeners]
        if bar_wanted(progress):
            listeners.append(ProgressBar())
        if jax.process_index():  # only the first process reports
            listeners = []
        for listener in listeners:
            listener.start(config, training.history.records())
            stack.callback(listener.close)
        training = _train(config, engine, training, place, listeners)
        result = _result_of(config, split, training)
        for listener in listeners:
            listener.end(result)
    return result


def _train(config, engine, training, place, listeners) -> Training:
    running = jax.device_get(training.state.stopping).running.any()
    with Interrupts(enabled=place.interruptible) as interrupts:
        while training.epochs < config.epochs and running:
            began = time.perf_counter()
            state, metrics = engine.run(training.state, training.epochs)
            metrics = jax.device_get(metrics)
            running = metrics.stopping.running.any()
            records = training.history.append(metrics, time.perf_counter() - began)
            training = Training(training.epochs + 1, state, training.history)
            place.save(training, force=False)
            for listener in listeners:
                listener.epoch(records)
            if interrupts.pending:
                place.save(training, force=True)
                raise KeyboardInterrupt(place.how_to_resume(training.epochs))
    place.save(training, force=True)
    return training


def _result_of(config, split, training: Training) -> Result:
    state = jax.tree.map(np.array, jax.device_get(training.state))
    best = state.stopping.best_epoch.tolist()
    return Result(
        config,
        split,
        training.history.arrays(),
        _result.stops(config, state.stopping),
        dict(zip(config.seeds, best, strict=True)),
        state.best,
        state.network,
    )
