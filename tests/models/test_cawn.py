"""CAWN against walks counted one by one and torch's LSTM; its laws, its parameters, and its shortcut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from keat.errors import InputError, KeatError
from keat.events import EventStream
from keat.kernels import KERNELS
from keat.models.cawn import CAWN, CAWNConfig
from keat.models.cawn import cawn_model as cawn_model
from keat.models.cawn.expected_walks import occurrences
from keat.models.cawn.walk_encoder import at_the_end
from keat.models.contract import Queries
from keat.state import walk_weights
from keat.time_encoding import TIME_ENCODERS
from small_streams import asked_of_all, coarse_stream

NODES = 40
NONE = -1  # no event: the root itself
SMALL = CAWNConfig(neighbors=4, time_dim=6, position_dim=6, heads=2, out_dim=6, dropout=0.0, alpha=3e-3)


def make_stream(events: int = 70, **of_it: int) -> EventStream:
    return coarse_stream(5, NODES, events, unseen=5, **of_it)


def build(stream: EventStream, **changes: Any) -> CAWN:
    torch.manual_seed(3)
    dim = 0 if stream.node_features is None else stream.node_features.shape[1]
    model = CAWN(stream.num_nodes, stream.feature_dim, 70.0, replace(SMALL, node_dim=dim, **changes)).eval()
    model.observe(stream)
    return model


def some_queries(shift: int = 0) -> Queries:
    """More than 200 pairs: sources with and without events, all nodes and some of them twice."""
    return asked_of_all([0, 3, 5, 39, 0], [200, 400, 400, 401, 90_000], NODES, shift)


def plain_walks(model: CAWN, stream: EventStream, node: int, t: int) -> list[tuple[int, int, int, float]]:
    """(other end, event, age, probability) of the last events of a node."""
    past = []
    for i in np.flatnonzero(stream.t < t):  # an event with oneself is seen from both of its ends
        ends = (int(stream.src[i]), int(stream.dst[i]))
        past += [(ends[1 - end], int(i), t - int(stream.t[i])) for end in (0, 1) if ends[end] == node]
    past = past[-model.config.neighbors :]
    likely = [np.exp(-model.config.alpha * age) for *_, age in past]
    return [(*step, float(p / sum(likely))) for step, p in zip(past, likely, strict=True)]


def plain_embedding(model: CAWN, stream: EventStream, u: int, v: int, t: int) -> Tensor:
    """z_u beside v, by torch's own LSTM, walk by walk."""
    walks = {node: plain_walks(model, stream, node, t) for node in (u, v)}
    known = np.zeros((NODES, 1)) if stream.node_features is None else stream.node_features

    def where(node: int) -> Tensor:
        total = torch.zeros(model.config.position_dim)
        for root in (u, v):
            leads = sum(p for other, *_, p in walks[root] if other == node)
            total = total + model.position(torch.tensor([float(node == root), leads]))
        return total

    def step(node: int, event: int, age: int) -> tuple[Tensor, Tensor]:
        psi = torch.ones(()) if event == NONE else model.kernel(torch.tensor([age]))[0, 0]
        message = torch.zeros(stream.feature_dim) if event == NONE else torch.tensor(stream.features[event])
        phi = model.time_encoder(torch.tensor([age]))[0]
        place = where(node)
        return torch.cat(
            (torch.tensor(known[node], dtype=torch.float32), psi * phi, psi * message, place)
        ), place

    rows, weight = [], []
    for other, event, age, likely in walks[u] or [(u, NONE, 0, 1.0)]:
        steps = [step(u, NONE, 0)] + ([] if event == NONE else [step(other, event, age)])
        along, positions = (torch.stack(part)[None] for part in zip(*steps, strict=True))
        read = (model.encoder.walk(along)[0][0, -1], model.encoder.position(positions)[0][0, -1])
        rows.append(model.encoder.join(torch.cat(read)))
        weight.append(likely)
    x, p = torch.stack(rows), torch.tensor(weight)
    layer = model.encoder.among
    q, k, value = (part.view(len(x), layer.heads, -1) for part in layer.project(x[None]))
    scores = torch.einsum("ihd,jhd->hij", q, k) / q.shape[2] ** 0.5
    attention = scores.exp() * p  # of so many equal walks
    attention = attention / attention.sum(dim=2, keepdim=True)
    mixed = torch.einsum("hij,jhd->ihd", attention, value).flatten(1)
    a = layer.norm1(x + layer.out_proj(mixed))
    out = layer.norm2(a + layer.linear2(torch.relu(layer.linear1(a))))
    z: Tensor = model.encoder.output(p @ out)
    return z


