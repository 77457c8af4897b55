"""Measure time and memory of an epoch, with the program that ``jb.train.fit`` runs.

The activations of one architecture take turns, so that other load on the machine affects
all of them, and the best time of each is kept.
"""

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Sequence

import jaxbern as jb
from experiments.core.timing import best_in_turns
from experiments.sweep import sweep_events as events
from experiments.sweep.grid import PUBLISHED_EVENTS, Cell
from experiments.sweep.presets import COLLIDER


@dataclasses.dataclass(frozen=True)
class Setup:
    """What to measure.

    Attributes:
      batch_size: rows per step.
      steps: number of steps of the timed epoch.
      seeds: number of seeds trained at the same time.
      rounds: number of epochs; the best time counts.
    """

    batch_size: int = 16_384
    steps: int = 3
    seeds: int = 3
    rounds: int = 3

    def __post_init__(self):
        """Raise if a number is too small."""
        for field in dataclasses.fields(self):
            least = 2 if field.name == "batch_size" else 1
            if (value := getattr(self, field.name)) < least:
                raise ValueError(f"{field.name} must be at least {least}, got {value}")

    @property
    def events(self) -> int:
        """Number of events that give the wanted steps; one in five is for validation."""
        return math.ceil(self.steps * self.batch_size / 0.8)

    def config(self, cell: Cell) -> jb.train.TrainConfig:
        """Return the options for training a cell."""
        return jb.train.TrainConfig(
            cell.network, seeds=tuple(range(self.seeds)), batch_size=self.batch_size
        )

    def data(self, dataset: str) -> jb.data.Dataset:
        """Simulate events; their values do not affect the time."""
        return events.load(dataset, COLLIDER, self.events).data


@dataclasses.dataclass(frozen=True)
class Measured:
    """Measurements of a cell on this device.

    Attributes:
      cell: the cell.
      step: seconds per step and seed, with a share of shuffling and validation: those of
        the epoch, divided by its steps and by the seeds.
      memory: bytes of arguments, results and temporaries of the compiled epoch, as the
        compiler reports them: of all seeds, or of one where each has its own program.
      on_cards: the same on GPUs that need not be present, by name.
    """

    cell: Cell
    step: float
    memory: int
    on_cards: dict[str, int] = dataclasses.field(default_factory=dict)

    def epoch(self, batch_size: int) -> float:
        """Compute the seconds of an epoch of one training on all published events."""
        rows = PUBLISHED_EVENTS[self.cell.dataset] * 0.8
        return math.ceil(rows / batch_size) * self.step


class Program:
    """A compiled epoch of a training."""

    def __init__(self, config: jb.train.TrainConfig, data: jb.data.Dataset):
        """Compile the epoch and run it once."""
        self._epochs = jb.train.Epochs(config, data)
        try:
            self.memory = held(self._epochs.compile().memory_analysis())
        except ValueError as error:
            raise ValueError(
                f"{len(data):,} events must fit into half of the device's memory; write "
                "--steps or --batch-size with less"
            ) from error
        self.metrics = None  # measurements of the last epoch
        self.seconds()

    def seconds(self) -> float:
        """Train one more epoch; return the seconds it took."""
        began = time.perf_counter()
        self.metrics = self._epochs.run()
        return time.perf_counter() - began


def held(memory) -> int:
    """Return the bytes of arguments, results and temporaries that XLA reports."""
    both = memory.argument_size_in_bytes + memory.output_size_in_bytes
    return both + memory.temp_size_in_bytes - memory.alias_size_in_bytes


def architecture(
    cells: Sequence[Cell],
    setup: Setup,
    *,
    cards: dict[str, Callable] | None = None,
    done: Callable[[str], None] = lambda what: None,
) -> list[Measured]:
    """Measure all activations of one architecture.

    Args:
      cells: cells that differ in their activation only.
      setup: what to measure.
      cards: for each name of a GPU, a function from a configuration and a number of
        events to the memory there (:func:`experiments.sweep.plan_command.on_card`).
      done: called with the name of each cell when it is compiled and when it is measured.
    """
    data = load(cells[0].dataset, setup)
    programs = {}
    for cell in cells:
        programs[cell] = Program(setup.config(cell), data)
        done(f"{cell.name} compiled")
    times = best_in_turns(
        {cell: p.seconds for cell, p in programs.items()}, setup.rounds
    )
    found = []
    for cell, program in programs.items():
        on_cards = {
            name: memory(setup.config(cell), setup.events).bytes
            for name, memory in (cards or {}).items()
        }
        step = times[cell] / setup.steps / setup.seeds
        found.append(Measured(cell, step, program.memory, on_cards))
        done(cell.name)
    return found


@functools.lru_cache(maxsize=2)
def load(dataset: str, setup: Setup) -> jb.data.Dataset:
    """Load the data, the same for every architecture."""
    return setup.data(dataset)
