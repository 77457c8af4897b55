"""Build the report of a store with gaps and faults."""

from html.parser import HTMLParser
from pathlib import Path

import numpy as np

from experiments.report import report_command
from experiments.sweep import cell_store
from experiments.sweep.grid import ACTIVATIONS, Cell
from tests.experiments import report_stores

WHOLE = [
    Cell("higgs", True, 5, width, activation)
    for width in (16, 32)
    for activation in ACTIVATIONS
]
PART = [
    Cell("susy", False, 15, 16, activation)
    for activation in ("relu", "gelu", "bernstein:3")
]
DAMAGED = Cell("susy", False, 15, 16, "bernstein:9")
LOST = Cell("susy", False, 15, 16, "bernstein:25")


def fill(root: Path) -> None:
    """Write a complete group of two architectures, a part of another, and two faults."""
    for result in report_stores.learning([*WHOLE, *PART, DAMAGED]):
        cell_store.write(root, result)
    path = root / "cells" / DAMAGED.name / "history.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    losses = [np.linspace(0.69, 0.5, n) for n in (4, 0, 9)]
    reasons = ["nonfinite", "nonfinite", "early"]
    lost = report_stores.result(LOST, losses, reasons=reasons)
    cell_store.write(root, lost)


def build(folder: Path) -> Path:
    """Write a store, a plan and their report below a folder, and return the folder."""
    fill(folder / "store")
    plan = folder / "plan.csv"
    plan.write_text(
        "cell,parameters,memory_bytes\n"
        "higgs-residual-5x16-relu,1586,1073741824\n"
        "higgs-residual-150x256-relu,9810946,4000000000\n"
        "higgs-residual-150x256-bernstein25,10809346,8000000000\n"
    )
    options = ["--store", str(folder / "store"), "--out", str(folder / "out")]
    assert report_command.main([*options, "--memory", str(plan)]) == 0
    return folder


class Html(HTMLParser):
    """The ids and links of a page; raises unless every element is closed."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href"):
                self.links.append(value)
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