@pytest.mark.parametrize(
    ("changes", "features"),
    [({}, (2, 0)), ({"kernel": "laplacian", "alpha": 0.0}, (2, 0)), ({"kernel": "gated"}, (0, 3))],
)
def test_scores_are_the_formulas_pair_by_pair(
    changes: dict[str, Any], features: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = make_stream(features=features[0], node_features=features[1])
    model, queries = build(stream, **changes), some_queries()
    with torch.no_grad():
        plain = torch.empty(queries.shape)
        for i, (u, t) in enumerate(zip(queries.src.tolist(), queries.t.tolist(), strict=True)):
            for j, v in enumerate(queries.candidates.tolist()):
                z_u, z_v = (plain_embedding(model, stream, *ends, t) for ends in ((u, v), (v, u)))
                plain[i, j] = model.decoder(z_u, z_v)[0]
        torch.testing.assert_close(model.score(queries), plain, rtol=1e-4, atol=1e-5)
        monkeypatch.setattr(cawn_model, "PAIRS_AT_ONCE", 17)
        monkeypatch.setattr(cawn_model, "WALKS_AT_ONCE", 10)
        torch.testing.assert_close(model.score(queries), plain, rtol=1e-4, atol=1e-5)


def test_a_node_is_encoded_once_where_nothing_is_in_common() -> None:
    model, queries = build(make_stream()), some_queries().rows(1, 2)
    encoded: list[int] = []
    model.encoder.register_forward_hook(lambda _module, inputs, _out: encoded.append(len(inputs[0])))
    model.score(queries)
    near = {3} | {other for other, *_ in plain_walks(model, make_stream(), 3, 400)}
    meets = sum(
        bool(near & ({v} | {other for other, *_ in plain_walks(model, make_stream(), v, 400)}))
        for v in range(NODES)
    )
    assert 0 < meets < NODES / 2
    assert sum(encoded) == 1 + (NODES - meets) + 2 * meets


def test_occurrences_are_counted_in_the_walks_of_both() -> None:
    """u walks to a, b, a and v to a, c, c."""
    u, v, a, b, c = range(5)
    asked, third = torch.tensor([[a, b, c, u, v, -1]]), torch.full((1, 3), 1 / 3)
    of_u = occurrences(asked, torch.tensor([u]), torch.tensor([[a, b, a]]), third)[0]
    of_v = occurrences(asked, torch.tensor([v]), torch.tensor([[a, c, c]]), third)[0]
    one, two = 1 / 3, 2 / 3
    torch.testing.assert_close(of_u, torch.tensor([[0, two], [0, one], [0, 0], [1, 0], [0, 0], [0, 0]]))
    torch.testing.assert_close(of_v, torch.tensor([[0, one], [0, 0], [0, two], [0, 0], [1, 0], [0, 0]]))


def test_the_laws_of_walks() -> None:
    times = np.array([1, 2, 3])
    dyglib, caw = (walk_weights(times, 1.0, accepted) for accepted in (True, False))
    assert (dyglib / dyglib.sum()).tolist() == pytest.approx([0.4033, 0.3082, 0.2885], abs=5e-5)
    assert (caw / caw.sum()).tolist() == pytest.approx((np.exp([1, 2, 3]) / np.exp([1, 2, 3]).sum()).tolist())
    ten = walk_weights(np.arange(10), 1e-6, True)
    assert ten[[0, -1]] / ten.sum() == pytest.approx([0.195, 0.079], abs=5e-4)
    long = walk_weights(np.array([0, 10**9, 2 * 10**9]), 1.0, True)  # no number is too large or too small
    assert (long / long.sum()).tolist() == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("parity", [True, False])
def test_walks_are_drawn_by_their_law_from_the_whole_past(parity: bool) -> None:
    """Within three standard errors, and only strictly before the time."""
    stream, draws = make_stream(events=400), 20_000
    model = build(stream, walks="drawn", parity=parity, neighbors=draws, alpha=0.01)
    drawn = model.walks(np.array([4]), np.array([300]))
    history = build(stream, neighbors=1000)
    past = plain_walks(history, stream, 4, 300)
    assert len(past) > 10
    weights = walk_weights(stream.t[[event for _, event, *_ in past]], 0.01, parity)
    expected: dict[int, float] = {}
    for (_, event, *_), p in zip(past, weights / weights.sum(), strict=True):
        expected[event] = expected.get(event, 0.0) + p
    found = {event: int((drawn.event == event).sum()) for event in expected}
    assert sum(found.values()) == draws
    for event, p in expected.items():
        assert abs(found[event] / draws - p) < 3.5 * np.sqrt(p * (1 - p) / draws) + 1e-9


def test_the_expected_walks_are_the_mean_of_drawn_ones() -> None:
    """Where all of the past is among the last events: counts, and in the limit scores."""
    stream, queries = make_stream(), some_queries()
    expected = build(stream, neighbors=30)
    nodes, t = np.arange(NODES), np.full(NODES, 400)
    few = build(stream, walks="drawn", neighbors=30)
    walks = expected.walks(nodes, t)
    asked = torch.arange(NODES).expand(NODES, -1)
    g = occurrences(asked, walks.root, walks.other, walks.weight)[..., 1]
    repeats = 60
    mean = torch.zeros_like(g)
    for seed in range(repeats):
        drawn = few.walks(nodes, t, seed)
        mean += occurrences(asked, drawn.root, drawn.other, drawn.weight)[..., 1] / repeats
    error = (g * (1 - g) / (30 * repeats)).clamp(min=0).sqrt()
    z = ((mean - g).abs() / error.clamp(min=1e-9))[g > 0]
    assert (mean[g == 0] == 0).all()
    assert float((z[error[g > 0] > 1e-6] < 3).float().mean()) > 0.985
    asked_about = replace(queries.rows(1, 3), candidates=np.arange(12, dtype=np.int32))
    exact = expected.score(asked_about)
    errors = [
        (build(stream, walks="drawn", neighbors=draws).score(asked_about) - exact).abs().mean()
        for draws in (4, 400)
    ]
    assert errors[1] < errors[0] / 4  # the square root of a hundred is ten


def test_drawn_walks_are_the_same_for_every_candidate_and_every_time_they_are_asked() -> None:
    model, queries = build(make_stream(), walks="drawn", neighbors=3), some_queries()
    together = model.score(queries)
    assert torch.equal(together, model.score(queries))
    for column in (0, 7, 41):
        one = replace(queries, candidates=queries.candidates[column : column + 1])
        torch.testing.assert_close(model.score(one)[:, 0], together[:, column])
    model.train()
    assert not torch.equal(model.score(queries), model.score(queries))  # other walks at every step


@pytest.mark.parametrize("changes", [{}, {"walks": "drawn"}, {"parity": True, "kernel": "rbf"}])
def test_ids_do_not_matter(changes: dict[str, Any]) -> None:
    stream, queries = make_stream(), some_queries()
    name = np.random.default_rng(0).permutation(NODES).astype(np.int32)
    renamed = replace(stream, src=name[stream.src], dst=name[stream.dst])
    asked = replace(queries, src=name[queries.src], candidates=name[queries.candidates])
    torch.testing.assert_close(
        build(stream, **changes).score(queries), build(renamed, **changes).score(asked)
    )


def test_only_ages_count_and_not_when_the_clock_began() -> None:
    for changes in ({"kernel": "laplacian"}, {"walks": "drawn"}):
        there = build(make_stream(shift=1_700_000_000), **changes).score(some_queries(1_700_000_000))
        assert torch.equal(build(make_stream(), **changes).score(some_queries()), there)


def test_the_end_of_a_walk_is_what_an_lstm_says_there() -> None:
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(5, 3, batch_first=True, bidirectional=True)
    steps, without = torch.randn(4, 1 + 6, 5), torch.tensor([False, True, False, True])
    found = at_the_end(lstm, steps, without)
    for row in range(4):
        if without[row]:
            torch.testing.assert_close(found[row, 0], lstm(steps[row, :1][None])[0][0, -1])
            continue
        for walk in range(6):
            both = torch.stack((steps[row, 0], steps[row, 1 + walk]))
            torch.testing.assert_close(found[row, walk], lstm(both[None])[0][0, -1])


def test_parameters_are_those_of_the_reference() -> None:
    model = CAWN(100, 172, 80_111.6, CAWNConfig(node_dim=172))
    parts = {name: sum(p.numel() for p in part.parameters()) for name, part in model.named_children()}
    assert parts["encoder"] == 3_932_732
    assert parts["decoder"] == 59_513
    assert sum(parts.values()) == 3_963_204 + 59_513
    narrow = CAWN(100, 172, 80_111.6, CAWNConfig(out_dim=1))
    assert sum(p.numel() for name, p in narrow.named_parameters() if "decoder" not in name) == 2_140_953


@pytest.mark.parametrize("kernel", ["laplacian", "rbf"])
def test_an_infinite_width_is_the_plain_model_to_the_bit(kernel: str) -> None:
    stream, queries = make_stream(), some_queries()
    plain, wide = build(stream), build(stream, kernel=kernel, width=float("inf"))
    assert torch.equal(plain.score(queries), wide.score(queries))
    assert not torch.equal(plain.score(queries), build(stream, kernel=kernel).score(queries))


def test_learning_and_evaluation_score_alike() -> None:
    model, queries = build(make_stream(), kernel="laplacian"), some_queries()
    learning = model.train().score(queries)
    torch.testing.assert_close(learning, model.eval().score(queries))
    assert learning.requires_grad


@pytest.mark.parametrize("encoder", TIME_ENCODERS)
def test_every_time_encoder_and_kernel_learns(encoder: str) -> None:
    """But for what has no part in walks of one step: backwards, an LSTM is read after its first."""
    stream = make_stream(node_features=3)
    part = stream[40:]
    for kernel in KERNELS:
        model = build(stream, kernel=kernel, time_encoder=encoder, dropout=0.1).train()
        logits = model.score(Queries(part.src, part.t, np.stack((part.dst, part.dst[::-1]), axis=1)))
        logits.square().sum().backward()  # type: ignore[no-untyped-call]
        learning = {key: value for key, value in model.named_parameters() if value.requires_grad}
        silent = [key for key, value in learning.items() if value.grad is None or not value.grad.any()]
        assert silent == [f"encoder.{part}.weight_hh_l0_reverse" for part in ("walk", "position")]
        assert all(torch.isfinite(value.grad).all() for value in learning.values() if value.grad is not None)


def test_a_state_is_kept_to_the_bit() -> None:
    model, queries = build(make_stream(), walks="drawn"), some_queries()
    other = build(make_stream(events=5), walks="drawn")
    other.load_stream_state(model.stream_state())
    assert torch.equal(model.score(queries), other.score(queries))


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(KeatError, match="Unknown kind of walks 'drown'; did you mean 'drawn'"):
        CAWNConfig(walks="drown")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="alpha must be at least 0, not -1"):
        CAWNConfig(alpha=-1.0)
