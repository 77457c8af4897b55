"""A PyTorch module as programs to measure: one layer, and a training; on the CPU."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.comparison.comparison_tasks import Task


def parameters(module: Any) -> int:
    """Numbers that are learned."""
    return sum(p.numel() for p in module.parameters() if p.requires_grad)


def count(make: Callable[[], Any]) -> int:
    """The same of what ``make`` makes."""
    return parameters(make())


def layer(module: Any, x: np.ndarray, dy: np.ndarray) -> tuple[Callable, int, int]:
    """Forward and all gradients as one call, and its memory.

    Returns:
      the call, the bytes of the tensors that autograd keeps besides ``x`` and the
      parameters, and the most bytes that one call holds, by the profiler's account.
    """
    import torch

    inputs = torch.tensor(x, requires_grad=True)
    above = torch.tensor(dy)

    def step():
        inputs.grad = None
        module.zero_grad(set_to_none=True)
        y = module(inputs)
        y.backward(above)
        return y

    step()  # what is made once is not counted
    return step, _kept(module, inputs), _peak(step)


def _kept(module: Any, inputs: Any) -> int:
    import torch

    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        y = module(inputs)  # held, so that no address is given twice
    given = [inputs, *module.parameters(), *module.buffers()]
    for tensor in given:
        kept.pop(tensor.untyped_storage().data_ptr(), None)
    del y
    return sum(kept.values())


def _peak(step: Callable) -> int:
    """Read peak memory from the allocator's events in the profiler's trace."""
    import torch

    cpu = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=cpu, profile_memory=True) as profiled:
        held = step()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        profiled.export_chrome_trace(str(file))
        events = json.loads(file.read_text())["traceEvents"]
    del held
    own = sorted(
        (event for event in events if event["name"] == "[memory]"),
        key=lambda event: event["ts"],
    )
    sizes = [0, *(event["args"]["Bytes"] for event in own)]
    return int(np.cumsum(sizes).max())


class Trainer:
    """Adam on batches, written as its users write it."""

    def __init__(self, module: Any, task: Task, learning_rate: float):
        """Hold the rows as tensors."""
        import torch

        self._torch, self._module, self._task = torch, module, task
        self.parameters = parameters(module)
        self._x, self._y = torch.tensor(task.x), torch.tensor(task.y)
        self._held_out = torch.tensor(task.test_x), torch.tensor(task.test_y)
        learned = [p for p in module.parameters() if p.requires_grad]
        self._optimizer = torch.optim.Adam(learned, lr=learning_rate)

    def train(self, batches: np.ndarray) -> None:
        """One step for each row of ``batches``: numbers of training rows."""
        self._module.train()
        for rows in self._torch.tensor(batches):
            self._optimizer.zero_grad()
            self._loss(self._x[rows], self._y[rows]).backward()
            self._optimizer.step()

    def loss(self) -> float:
        """Loss on held-out rows."""
        self._module.eval()
        with self._torch.no_grad():
            return self._loss(*self._held_out).item()

    def _loss(self, x, y):
        functional = self._torch.nn.functional
        found = self._module(x)
        if self._task.classes:
            return functional.cross_entropy(found, y)
        return functional.mse_loss(found[:, 0], y)
