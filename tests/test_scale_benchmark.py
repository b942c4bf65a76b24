"""The steps of `benchmarks.scale` run within a limit that holds, once; and what is calculated of a schedule
is what playing it comes to."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("benchmarks", reason="benchmarks/ is not on the path; run as python -m pytest")

from benchmarks import scale
from benchmarks.scale_steps import in_a_process
from benchmarks.slice_schedule import Work, expected_seconds, most_gained, played_seconds, useful_workers


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_the_limit_holds() -> None:
    assert in_a_process("refused", 1 << 30, bytes_wanted=2 << 30)["refused"]
    assert not in_a_process("refused", 1 << 30, bytes_wanted=1 << 26)["refused"]


def test_steps_are_done_once_and_only_the_simulation_has_no_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int | None]] = []

    def pretend(step: str, limit: int | None, **given: Any) -> dict[str, Any]:
        if step == "heuristics" and len(asked) < 4:
            raise SystemExit("interrupted")
        asked.append((step, limit))
        return {"seconds": 1.0, "given": sorted(given)}

    monkeypatch.setattr(scale, "in_a_process", pretend)
    plan = [(1000, step) for step in scale.whole_way(1000, tmp_path)]
    ledger = tmp_path / "lines.jsonl"
    with pytest.raises(SystemExit):
        scale.run(plan, ledger, 7)
    asked.append(("stopped", 0))
    lines = scale.run(plan, ledger, 7)
    assert asked == [
        *(("simulate", None), ("prepare", 7), ("info", 7)),
        ("stopped", 0),
        *(("heuristics", 7), ("train", 7), ("observe", 7)),
    ]
    assert [line["step"] for line in lines][-2:] == ["train keat-rank", "observe keat-rank"]
    assert scale.read_lines(ledger) == lines


@pytest.mark.parametrize("workers", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("answering", [40.0, 400.0, 4000.0])
def test_the_calculation_is_what_the_schedule_comes_to(workers: int, answering: float) -> None:
    slices, work = 48, Work(observing=100.0, snapshot=0.2, answering=answering)
    played = played_seconds(
        [work.observing / slices] * slices, [answering / slices] * slices, work.snapshot, workers
    )
    assert played == pytest.approx(expected_seconds(work, slices, workers), rel=0.1)
    assert played >= work.observing  # which no number of workers makes shorter


def test_uneven_slices_cost_little_where_there_are_many() -> None:
    draw = np.random.default_rng(0)
    observing, answering = (draw.uniform(0.5, 1.5, 64).tolist() for _ in range(2))
    even = played_seconds([1.0] * 64, [8.0] * 64, 0.05, 4)
    played = played_seconds(observing, [8 * seconds for seconds in answering], 0.05, 4)
    assert played == pytest.approx(even, rel=0.15)


def test_more_workers_gain_until_they_wait_for_snapshots() -> None:
    work = Work(observing=100.0, snapshot=0.0, answering=900.0)
    assert most_gained(work) == 9.0
    assert useful_workers(work) == 9
    at = {workers: expected_seconds(work, 200, workers) for workers in (1, 2, 9, 50)}
    assert at[1] > 1.9 * at[2] > 3.8 * at[9]
    assert at[50] > 0.85 * at[9]
