"""Measure a PyTorch module on the CPU: one layer, and a training."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.comparison.comparison_tasks import Task


def parameters(module: Any) -> int:
    """Return the number of parameters."""
    return sum(p.numel() for p in module.parameters() if p.requires_grad)


def count(make: Callable[[], Any]) -> int:
    """Count the parameters of the module that ``make`` creates."""
    return parameters(make())


def layer(module: Any, x: np.ndarray, dy: np.ndarray) -> tuple[Callable, int, int]:
    """Return forward and all gradients as one call, and measure its memory.

    Returns:
      The call; the bytes of tensors that autograd keeps besides ``x`` and the parameters;
      and the peak bytes of a call that the profiler reports.
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

    step()  # warm up: one-time allocations are not counted
    return step, _kept(module, inputs), _peak(step)


def _kept(module: Any, inputs: Any) -> int:
    import torch

    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        y = module(inputs)  # kept alive, so that no address is reused
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
    """Adam on batches, in idiomatic PyTorch."""

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
        """Take one step for each row of ``batches``, which are indices of training rows."""
        self._module.train()
        for rows in self._torch.tensor(batches):
            self._optimizer.zero_grad()
            self._loss(self._x[rows], self._y[rows]).backward()
            self._optimizer.step()

    def loss(self) -> float:
        """Return the loss on held-out rows."""
        self._module.eval()
        with self._torch.no_grad():
            return self._loss(*self._held_out).item()

    def _loss(self, x, y):
        functional = self._torch.nn.functional
        found = self._module(x)
        if self._task.classes:
            return functional.cross_entropy(found, y)
        return functional.mse_loss(found[:, 0], y)
