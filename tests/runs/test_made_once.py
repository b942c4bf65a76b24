"""One `keat train` makes each thing once and hands it on: σ, the tasks, what the run is."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import keat.runs.run_report  # with all that a training imports, so that calls from there are counted
import keat.runs.trainer  # noqa: F401
from keat.bandwidth import estimate_sigma
from keat.cli import main
from keat.disk import write_text
from keat.runs.run_file import read_run_file
from keat.tasks.task_factory import make_task

ROWS = [f"C-{k * 7 % 31:03},shop-{k * k % 11},{1_700_000_000 + 60 * k}" for k in range(400)]


def counted(
    monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], told: Callable[..., str]
) -> Counter[str]:
    """How often a function is called, wherever it was imported to, by what is told of its arguments."""
    calls: Counter[str] = Counter()

    def count(*arguments: Any, **named: Any) -> Any:
        calls[told(*arguments, **named)] += 1
        return function(*arguments, **named)

    for name, module in list(sys.modules.items()):
        if name.startswith("keat") and getattr(module, function.__name__, None) is function:
            monkeypatch.setattr(module, function.__name__, count)
    return calls


@pytest.mark.parametrize("model", ["keat-tgn", "keat-rank"])
@pytest.mark.parametrize("sampled", [(), ("--eval-sample", "20")], ids=["all", "sample"])
def test_training_makes_everything_once(
    model: str, sampled: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "orders.csv").write_text("customer,shop,when\n" + "\n".join(ROWS) + "\n")
    monkeypatch.chdir(tmp_path)
    sigmas = counted(monkeypatch, estimate_sigma, lambda *_, **__: "σ")
    tasks = counted(monkeypatch, make_task, lambda _, split, **__: split)
    read = counted(monkeypatch, read_run_file, lambda folder: str(folder))
    written = counted(monkeypatch, write_text, lambda path, *_: path.name)
    columns = ("--src", "customer", "--dst", "shop", "--time", "when")
    words = ("train", model, "orders.csv", *columns, *sampled, "--epochs", "2", "--out", "run", "--json")
    monkeypatch.setattr(sys, "argv", ["keat", *words])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    assert sigmas == {"σ": 1}
    assert tasks == {"val": 1, "test": 1}
    assert read == {}
    assert written["run.json"] == 1
    assert written["report.html"] == 1
    assert (tmp_path / "run" / "report.html").exists()
