"""The bar shows what it is told, and only where somebody can see it."""

import pytest

from jaxbern import io

progress = pytest.importorskip("rich.progress")


@pytest.mark.parametrize("choice", [True, False])
def test_an_explicit_choice_counts(choice):
    assert io.bar_wanted(choice) is choice


@pytest.mark.parametrize("terminal", [True, False])
def test_else_a_terminal_does(terminal, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    assert io.bar_wanted() is terminal


def test_columns_are_classes_of_rich_or_texts():
    bar = io.new_bar("MofNCompleteColumn", "{task.fields[note]}")
    kinds = [type(column) for column in bar.columns]
    assert kinds == [
        progress.TextColumn, progress.BarColumn, progress.MofNCompleteColumn,
        progress.TextColumn,
    ]  # fmt: skip
    task = bar.add_task("cells", total=5, completed=2, note="3 running")
    shown = [str(column(bar.tasks[task])) for column in bar.columns]
    assert (shown[0], shown[2].strip(), shown[3]) == ("cells", "2/5", "3 running")
    assert bar.console.stderr
