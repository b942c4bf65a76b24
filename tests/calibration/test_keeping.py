"""A calibration survives JSON to the bit; what is none is refused; older runs have none."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from keat.calibration.fitting import Calibration
from keat.calibration.keeping import read_calibration
from keat.calibration.probability import Isotonic, Platt, fit_isotonic
from keat.calibration.temperature import Temperature
from keat.errors import InputError

RNG = np.random.default_rng(1)
MADE: list[Calibration] = [
    Temperature(1 / 3, 0.7, 1e-5, candidates=1000, sampled=True, questions=4194),
    Platt(0.1 + 0.2, -7.3),
    Isotonic((-1.0, 0.5), (0.1, 0.9)),
    fit_isotonic(RNG.normal(size=400), RNG.random(400) < 0.3),
]


@pytest.mark.parametrize("made", MADE, ids=lambda made: str(made.kind))
def test_round_trip(made: Calibration) -> None:
    again = read_calibration(json.loads(json.dumps(asdict(made))))
    assert again == made
    look = RNG.normal(size=(3, 5))
    if isinstance(made, Temperature):
        assert isinstance(again, Temperature)
        assert np.array_equal(again.shares(look), made.shares(look))
    else:
        assert isinstance(again, Platt | Isotonic)
        assert np.array_equal(again.probabilities(look), made.probabilities(look))


@pytest.mark.parametrize(
    "entry",
    [
        [],
        "temperature",
        {},
        {"kind": "oracle"},
        {"kind": ["platt"]},
        {"kind": "platt"},
        {"kind": "platt", "slope": -1.0, "intercept": 0.0},
        {"kind": "platt", "slope": float("nan"), "intercept": 0.0},
        {"kind": "platt", "slope": "1", "intercept": 0.0},
        {"kind": "platt", "slope": 1.0, "intercept": 0.0, "more": 1},
        {"kind": "isotonic", "logits": 3, "values": 4},
        {"kind": "isotonic", "logits": [0.0], "values": [None]},
        asdict(MADE[0]) | {"temperature": -1.0},
        asdict(MADE[0]) | {"leading": True},
        asdict(MADE[0]) | {"questions": 1.5},
    ],
)
def test_what_is_no_calibration_is_refused(entry: object) -> None:
    with pytest.raises(InputError):
        read_calibration(entry)


def test_nothing_is_none() -> None:
    assert read_calibration(None) is None


def test_only_the_best_epoch_counts(tmp_path: Path) -> None:
    from keat.runs.epochs import best_epoch, read_history

    line = {"loss": 1.0, "val": {"mrr": 0.5}, "train_seconds": 1.0, "val_seconds": 1.0}
    lines = [
        line | {"epoch": 1, "best": True},  # as an earlier version wrote it
        line | {"epoch": 2, "best": True, "calibration": asdict(MADE[1])},
        line | {"epoch": 3, "best": False, "calibration": None},
    ]
    path = tmp_path / "metrics.jsonl"

    def write(number: int) -> None:
        path.write_text("".join(json.dumps(line) + "\n" for line in lines[:number]))

    with pytest.raises(InputError, match="no epoch of this run has been validated yet"):
        best_epoch(tmp_path)
    write(1)
    assert best_epoch(tmp_path).calibration is None
    write(3)
    assert best_epoch(tmp_path).calibration == MADE[1]
    lines[1]["calibration"] = asdict(MADE[1]) | {"slope": "steep"}
    write(3)
    with pytest.raises(InputError, match=r"damaged: line 2 of metrics\.jsonl has no sound 'calib"):
        read_history(tmp_path)
