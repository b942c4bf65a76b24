"""Slices that are asked one by one, in any order, give the bits of one evaluation in a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from every_model import EVERY_MODEL, create
from keat.datasets.loading import Dataset
from keat.events import EventStream
from keat.models.architectures import ARCHITECTURES
from keat.models.contract import LearnedLinkModel
from keat.tasks.candidates import OwnCandidates, SharedCandidates
from keat.tasks.link import LinkRanking, LinkTask
from keat.tasks.script import Question
from keat.training.evaluate import Evaluation, evaluate
from keat.training.slices import answer_slice, joined, observe_to_slices

LEARNED = [name for name in EVERY_MODEL if name.split(" ")[0] in ARCHITECTURES]


def stream(seed: int = 3, events: int = 200) -> EventStream:
    """Two kinds of nodes, tied times, features."""
    rng = np.random.default_rng(seed)
    return EventStream.from_arrays(
        rng.integers(0, 12, events),
        12 + rng.integers(0, 18, events),
        np.sort(rng.integers(0, 100, events)) * 10,
        rng.standard_normal((events, 2), dtype=np.float32),
        num_nodes=30,
    )


def in_slices(
    asked: LearnedLinkModel, observing: LearnedLinkModel, task: LinkTask, refresh: int, slices: int
) -> Evaluation:
    """From states that were saved on the way; the last slice is asked first."""
    states: dict[int, dict[str, Tensor]] = {}
    for number in observe_to_slices(observing, task, refresh, slices):
        states[number] = {name: value.clone() for name, value in observing.stream_state().items()}
    outcomes = {}
    for number in reversed(states):
        asked.load_stream_state(states[number])
        outcomes[number] = answer_slice(asked, task, number, refresh, slices).outcomes
    return joined(task, [outcomes[number] for number in states], 0.0, 0.0)


class Scores(LinkRanking):
    """Keeps every score: ranks could hide a bit."""

    def outcome(self, ask: Question, scores: Sequence[Tensor]) -> Tensor:  # noqa: ARG002
        return scores[0]

    def metrics(self, outcomes: Tensor) -> dict[str, float]:
        return {"sum": float(outcomes.double().sum())}


def tasks(data: Dataset) -> list[LinkTask]:
    """One list of candidates for all, and one for each."""
    history, test = data.before("test"), data.test
    drawn = np.random.default_rng(5).integers(12, 30, (len(test), 5), dtype=np.int32)
    own = OwnCandidates(test, drawn, np.full(len(test), 5, dtype=np.int32))
    shared = SharedCandidates(test, np.arange(12, 30, dtype=np.int32))
    return [Scores(history, shared), Scores(history, own)]


def three_alike(name: str, data: Dataset) -> tuple[LearnedLinkModel, LearnedLinkModel, LearnedLinkModel]:
    models = []
    for _ in range(3):
        torch.manual_seed(1)
        model = create(name, data.train)
        assert isinstance(model, LearnedLinkModel)
        model._drawn = None  # as if it had been trained
        models.append(model.eval())
    return models[0], models[1], models[2]


@pytest.mark.parametrize("refresh", [1, 25])
@pytest.mark.parametrize("name", LEARNED)
def test_every_model_gives_the_bits_of_one_evaluation_in_a_row(name: str, refresh: int) -> None:
    data = Dataset(stream())
    whole, asked, observing = three_alike(name, data)
    for task in tasks(data):
        expected = evaluate(whole, task, refresh=refresh)
        for slices in (1, 2, 4):
            found = in_slices(asked, observing, task, refresh, slices)
            assert torch.equal(found.outcomes, expected.outcomes), (task.strategy, slices)
            assert found.metrics == expected.metrics
