"""What holds of every model of snapshots: exact ranking, one state however it was reached, and gradients."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from small_snapshots import NAMES, NODES, PLAIN, ask, build, some_stream

from keat.errors import InputError
from keat.kernels import KERNELS
from keat.models.contract import LinkModel, Queries
from keat.models.registry import build_model
from keat.models.snapshots import EvolveGCN, EvolveGCNConfig


@pytest.mark.parametrize("name", NAMES)
def test_ranking_is_scoring_pair_by_pair(name: str) -> None:
    """With nodes that nobody has seen, candidates twice, and the source among them."""
    model = build(name)
    model.observe(some_stream(nodes=NODES - 2))
    src, among = [0, 5, 5, NODES - 1, 900], [5, 5, 0, 3, NODES - 1, 900, 901]
    asked = ask(src=src)
    own = Queries(asked.src, asked.t, np.tile(among, (len(src), 1)).astype(np.int32))
    z = model.embeddings(torch.tensor(src + among), torch.zeros(12, dtype=torch.int64))
    for ranked in (model.score(ask(src=src, candidates=among)), model.score(own)):
        for i in range(len(src)):
            for j in range(len(among)):
                pair = z[[i, len(src) + j]]
                alone = model.decoder.pairs(pair, torch.tensor([0]), torch.tensor([[1]]))
                torch.testing.assert_close(ranked[i, j], alone[0, 0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("training", [False, True])
def test_the_state_is_that_of_the_events_however_they_were_cut_kept_and_asked_about(
    name: str, training: bool
) -> None:
    """To the bit; also with nodes that had no room."""
    stream = some_stream(nodes=2 * NODES)
    whole, pieces, resumed = (build(name).train(training) for _ in range(3))
    whole.observe(stream)
    for block in stream[:50].blocks(7):
        pieces.observe(block)
        pieces.score(ask(candidates=[0, 1, 500]))
    resumed.observe(some_stream(seed=9))
    resumed.load_stream_state({key: value.clone() for key, value in pieces.stream_state().items()})
    for model in (pieces, resumed):
        for block in stream[50:].blocks(1):
            model.observe(block)
    expected = whole.stream_state()
    for model in (pieces, resumed):
        found = model.stream_state()
        assert found.keys() == expected.keys()
        assert all(torch.equal(found[key], expected[key]) for key in expected)
        assert torch.equal(model.score(ask()), whole.score(ask()))
    assert whole.last_time() == stream.t[-1]


@pytest.mark.parametrize("name", NAMES)
def test_asking_in_turn_is_asking_at_every_time(name: str) -> None:
    stream = some_stream()
    quick, slow = build(name), build(name)
    lists = [Queries(stream.src[30:], stream.t[30:], np.stack((stream.dst[30:], stream.src[30:]), axis=1))]
    lists.append(ask(int(stream.t[60]), src=[1, 2]))
    for model in (quick, slow):
        model.observe(stream[:30])
    found = quick.score_in_turn(lists, stream[30:])
    expected = LinkModel.score_in_turn(slow, lists, stream[30:])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    assert torch.equal(quick.score(ask()), slow.score(ask()))


@pytest.mark.parametrize("name", NAMES)
def test_the_clock_may_start_anywhere(name: str) -> None:
    early, late = build(name), build(name)
    early.observe(some_stream(start=0))
    late.observe(some_stream(start=1_700_000_000))
    assert torch.equal(early.score(ask()), late.score(ask()))


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize(("history", "repeats"), [(1, False), (4, True)])
def test_an_infinite_width_is_the_plain_model(name: str, history: int, repeats: bool) -> None:
    scores = []
    for settings in (
        {"kernel": "identity"},
        {"kernel": "laplacian", "width": math.inf},
        {"kernel": "laplacian"},
    ):
        model = build(name, history=history, repeats=repeats, **settings)
        model.observe(some_stream())
        scores.append(model.score(ask()))
    assert torch.equal(scores[0], scores[1])
    assert not torch.allclose(scores[0], scores[2])


@pytest.mark.parametrize("name", NAMES)
def test_a_node_that_nobody_has_seen_is_one_whether_or_not_it_has_room(name: str) -> None:
    small, large = build(name, nodes=NODES), build(name, nodes=NODES)
    large.state.num_nodes = 3 * NODES  # room that no parameter knows of
    large.reset()
    for model in (small, large):
        model.observe(some_stream())
    for asked in (ask(), ask(candidates=[0, NODES + 1, 2 * NODES])):
        torch.testing.assert_close(small.score(asked), large.score(asked))


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_can_be_learned(name: str, kernel: str) -> None:
    model = build(name, kernel=kernel, history=4).train()
    model.observe(some_stream())
    model.score(ask()).square().mean().backward()  # type: ignore[no-untyped-call]
    for parameter in model.parameters():
        assert parameter.grad is None or torch.isfinite(parameter.grad).all()
    learned = [parameter.grad for parameter in model.kernel.parameters()]
    assert all(gradient is not None for gradient in learned)
    assert not learned or any(bool(gradient.any()) for gradient in learned if gradient is not None)


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_reaches_all_that_is_learned(name: str) -> None:
    """Through the latest snapshot, from a memory that has no gradient."""
    model, stream = build(name).train(), some_stream()
    model.observe(stream[:40])
    rest = stream[40:]
    (logits,) = model.score_in_turn([Queries(rest.src, rest.t, rest.dst[:, None])], rest)
    logits.sum().backward()  # type: ignore[no-untyped-call]
    missing = {key for key, each in model.named_parameters() if each.grad is None or not each.grad.any()}
    # The first weight of EvolveGCN is behind the snapshots that were cut off.
    assert missing == ({"start"} if isinstance(model, EvolveGCN) else set())
    assert not any(table.requires_grad for table in model.memory.tables().values())


def test_the_first_weight_learns_while_steps_start_from_it() -> None:
    model = build("utg-evolvegcn").train()
    model.observe(some_stream()[:3])
    model.score(ask()).sum().backward()  # type: ignore[no-untyped-call]
    assert isinstance(model, EvolveGCN)
    assert model.start.grad is not None
    assert model.start.grad.any()


@pytest.mark.parametrize("name", PLAIN)
def test_scores_follow_the_parameters(name: str) -> None:
    """What was computed for one table is not used with other parameters."""
    model, other = build(name), build(name, seed=8)
    for each in (model, other):
        each.observe(some_stream()[:20])
        each.score(ask())
    assert not torch.equal(model.score(ask()), other.score(ask()))
    model.load_state_dict(other.state_dict())
    model.load_stream_state(other.stream_state())
    assert torch.equal(model.score(ask()), other.score(ask()))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.5)
    assert not torch.equal(model.score(ask()), other.score(ask()))


@pytest.mark.parametrize("name", PLAIN)
def test_bfloat16_is_of_products_alone(name: str) -> None:
    model, stream = build(name).train(), some_stream()
    with torch.autocast("cpu", torch.bfloat16):
        (logits,) = model.score_in_turn([ask(int(stream.t[-1]))], stream)
    logits.float().sum().backward()  # type: ignore[no-untyped-call]
    assert all(table.dtype == torch.float32 for table in model.memory.tables().values())
    assert torch.isfinite(logits).all()


def test_a_damaged_memory_is_refused() -> None:
    model = build("utg-gclstm")
    model.observe(some_stream())
    kept = model.stream_state()
    with pytest.raises(InputError, match=r"'memory\.cell' has the shape|does not have"):
        model.load_stream_state(kept | {"memory.cell": kept["memory.cell"][:-1]})
    with pytest.raises(InputError, match=r"'memory\.hidden' holds a number that is not finite"):
        model.load_stream_state(kept | {"memory.hidden": kept["memory.hidden"] / 0})
    with pytest.raises(InputError, match=r"'memory\.weight' is not known"):
        model.load_stream_state(kept | {"memory.weight": kept["memory.cell"]})


def test_the_usual_bin_is_an_eighth_of_sigma() -> None:
    stream = some_stream()
    model = build_model(stream, EvolveGCNConfig(input_dim=4, dim=4), sigma=24.0)
    assert model.state.width == 3.0
    assert build_model(stream, EvolveGCNConfig(bin_width=7.5, input_dim=4, dim=4)).state.width == 7.5
    with pytest.raises(InputError, match="bin_width must be at least 0"):
        replace(EvolveGCNConfig(), bin_width=-1.0)
    with pytest.raises(InputError, match="history must be at least 1"):
        replace(EvolveGCNConfig(), history=0)
