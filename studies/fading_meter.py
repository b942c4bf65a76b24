"""Does the fading meter name what was planted, and agree with what came after: docs/results/fading_meter.md.

    python -m studies.fading_meter --data FOLDER     run what the ledger lacks, and print the tables
    python -m studies.fading_meter --report          print the tables

FOLDER has the Parquet files of the datasets. The meter looks at what is before the test split. Then trees
that learned from all of it answer the test split once: without features, with plain means, and with means
faded at the half-life that was named. A line of the ledger for every world and seed, and for every dataset.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
from sklearn.metrics import roc_auc_score

import keat
from keat.analysis.fading_meter import fitted_trees, measure_fading
from keat.analysis.fading_questions import Questions, attribute_questions
from keat.analysis.fading_verdict import gain_over_blocks, judge
from keat.datasets.loading import Dataset
from keat.errors import Notice
from keat.events import humanize
from keat.events.units import SECONDS_PER
from keat.tasks.attribute_source import columns_read, with_attribute
from studies.planted_fading import DAY, planted
from studies.study import Cell, Found, Result, StudyLedger, study_parser, table

PLANTED = {"6 h": 0.25 * DAY, "1 day": DAY, "4 days": 4 * DAY, "lasts": math.inf, "nothing": 0.0}
SEEDS = range(1, 4)
EVENTS = 8_000  # of a planted world
ASKED: dict[str, tuple[str, tuple[str, ...]]] = {
    "us_flights": ("f_delay>15", ("f_delay=10800",)),
    "icews14": ("c_quad>1.5", ()),
    "online_retail": ("label", ()),
    "reddit_links": ("f_log_score>5.63", ()),  # the median of the training split
    "bitcoin_otc": ("rating<0", ()),
    "ml_100k": ("rating>3.5", ()),
}
BLOCKS = 10  # of the test split


class MeterCell(Cell, frozen=True, kw_only=True):
    world: str  # a planted one, or a dataset
    target: str = ""
    known_after: str = ""
    seed: int = 0


class MeterFound(Found, frozen=True, kw_only=True):
    """AUC over later time than trees learned from; half-lives in seconds."""

    verdict: str
    half_life: float
    low: float
    high: float
    none: float
    plain: float
    faded: float  # the best of the grid
    gain: list[float]  # of fading over plain means: mean, and its 95 % interval
    test: list[float] | None = None  # none, plain, faded at the half-life
    test_gain: list[float] | None = None
    cpu_seconds: float


MeterLine: TypeAlias = Result[MeterCell, MeterFound]


def cells() -> Iterator[MeterCell]:
    for world in PLANTED:
        yield from (MeterCell(world=world, seed=seed) for seed in SEEDS)
    for name, (target, late) in ASKED.items():
        yield MeterCell(world=name, target=target, known_after=",".join(late))


def ask(cell: MeterCell, folder: Path) -> MeterFound:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        data = _data(cell, folder)
    started = time.process_time()
    curve = measure_fading(attribute_questions(data.before("test")))
    found, auc = judge(curve), curve.mean_auc()
    seconds = SECONDS_PER[data.stream.unit]
    test, gain = (None, None) if cell.world in PLANTED else _outcome(data, found.half_life)
    return MeterFound(
        verdict=found.verdict,
        half_life=found.half_life * seconds,
        low=found.low * seconds,
        high=found.high * seconds,
        none=float(auc[0]),
        plain=float(auc[1]),
        faded=float(auc[2:].max()),
        gain=[found.of_fading.mean, found.of_fading.low, found.of_fading.high],
        test=test,
        test_gain=gain,
        cpu_seconds=round(time.process_time() - started, 1),
    )


def _data(cell: MeterCell, folder: Path) -> Dataset:
    if cell.world in PLANTED:
        return planted(PLANTED[cell.world], cell.seed, EVENTS)
    late = tuple(each for each in cell.known_after.split(",") if each)
    read = keat.load(folder / f"{cell.world}.parquet", features=columns_read(cell.target, late))
    return with_attribute(read, cell.target, late)


def _outcome(data: Dataset, half_life: float) -> tuple[list[float], list[float]]:
    """AUC of the test split in blocks of time, and what the named half-life gains there over plain means."""
    asked = attribute_questions(data.stream)
    arms = [_in_test(asked, data, each) for each in (None, math.inf, half_life)]
    gain = gain_over_blocks(np.array(arms[2]) - np.array(arms[1]))
    return [float(np.mean(arm)) for arm in arms], [gain.mean, gain.low, gain.high]


def _in_test(asked: Questions, data: Dataset, half_life: float | None) -> list[float]:
    columns = [asked.without_features()]
    if half_life is not None:
        columns += [asked.faded(half_life, of) for of in asked.pasts]
    inputs, first = np.concatenate(columns, axis=1), int(np.searchsorted(asked.t, data.test.t[0]))
    trees = fitted_trees(inputs[:first], asked.truth[:first])
    share = trees.predict_proba(inputs[first:])[:, 1]
    blocks = np.array_split(np.arange(len(share)), BLOCKS)
    return [float(roc_auc_score(asked.truth[first:][rows], share[rows])) for rows in blocks]


def report(lines: list[MeterLine]) -> str:
    """Planted worlds, then datasets."""
    rows = []
    for world in PLANTED:
        mine = [line for line in lines if line.cell.world == world]
        said = [_said(line) for line in sorted(mine, key=lambda each: each.cell.seed)]
        rows.append([world, *said])
    head = ["planted", *(f"named, seed {seed}" for seed in SEEDS)]
    worlds = table(head, rows)
    rows = []
    for name in ASKED:
        for line in (line for line in lines if line.cell.world == name):
            found = line.found
            assert found.test is not None
            assert found.test_gain is not None
            auc = [f"{each:.3f}" for each in (found.none, found.plain, found.faded)]
            right = "yes" if agrees(line) else "no"
            tested = [f"{each:.3f}" for each in found.test]
            rows.append(
                [
                    name,
                    f"`{line.cell.target}`",
                    *auc,
                    _interval(found.gain),
                    _said(line),
                    *tested,
                    _interval(found.test_gain),
                    right,
                ]
            )
    head = ["data", "target", "none", "plain", "faded", "gain of fading", "the meter says"]
    head += ["test: none", "plain", "faded", "gain in test", "agrees"]
    return "\n".join([*worlds, "", *table(head, rows)])


def agrees(line: MeterLine) -> bool:
    """Whether means that fade at the named half-life gain in test where it was said that they do, and there
    alone."""
    assert line.found.test_gain is not None
    return (line.found.verdict == "fades") == (line.found.test_gain[1] > 0)


def _said(line: MeterLine) -> str:
    found = line.found
    if found.verdict != "fades":
        return found.verdict
    half_life, low, high = (humanize(each, "s") for each in (found.half_life, found.low, found.high))
    return f"{half_life} ({low} … {high})"


def _interval(gain: Sequence[float]) -> str:
    return f"{gain[0]:+.4f} [{gain[1]:+.4f}, {gain[2]:+.4f}]"


def main() -> None:
    parser = study_parser("fading_meter", __doc__)
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the Parquet files")
    given = parser.parse_args()
    ledger = StudyLedger(given.ledger, MeterCell, MeterFound)
    if not given.report:
        ledger.complete(cells(), partial(ask, folder=given.data))
    print(report(ledger.lines()))


if __name__ == "__main__":
    main()
