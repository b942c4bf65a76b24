"""Clocks with more events at one time than a batch holds: days, years, rounds of votes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from conftest import MakeStream
from every_model import EVERY_MODEL, create, smaller
from keat.datasets.loading import Dataset
from keat.events import EventStream
from keat.models.architectures import ARCHITECTURES
from keat.models.contract import LinkModel, Queries
from keat.models.registry import build_model
from keat.models.tgn import TGN, TGNConfig
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec
from keat.tasks.link import LinkRanking
from keat.tasks.task_factory import make_task
from keat.training.evaluate import continue_evaluation
from keat.training.fit import FitConfig
from keat.training.lessons import LinkLessons

BATCH = 20


@pytest.fixture
def data(random_stream: MakeStream) -> Dataset:
    """480 events at 12 times: about 40 at each. Features tell events apart, so that no two nodes are equal to
    a model: their scores would be equal or not by how they are rounded."""
    stream = random_stream(5, events=480, sources=20, destinations=15, times=12)
    features = np.random.default_rng(5).random((480, 2), dtype=np.float32)
    return Dataset(EventStream.from_arrays(stream.src, stream.dst, stream.t, features, num_nodes=35))


@pytest.mark.parametrize("in_turn", [False, True])
def test_steps_are_as_short_as_on_a_fine_clock_and_nobody_sees_its_own_time(
    data: Dataset, in_turn: bool
) -> None:
    lessons = list(LinkLessons(data, BATCH, in_turn=in_turn).epoch(1, 1))
    asked = observed = 0
    for lesson in lessons:
        if lesson.queries is not None:
            assert isinstance(lesson.queries, Queries)
            assert len(lesson.queries.t) < 2 * BATCH
            assert observed == np.sum(data.train.t < lesson.queries.t[0])
            asked += len(lesson.queries.t)
        assert len(lesson.events) < 2 * BATCH
        observed += len(lesson.events)
    assert asked == observed == len(data.train)
    steps = sum(lesson.queries is not None for lesson in lessons)
    assert len(data.train) / BATCH <= steps <= len(data.train) / BATCH + len(np.unique(data.train.t))
    assert sum(lesson.progress for lesson in lessons) == len(data.train)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_model_trains_and_is_scored(name: str, data: Dataset, tmp_path: Path) -> None:
    """Validated and tested with every strictly earlier time observed, whatever the model."""
    config = smaller(ARCHITECTURES[name].config)
    reports = train_run(
        RunSpec(name, config, FitConfig(epochs=1, batch_size=BATCH)), data, tmp_path / "run"
    ).reports
    assert np.isfinite(reports[0].loss)
    test = make_task(data, "test")
    again = evaluate_run(tmp_path / "run", data, test, "test", refresh=1)
    assert 0 < again.metrics["mrr"] <= 1


@pytest.mark.parametrize("name", EVERY_MODEL)
def test_pieces_of_a_time_are_scored_as_the_whole(
    name: str, data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ranks are those of asking all of a time at once, and observing all of it in the same pieces."""
    model = create(name, data.train)
    task = make_task(data, "test")
    assert isinstance(task, LinkRanking)
    monkeypatch.setattr("keat.tasks.link.TGB_BATCH", BATCH)
    pieces = _outcomes(model, data, task)
    whole = _time_by_time(model, data, task)
    torch.testing.assert_close(pieces, whole)


def _outcomes(model: LinkModel, data: Dataset, task: LinkRanking) -> torch.Tensor:
    model.reset()
    model.observe(data.before("test"))
    return continue_evaluation(model, task, refresh=1).outcomes


def _time_by_time(model: LinkModel, data: Dataset, task: LinkRanking) -> torch.Tensor:
    model.reset()
    model.observe(data.before("test"))
    ranks = []
    for now in np.unique(data.test.t):
        rows = np.flatnonzero(data.test.t == now)
        with torch.no_grad():
            ranks.append(task.candidates.ranks(rows, model.score(task.candidates.queries(rows))))
        for low in range(rows[0], rows[-1] + 1, BATCH):
            model.observe(data.test[low : min(low + BATCH, rows[-1] + 1)])
    return torch.cat(ranks)


def test_memory_of_events_that_were_not_asked_about_last(data: Dataset) -> None:
    """In training TGN keeps what the scores computed. Of a crowded time, the events that are observed first
    were not asked about last: their messages are applied all the same."""
    config = replace(TGNConfig(), dim=8, neighbors=4, dropout=0.0)
    crowd = data.train[: np.searchsorted(data.train.t, data.train.t[0] + 1)]
    later = data.train[len(crowd) :]
    memories = []
    for asked in (later[-5:], None):
        model = build_model(data.train, config, seed=3)
        assert isinstance(model, TGN)
        model.train()
        model.reset()
        model.observe(crowd)
        if asked is not None:
            model.score(Queries(asked.src, asked.t, asked.dst[:, None]))
        model.observe(later[:40])
        memories.append((model.state.memory.clone(), model.state.last_update.clone()))
    torch.testing.assert_close(memories[0][0], memories[1][0])
    assert torch.equal(memories[0][1], memories[1][1])
