"""Curves of training: a point for each epoch while there are few; of many, round ticks and the kept epoch."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from keat.report.sections.curves import MANY, curves_section
from keat.training.fit import EpochReport


def history(epochs: int, best: int, loss: float = 0.0, slope: float = 1.0) -> list[EpochReport]:
    return [
        EpochReport(
            epoch=k,
            loss=loss + slope / k,
            train_seconds=1.0,
            val={"auc": 0.5 + 0.4 * (k == best)},
            val_seconds=0.1,
            best=k == best,
        )
        for k in range(1, epochs + 1)
    ]


@pytest.mark.parametrize(
    ("epochs", "points", "ticks"),
    [(3, 3, ["1", "2", "3"]), (MANY, MANY, ["1", "9", "17", "25", "33", "41", "49", "57"])],
)
def test_few_epochs_are_points(epochs: int, points: int, ticks: list[str]) -> None:
    section = curves_section({"mine": history(epochs, 2)}, "auc")
    assert section is not None
    assert section.body.count("<circle") == 2 * points  # loss and validation
    assert re.findall(r'middle">(\d+)<', section.body) == 2 * ticks
    assert section.hint.startswith("Each point is an epoch.")
    assert section.hint.endswith(f"mine: epoch 2 of {epochs}.")


@pytest.mark.parametrize(
    ("loss", "slope", "shown"),
    [
        (0.0, 1.0, ["0.31", "0.67", "1.03"]),
        (0.6931, 0.0003, ["0.69319", "0.69330", "0.69341"]),
        (0.5, 0.0, ["0.490", "0.500", "0.510"]),
        (-2.0, 1e-6, ["−1.99999969", "−1.99999933", "−1.99999897"]),
        (123456.0, 5000.0, ["124989", "126789", "128589"]),
    ],
)
def test_numbers_of_the_axis_differ_and_have_room(loss: float, slope: float, shown: list[str]) -> None:
    """A loss that hardly moves had the same number three times."""
    section = curves_section({"mine": history(3, 2, loss, slope)}, "auc")
    assert section is not None
    found = re.findall(r'x="([\d.]+)" y="[\d.]+" text-anchor="end">([^<]+)<', section.body)[:3]
    assert [number for _, number in found] == shown
    assert len(set(shown)) == 3
    assert all(float(x) >= 6.5 * len(number) for x, number in found)  # right end of about so many pixels


def test_of_many_only_the_kept_one_is() -> None:
    section = curves_section({"mine": history(500, 77)}, "auc")
    assert section is not None
    assert section.body.count("<circle") == 2
    assert re.findall(r'middle">(\d+)<', section.body) == 2 * ["1", "100", "200", "300", "400", "500"]
    highest = min(float(y) for y in re.findall(r"[\d.]+,([\d.]+)", section.body.split("<svg")[-1]))
    (mark,) = re.findall(r'cy="([\d.]+)"', section.body.split("<svg")[-1])
    assert float(mark) == pytest.approx(highest, abs=0.1)  # validation is best where the point is


def test_one_epoch_is_no_curve() -> None:
    assert curves_section({"mine": history(1, 1)}, "auc") is None


def test_epochs_that_were_not_validated_have_no_point() -> None:
    every_second = [replace(epoch, val=epoch.val if epoch.epoch % 2 else {}) for epoch in history(7, 3)]
    section = curves_section({"mine": every_second}, "auc")
    assert section is not None
    loss, validation = section.body.split("<svg")[-2:]
    assert (loss.count("<circle"), validation.count("<circle")) == (7, 4)
    assert "nan" not in section.body
    many = [replace(epoch, val=epoch.val if epoch.epoch % 2 else {}) for epoch in history(MANY + 1, 3)]
    section = curves_section({"mine": many}, "auc")
    assert section is not None
    assert "nan" not in section.body
    assert section.body.count("<circle") == 2


def test_what_hardly_gains_is_not_kept_and_that_is_said() -> None:
    epochs = history(3, 2)
    assert (first := curves_section({"mine": epochs}, "auc")) is not None
    assert "tolerance" not in first.hint
    epochs[2] = replace(epochs[2], val={"auc": 0.9001})
    assert (second := curves_section({"mine": epochs}, "auc")) is not None
    assert second.hint.endswith(
        "mine: epoch 2 of 3. A later epoch is kept only if it gains more than the tolerance of the run."
    )
