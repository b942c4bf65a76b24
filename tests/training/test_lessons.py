"""What training draws, and the losses it draws it for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch.nn import functional

from conftest import MakeStream
from keat.datasets.loading import Dataset
from keat.datasets.payments import simulate_payments
from keat.errors import InputError, UnknownNameError
from keat.models.contract import Queries
from keat.training.lessons import LinkLessons
from keat.training.losses import link_loss


@pytest.fixture(scope="module")
def data() -> Dataset:
    return Dataset(simulate_payments(3_000, seed=1))


def candidates_of(lessons: LinkLessons, epoch: int = 1) -> np.ndarray:
    pieces = []
    for lesson in lessons.epoch(7, epoch):
        assert isinstance(lesson.queries, Queries)
        assert np.array_equal(lesson.queries.t, lesson.events.t)
        pieces.append(lesson.queries.candidates)
    return np.concatenate(pieces)


def test_negatives_come_from_the_training_split(data: Dataset) -> None:
    drawn = candidates_of(LinkLessons(data, 200, negatives=3))
    assert drawn.shape == (len(data.train), 4)
    assert np.array_equal(drawn[:, 0], data.train.dst)
    assert set(drawn[:, 1:].ravel().tolist()) <= set(data.train.dst.tolist())


def test_negatives_are_a_function_of_seed_and_epoch(data: Dataset) -> None:
    first, again, other = (candidates_of(LinkLessons(data, 200), epoch) for epoch in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_historical_negatives_are_earlier_destinations_of_the_source(data: Dataset) -> None:
    drawn = candidates_of(LinkLessons(data, 200, negatives=4, historical=0.5))
    src, dst = data.train.src, data.train.dst
    with_past = 0
    for i in range(len(src)):
        past = set(dst[:i][src[:i] == src[i]].tolist())
        if past:
            with_past += 1
            assert set(drawn[i, 1:3].tolist()) <= past
    assert with_past > len(src) / 2


def test_blocks_in_turn_end_between_two_times(random_stream: MakeStream) -> None:
    data = Dataset(random_stream(3, events=500, times=80))
    blocks = [lesson.events for lesson in LinkLessons(data, 20, in_turn=True).epoch(1, 1)]
    assert sum(map(len, blocks)) == len(data.train)
    assert all(one.t[-1] < two.t[0] for one, two in pairwise(blocks))


def test_a_share_beyond_one_is_refused(data: Dataset) -> None:
    with pytest.raises(InputError, match="share of historical"):
        LinkLessons(data, 200, historical=1.5)


def test_listwise_is_cross_entropy_and_leaves_out_what_weighs_nothing() -> None:
    logits = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    target = torch.zeros(5, dtype=torch.long)
    torch.testing.assert_close(link_loss(logits, loss="listwise"), functional.cross_entropy(logits, target))
    log_weights = torch.zeros(5, 4)
    log_weights[:, 3] = -torch.inf
    torch.testing.assert_close(
        link_loss(logits, loss="listwise", log_weights=log_weights),
        functional.cross_entropy(logits[:, :3], target),
    )


def test_a_negative_that_is_the_positive_weighs_nothing(random_stream: MakeStream) -> None:
    data = Dataset(random_stream(3, destinations=3))
    clashes = 0
    for lesson in LinkLessons(data, 50, loss="listwise", negatives=4).epoch(1, 1):
        assert isinstance(lesson.queries, Queries)
        assert lesson.loss is not None
        candidates = lesson.queries.candidates
        clash = candidates[:, 1:] == candidates[:, :1]
        logits = torch.randn(candidates.shape, requires_grad=True)
        lesson.loss(logits).backward()  # type: ignore[no-untyped-call]
        assert logits.grad is not None
        assert np.array_equal(logits.grad[:, 1:].numpy() == 0, clash)
        clashes += int(clash.sum())
    assert clashes > 0


def test_losses_that_do_not_exist_are_refused() -> None:
    logits = torch.zeros(2, 2)
    with pytest.raises(UnknownNameError, match="listwise"):
        link_loss(logits, loss="listwize")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pairwise"):
        link_loss(logits, recipe="tgb-parity", loss="listwise")
    with pytest.raises(InputError, match="pairwise"):
        link_loss(logits, recipe="tgb-parity", loss="stratified")
