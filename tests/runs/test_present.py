"""What a run has seen: a question in the middle of a time changes nothing that comes after it.

The state of TGN depends on how events are cut, so the events of the last time wait for more of the same time.
A question is answered with them observed; after it, the state from before is taken up again.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

import keat
from keat.errors import InputError
from keat.models.registry import NODE_MODELS
from keat.runs import Run
from keat.tasks.script import TGB_BATCH

SMALL: dict[str, dict[str, Any]] = {
    "keat-tgn": {"dim": 8, "neighbors": 4, "epochs": 1, "lr": 1e-2},
    "tgat": {"neighbors": 4, "layers": 1, "epochs": 1, "out_dim": 8, "time_dim": 8},
    "keat-rank": {"hidden": 8, "epochs": 1, "negatives": 5},
    "slm": {"epochs": 1},
    "keat-tpnet": {"epochs": 1, "projection_dim": 8, "neighbors": 3, "channels": 4, "memory_only": False},
    "craft-r": {"epochs": 1, "dim": 8, "neighbors": 4},
    "keat-utg-htgn": {"input_dim": 8, "dim": 8, "epochs": 1, "bin_width": 2.0},
}
LAST = 40  # the time that the run is asked in
Question = Callable[[Run], object]
QUESTIONS: dict[str, Question] = {
    "rank": lambda run: run.rank("s1"),
    "score": lambda run: run.score(pd.DataFrame({"src": ["s1", "s2"], "dst": ["d3", "d4"]})),
    "embeddings": lambda run: run.embeddings() if run.spec.model in NODE_MODELS else None,  # some have none
    "twice": lambda run: (run.rank("s1"), run.rank("s2", at=LAST + 7)),
}


def events(first: int, last: int, each: int, seed: int, strangers: int = 0) -> pd.DataFrame:
    """At every time from ``first`` to ``last`` as many events; some of nodes that nobody met before."""
    rng = np.random.default_rng(seed)
    t = np.repeat(np.arange(first, last + 1), each)
    return pd.DataFrame(
        {
            "src": [f"s{k}" for k in rng.integers(0, 8 + strangers, len(t))],
            "dst": [f"d{k}" for k in rng.integers(0, 9 + strangers, len(t))],
            "t": t,
        }
    )


@cache
def trained(name: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="keat-test-")) / "run"
    keat.train(name, events(0, 30, 5, seed=1), out=folder, watchers=(), **SMALL[name])
    return folder


@pytest.fixture(params=SMALL)
def copy(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Run]:
    """A run that has seen times up to 30, as often as it is wanted."""
    return lambda name: keat.open(shutil.copytree(trained(request.param), tmp_path / name))


def saved(run: Run) -> Run:
    run.save()
    return keat.open(run.folder)


def assert_same(one: Run, other: Run) -> None:
    """To the bit: what is answered, what is remembered, and what is kept."""
    seen, theirs_seen = one.present.seen, other.present.seen  # which also knows in what pieces it was seen
    for what in ("rows", "total", "last_time"):
        assert getattr(seen, what) == getattr(theirs_seen, what)
    assert one.names.labels.equals(other.names.labels)
    assert_equal(one.present.tensors(), other.present.tensors())
    known = [f"s{k}" for k in range(8)]
    assert one.rank(known, top=5).table.equals(other.rank(known, top=5).table)
    assert_equal(one.model.stream_state(), other.model.stream_state())


def assert_equal(kept: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    """Tables of nodes may have room to spare, of which there is more or less."""
    assert kept.keys() == theirs.keys()
    for name, tensor in kept.items():
        of_nodes = "nodes." in name
        rows = min(len(tensor), len(theirs[name])) if of_nodes else None
        assert torch.equal(tensor[:rows], theirs[name][:rows]), name


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_within_a_time_changes_nothing_after_it(copy: Callable[[str], Run], question: str) -> None:
    """Three pieces of one time and then later times, some of them of newcomers."""
    asked, silent, whole = copy("asked"), copy("silent"), copy("whole")
    day, after = (
        events(LAST, LAST, 12, seed=2, strangers=3),
        events(LAST + 1, LAST + 4, 6, seed=3, strangers=5),
    )
    for piece in (day[:4], day[4:9], day[9:], after[:3], after[3:]):
        QUESTIONS[question](asked)
        asked.observe(piece)
        QUESTIONS[question](asked)
        silent.observe(piece)
    whole.observe(pd.concat([day, after]))
    assert_same(asked, silent)
    assert_same(asked, whole)


def test_so_it_is_across_saving_and_opening(copy: Callable[[str], Run]) -> None:
    day, after = events(LAST, LAST, 12, seed=2, strangers=3), events(LAST + 1, LAST + 2, 5, seed=3)
    pieces = (day[:4], day[4:9], day[9:], after)
    silent = copy("silent")
    for piece in pieces:
        silent.observe(piece)
    before, both, later = copy("before"), copy("both"), copy("later")
    for piece in pieces:
        before.observe(piece)
        before.rank("s1")
        before = saved(before)  # the question is no part of what is kept
        both.observe(piece)
        both.rank("s1")
        both = saved(both)
        both.rank("s1")
        later.observe(piece)
        later = saved(later)
        later.rank("s1")
    for run in (before, both, later):
        assert_same(run, silent)


def test_what_is_saved_is_the_same_whether_it_was_asked(copy: Callable[[str], Run]) -> None:
    asked, silent = copy("asked"), copy("silent")
    day = events(LAST, LAST, 12, seed=2)
    for run in (asked, silent):
        run.observe(day[:5])
    asked.rank("s1")
    for run in (asked, silent):
        run.save()
    for pattern in ("state-*", "seen.json", "names-*"):
        for one, other in zip(
            sorted(asked.folder.glob(pattern)), sorted(silent.folder.glob(pattern)), strict=True
        ):
            assert one.read_bytes() == other.read_bytes(), one.name


def test_the_answer_knows_what_has_come_of_the_time(copy: Callable[[str], Run]) -> None:
    """Asked in the middle, a run answers as if the time were over."""
    day = events(LAST, LAST, 12, seed=2)
    middle, over = copy("middle"), copy("over")
    before = middle.rank("s1", at=LAST + 1, top=9).table
    middle.observe(day[:6])
    over.observe(day[:6])
    over = saved(over)
    found = middle.rank("s1", top=9).table
    assert found.equals(over.rank("s1", top=9).table)
    assert not found.equals(before)
    assert found.equals(middle.rank("s1", top=9).table)


def test_a_time_of_more_events_than_a_batch(copy: Callable[[str], Run]) -> None:
    day = events(LAST, LAST, 2 * TGB_BATCH + 50, seed=2)
    asked, whole = copy("asked"), copy("whole")
    for first, last in ((0, 130), (130, TGB_BATCH + 100), (TGB_BATCH + 100, len(day))):
        asked.observe(day[first:last])
        asked.rank("s1")
    whole.observe(day)
    assert_same(asked, whole)


def test_the_time_is_over_when_a_later_one_comes(copy: Callable[[str], Run]) -> None:
    asked, silent = copy("asked"), copy("silent")
    for run in (asked, silent):
        run.observe(events(LAST, LAST, 7, seed=2))
    asked.rank("s1")
    for run in (asked, silent):
        run.observe(events(LAST + 3, LAST + 3, 7, seed=3))
    assert_same(asked, silent)


def test_the_last_time_of_training_may_go_on(copy: Callable[[str], Run]) -> None:
    asked, silent = copy("asked"), copy("silent")
    more = events(30, 31, 4, seed=6, strangers=2)
    asked.rank("s1")
    asked.observe(more[:2])
    asked = saved(asked)
    asked.rank("s1")
    asked.observe(more[2:])
    silent.observe(more)
    assert_same(asked, silent)


def test_what_is_late_joins_the_time_that_was_asked_in(copy: Callable[[str], Run]) -> None:
    asked, silent = copy("asked"), copy("silent")
    late = events(LAST - 5, LAST - 4, 3, seed=4)
    for run in (asked, silent):
        run.observe(events(LAST, LAST, 7, seed=2))
    asked.rank("s1")
    with pytest.raises(InputError, match="older than"):
        asked.observe(late)
    for run in (asked, silent):
        assert run.observe(late, late="clamp").clamped == len(late)
    assert_same(asked, silent)


def test_nothing_is_observed_of_nothing(copy: Callable[[str], Run]) -> None:
    day = events(LAST, LAST, 7, seed=2)
    asked, silent = copy("asked"), copy("silent")
    for run in (asked, silent):
        run.observe(day)
    asked.rank("s1")
    assert asked.observe(day).events == 0  # known already
    for run in (asked, silent):
        run.observe(events(LAST, LAST, 3, seed=5))
    assert_same(asked, silent)


def test_a_question_with_errors_is_no_question(copy: Callable[[str], Run]) -> None:
    day = events(LAST, LAST, 9, seed=2)
    asked, silent = copy("asked"), copy("silent")
    for run in (asked, silent):
        run.observe(day[:4])
    with pytest.raises(InputError, match="is before"):
        asked.rank("s1", at=3)
    with pytest.raises(InputError, match="This run scores pairs"):
        asked.shares("s1")
    for run in (asked, silent):
        run.observe(day[4:])
    assert_same(asked, silent)
