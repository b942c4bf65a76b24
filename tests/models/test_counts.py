"""Counts and recencies against a plain loop, and what they may know."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from conftest import FindFile, MakeStream
from keat.datasets.loading import load
from keat.errors import InputError
from keat.events import EventStream
from keat.models.counts import CountsAndRecencies
from keat.models.node_head import EventQueries
from keat.models.registry import create_label_model
from keat.state.event_counts import EventCounts
from keat.tasks.task_factory import make_task
from keat.training.evaluate import evaluate


def labelled(stream: EventStream) -> EventStream:
    rng = np.random.default_rng(0)
    features = rng.random((len(stream), 2), dtype=np.float32)
    return replace(stream, features=features, labels=rng.integers(-1, 2, len(stream)))


def by_loop(past: EventStream, src: int, dst: int, t: int) -> list[float]:
    row: list[float] = []
    pairs = list(zip(past.src.tolist(), past.dst.tolist(), strict=True))
    for mine in (
        [i for i, ends in enumerate(pairs) if src in ends],
        [i for i, ends in enumerate(pairs) if dst in ends],
        [i for i, ends in enumerate(pairs) if ends == (src, dst)],
    ):
        times = past.t[mine]
        ages = (np.log1p(t - times[-1]), np.log1p(t - times[0])) if mine else (0.0, 0.0)
        row += [float(not mine), float(np.log1p(len(mine))), *map(float, ages)]
    return row


@pytest.mark.parametrize("block", [1, 13, 300])
def test_inputs_equal_a_plain_loop(block: int, random_stream: MakeStream) -> None:
    stream = labelled(random_stream(3))
    model = CountsAndRecencies(stream)
    for part in stream[:200].blocks(block):
        model.observe(part)
    src, dst = (ends.astype(np.int32) for ends in np.divmod(np.arange(25 * 25), 25))  # some never seen
    queries = EventQueries(src, np.full(625, 130), dst, np.ones((625, 2), np.float32))
    expected = [[*by_loop(stream[:200], u, v, 130), 1.0, 1.0] for u, v in zip(src, dst, strict=True)]
    np.testing.assert_allclose(model.inputs(queries), expected)


def test_the_future_changes_no_score(random_stream: MakeStream) -> None:
    stream, now = labelled(random_stream(4)), 200
    changed = replace(stream, dst=np.append(stream.dst[:now], stream.dst[now:][::-1]))
    scores = []
    for world in (stream, changed):
        model = CountsAndRecencies(world[:now])
        model.observe(world[:now])
        queries = EventQueries(stream.src[now:], stream.t[now:], stream.dst[now:], stream.features[now:])
        scores.append(model.score(queries))
    assert torch.equal(*scores)


def test_it_starts_empty_and_scoring_changes_nothing(random_stream: MakeStream) -> None:
    stream = labelled(random_stream(5))
    model = create_label_model("counts", stream)
    queries = EventQueries(stream.src, np.full(len(stream), 500), stream.dst, stream.features)
    first = model.score(queries)
    assert torch.equal(first, model.score(queries))
    model.observe(stream)
    assert not torch.equal(first, model.score(queries))
    model.reset()
    assert torch.equal(first, model.score(queries))


@pytest.mark.parametrize("cut", [0, 1, 150])
def test_counts_survive_a_checkpoint(cut: int, random_stream: MakeStream) -> None:
    stream = random_stream(7)
    whole, first, second = EventCounts(), EventCounts(), EventCounts()
    whole.observe(stream)
    first.observe(stream[:cut])
    second.load(first.save())
    second.observe(stream[cut:])
    src, dst = (ends.astype(np.int32) for ends in np.divmod(np.arange(400), 20))
    one, other = (counts.describe(src, dst, np.full(400, 200)) for counts in (whole, second))
    np.testing.assert_array_equal(one, other)


def test_without_labels_it_says_so(random_stream: MakeStream) -> None:
    with pytest.raises(InputError, match="counts needs event labels"):
        CountsAndRecencies(random_stream(6))
    ones = replace(random_stream(6), labels=np.ones(300, dtype=int))
    with pytest.raises(InputError, match="needs labelled events of both kinds"):
        CountsAndRecencies(ones)


def test_bans_on_wikipedia(shared_file: FindFile) -> None:
    """217 of 157,474 edits are the last before a ban. Plain counts already go far."""
    data = load(shared_file("wikipedia.parquet"), label="label")
    assert data.stream.labels is not None
    assert int(data.stream.labels.sum()) == 217
    result = evaluate(create_label_model("counts", data.train), make_task(data, "test", kind="node-label"))
    assert result.metrics["auc"] == pytest.approx(0.907, abs=0.005)
