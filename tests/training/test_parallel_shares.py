"""What workers learn of their shares adds up to what one learns of the whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from every_model import smaller
from keat.datasets.loading import Dataset
from keat.errors import InputError
from keat.events import EventStream
from keat.models.architectures import ARCHITECTURES
from keat.models.contract import Queries
from keat.models.registry import build_model
from keat.tasks.task_factory import make_task
from keat.training.lessons import LinkLessons
from keat.training.losses import LinkLoss
from keat.training.parallel_shares import SharedLessons, Team, share_of

DROPPED = ["tgat", "graphmixer", "dygformer", "keat-tgn"]  # whose masks would differ
MODELS = ["keat-rank", *DROPPED]
WITHOUT_DROPOUT = {name: {"dropout": 0.0} for name in DROPPED}


class Apart(Team):
    """Whose sums are its own part."""

    def summed(self, tensor: Tensor) -> Tensor:
        return tensor


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 10, 240), 10 + rng.integers(0, 12, 240)
    t, features = np.sort(rng.integers(0, 900, 240)), rng.standard_normal((240, 2), dtype=np.float32)
    return Dataset(EventStream.from_arrays(src, dst, t, features, num_nodes=22))


def gradient(name: str, data: Dataset, loss: LinkLoss, team: Team | None) -> list[Tensor | None]:
    """Of the second block of an epoch, with the first observed; of all of it, or of a worker's part."""
    config = replace(smaller(ARCHITECTURES[name].config), **WITHOUT_DROPOUT.get(name, {}))
    model = build_model(data.train, config, 1)
    model.train()
    lessons = LinkLessons(data, 50, in_turn=model.trains_in_turn, loss=loss, negatives=3)
    epoch = (lessons if team is None else SharedLessons(lessons, team, model)).epoch(1, 1)
    model.observe(next(epoch).events)
    lesson = next(epoch)
    assert isinstance(lesson.queries, Queries)
    assert lesson.loss is not None
    if model.trains_in_turn:
        (logits,) = model.score_in_turn([lesson.queries], lesson.events)
    else:
        logits = model.score(lesson.queries)
    lesson.loss(logits).backward()  # type: ignore[no-untyped-call]
    return [each.grad for each in model.parameters() if each.requires_grad]


@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("loss", ["pairwise", "stratified"])
@pytest.mark.parametrize("name", MODELS)
def test_gradients_of_shares_add_up_to_that_of_the_whole(
    name: str, loss: LinkLoss, workers: int, data: Dataset
) -> None:
    whole = gradient(name, data, loss, None)
    parts = [gradient(name, data, loss, Apart(rank, workers)) for rank in range(workers)]
    assert any(each is not None and each.abs().max() > 0 for each in whole)
    for expected, *found in zip(whole, *parts, strict=True):
        if expected is None:
            assert all(part is None for part in found)
        else:
            torch.testing.assert_close(sum(found), expected, rtol=1e-4, atol=1e-6)


def test_shares_of_a_validation_are_all_of_it_once(data: Dataset) -> None:
    task = make_task(data, "val", kind="link-ranking")
    shares = [share_of(task, Team(rank, 3)) for rank in range(3)]
    asked = np.concatenate([share.asked for share in shares])
    assert sorted(asked) == list(range(len(task)))
    assert {len(share) for share in shares} <= {len(task) // 3, len(task) // 3 + 1}
    with pytest.raises(InputError, match="train with one"):
        share_of(task, Team(0, len(task) + 1))


def test_what_is_measured_before_training_is_all_of_it(data: Dataset) -> None:
    """Workers whose scales differed would be of different models."""
    lessons = LinkLessons(data, 50)
    shared = SharedLessons(lessons, Team(1, 2), torch.nn.Linear(1, 1))
    for one, other in zip(lessons.epoch(1, 0), shared.epoch(1, 0), strict=True):
        assert isinstance(one.queries, Queries)
        assert isinstance(other.queries, Queries)
        assert np.array_equal(one.queries.candidates, other.queries.candidates)
