"""What every registered model must keep; a new model joins these tests by being registered."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from every_model import EVERY_MODEL, create
from keat.errors import UnknownNameError
from keat.events import EventStream
from keat.models.contract import LearnedModel, LinkModel, Queries
from keat.models.registry import LINK_MODELS, create_link_model, create_node_model

NODES = 15
# As published, whoever had no event was last updated at time 0.
CLOCK_FROM_ZERO = ("tgn", "keat-tgn", "tgn and a pair term")
HEURISTICS = [name for name, entry in LINK_MODELS.items() if entry.heuristic]


def make_stream(seed: int, events: int = 120, times: int = 60, start: int = 0) -> EventStream:
    rng = np.random.default_rng(seed)
    return EventStream.from_arrays(
        rng.integers(0, NODES, events),
        rng.integers(0, NODES, events),
        np.sort(rng.integers(0, times, events)) + start,
        rng.random((events, 3), dtype=np.float32),
        num_nodes=NODES,
    )


def queries_at(time: int, sources: np.ndarray | None = None) -> Queries:
    src = np.arange(NODES, dtype=np.int32) if sources is None else sources
    return Queries(src, np.full(len(src), time), np.arange(NODES, dtype=np.int32))


def state_of(model: LinkModel) -> dict[str, torch.Tensor]:
    """A copy of what a checkpoint would hold of the events. Heuristics are not kept, so have none."""
    kept = model.stream_state() if isinstance(model, LearnedModel) else {}
    return {key: value.clone() for key, value in kept.items()}


def scores_at(model: LinkModel, stream: EventStream, time: int) -> torch.Tensor:
    """Scores at ``time`` with every strictly earlier event observed."""
    model.reset()
    model.observe(stream[: int(np.searchsorted(stream.t, time))])
    with torch.no_grad():
        return model.score(queries_at(time))


@pytest.mark.filterwarnings("ignore:Gaps between events give no time scale")
@pytest.mark.parametrize("name", EVERY_MODEL)
@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000), time=st.integers(1, 60), how=st.sampled_from(["permute", "replace", "drop"])
)
def test_changing_the_future_never_changes_a_score(name: str, seed: int, time: int, how: str) -> None:
    stream = make_stream(seed)
    now = int(np.searchsorted(stream.t, time))
    rng = np.random.default_rng(seed + 1)
    keep = np.arange(len(stream))
    src, dst, t, features = stream.src.copy(), stream.dst.copy(), stream.t.copy(), stream.features.copy()
    if how == "permute":
        order = np.concatenate((keep[:now], rng.permutation(keep[now:])))
        src, dst, features = src[order], dst[order], features[order]
    elif how == "replace":
        src[now:], dst[now:] = rng.integers(0, NODES, (2, len(stream) - now))
        features[now:] = -5.0
        t[now:] = np.sort(rng.integers(time, 1000, len(stream) - now))
    else:
        src, dst, t, features = src[:now], dst[:now], t[:now], features[:now]
    changed = EventStream.from_arrays(src, dst, t, features, num_nodes=NODES)
    train = stream[: min(now, len(stream) // 2)]  # what a model may learn from lies before the query
    first, second = create(name, train), create(name, changed[: len(train)])
    assert torch.equal(scores_at(first, stream, time), scores_at(second, changed, time))


@pytest.mark.parametrize("name", EVERY_MODEL)
def test_scoring_changes_nothing(name: str) -> None:
    stream = make_stream(1)
    asked, silent = (create(name, stream[:60]) for _ in range(2))
    for block in stream.blocks(10):
        asked.score(queries_at(int(block.t[-1])))
        for model in (asked, silent):
            model.observe(block)
    assert torch.equal(asked.score(queries_at(100)), silent.score(queries_at(100)))


@pytest.mark.parametrize("name", EVERY_MODEL)
def test_asking_twice_and_observing_nothing_leave_the_state(name: str) -> None:
    stream = make_stream(5)
    model = create(name, stream[:60])
    model.observe(stream[:90])
    kept = state_of(model)
    first = model.score(queries_at(100))
    model.observe(stream[90:90])
    assert torch.equal(first, model.score(queries_at(100)))
    after = state_of(model)
    assert kept.keys() == after.keys()
    assert all(torch.equal(kept[key], after[key]) for key in kept)


@pytest.mark.parametrize("name", [name for name in EVERY_MODEL if name not in CLOCK_FROM_ZERO])
def test_when_the_clock_started_does_not_matter(name: str) -> None:
    scores = []
    for start in (0, 1_700_000_000):
        stream = make_stream(6, start=start)
        model = create(name, stream[:60])
        for block in stream.blocks(25):
            model.observe(block)
        scores.append(model.score(queries_at(start + 100)))
    assert torch.equal(*scores)


@pytest.mark.parametrize("name", EVERY_MODEL)
def test_a_score_depends_on_no_other_query(name: str) -> None:
    stream = make_stream(2)
    model = create(name, stream[:60])
    model.observe(stream)
    together = model.score(queries_at(100))
    assert together.shape == (NODES, NODES)
    for node in range(NODES):
        alone = model.score(queries_at(100, np.array([node], dtype=np.int32)))
        torch.testing.assert_close(alone[0], together[node])
    own = Queries(
        np.arange(NODES, dtype=np.int32),
        np.full(NODES, 100),
        np.tile(np.arange(NODES), (NODES, 1)).astype(np.int32),
    )
    torch.testing.assert_close(model.score(own), together)


@pytest.mark.parametrize("name", EVERY_MODEL)
def test_reset_forgets_everything(name: str) -> None:
    stream = make_stream(3)
    used, new = (create(name, stream[:60]) for _ in range(2))
    used.observe(stream)
    used.reset()
    assert torch.equal(used.score(queries_at(5)), new.score(queries_at(5)))


@pytest.mark.parametrize("name", EVERY_MODEL)
def test_nodes_never_seen_before_are_served(name: str) -> None:
    stream = make_stream(4)
    model = create(name, stream[:60])
    model.observe(stream)
    stranger = NODES + 1000
    ask = Queries(np.array([0, stranger], np.int32), np.array([99, 99]), np.array([3, stranger], np.int32))
    assert torch.isfinite(model.score(ask)).all()
    features = np.ones((1, 3), dtype=np.float32)
    model.observe(EventStream.from_arrays([stranger], [stranger + 1], [99], features))
    later = Queries(np.array([stranger], np.int32), np.array([100]), np.array([5, stranger + 1], np.int32))
    assert torch.isfinite(model.score(later)).all()


@pytest.mark.parametrize("name", HEURISTICS)
@settings(max_examples=15)
@given(seed=st.integers(0, 1000), block=st.integers(1, 130))
def test_how_the_stream_is_cut_does_not_matter(name: str, seed: int, block: int) -> None:
    stream = make_stream(seed)
    whole, pieces = (create(name, stream[:60]) for _ in range(2))
    whole.observe(stream)
    for part in stream.blocks(block):
        pieces.observe(part)
    torch.testing.assert_close(whole.score(queries_at(100)), pieces.score(queries_at(100)))


def test_unknown_models_name_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'edgebank'"):
        create_link_model("edgebnk", make_stream(0))
    with pytest.raises(UnknownNameError, match="did you mean 'moving-average'"):
        create_node_model("moving-avg", make_stream(0))
