"""Curves of training: a point an epoch while there are few; of many, round ticks and the kept epoch."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from keat.report.curves import MANY, curves_section


def kept_run(folder: Path, epochs: int, best: int) -> Path:
    folder.mkdir()
    lines = [
        {
            "epoch": k,
            "loss": 1 / k,
            "val": {"auc": 0.5 + 0.4 * (k == best)},
            "train_seconds": 1.0,
            "val_seconds": 0.1,
            "best": k == best,
        }
        for k in range(1, epochs + 1)
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("epochs", "points", "ticks"),
    [(3, 3, ["1", "2", "3"]), (MANY, MANY, ["1", "9", "17", "25", "33", "41", "49", "57"])],
)
def test_few_epochs_are_points(epochs: int, points: int, ticks: list[str], tmp_path: Path) -> None:
    section = curves_section({"mine": kept_run(tmp_path / "run", epochs, 2)}, "auc")
    assert section is not None
    assert section.body.count("<circle") == 2 * points  # loss and validation
    assert re.findall(r'middle">(\d+)<', section.body) == 2 * ticks
    assert section.hint.startswith("A point an epoch.")
    assert section.hint.endswith(f"mine: epoch 2 of {epochs}.")


def test_of_many_only_the_kept_one_is(tmp_path: Path) -> None:
    section = curves_section({"mine": kept_run(tmp_path / "run", 500, 77)}, "auc")
    assert section is not None
    assert section.body.count("<circle") == 2
    assert re.findall(r'middle">(\d+)<', section.body) == 2 * ["1", "100", "200", "300", "400", "500"]
    highest = min(float(y) for y in re.findall(r"[\d.]+,([\d.]+)", section.body.split("<svg")[-1]))
    (mark,) = re.findall(r'cy="([\d.]+)"', section.body.split("<svg")[-1])
    assert float(mark) == pytest.approx(highest, abs=0.1)  # validation is best where the point is


def test_one_epoch_is_no_curve(tmp_path: Path) -> None:
    assert curves_section({"mine": kept_run(tmp_path / "run", 1, 1)}, "auc") is None
