"""keat-rank with the features of past events: on where they are named, exact, and of use where they tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import keat
from every_model import reads_features
from keat.events import EventStream
from keat.events.units import clock_of
from keat.explain.pair_wording import evidence, known_of
from keat.models.contract import LinkModel, Queries
from keat.models.pair_explanation import FEATURES
from keat.models.rank import KeatRank, RankConfig
from keat.models.registry import build_model
from keat.runs.spec import RunSpec, SourceSpec

NODES = 15
READS = RankConfig(edition=2, feature_means=True)


def make_stream(seed: int, events: int = 200, features: int = 2) -> EventStream:
    rng = np.random.default_rng(seed)
    return EventStream.from_arrays(
        rng.integers(0, NODES, events),
        rng.integers(0, NODES, events),
        np.sort(rng.integers(0, 90, events)),
        rng.normal(3.0, 2.0, (events, features)),
        num_nodes=NODES,
    )


def everyone() -> np.ndarray:
    return np.arange(NODES, dtype=np.int32)


def at(model: KeatRank, now: int) -> torch.Tensor:
    with torch.no_grad():
        return model.score(Queries(everyone(), np.full(NODES, now), everyone()))


@pytest.mark.parametrize("shared", [True, False])
def test_in_turn_equals_the_plain_loop(shared: bool) -> None:
    stream, rng = make_stream(1), np.random.default_rng(1)
    history, block = stream[:100], stream[100:]
    own = rng.integers(0, NODES, (len(block), 3)).astype(np.int32)
    queries = [Queries(block.src, block.t, everyone() if shared else own)]
    quick, plain = reads_features(stream), reads_features(stream)
    for model in (quick, plain):
        model.observe(history)
    with torch.no_grad():
        (ours,), (wanted,) = (
            quick.score_in_turn(queries, block),
            LinkModel.score_in_turn(plain, queries, block),
        )
    torch.testing.assert_close(ours, wanted)
    assert torch.equal(at(quick, 95), at(plain, 95))


@pytest.mark.parametrize("widths", ["geometric", "learned"])
def test_a_kept_state_goes_on_to_the_bit(widths: str) -> None:
    stream = make_stream(2)
    one, other = (build_model(stream, replace(READS, widths=widths)) for _ in range(2))
    for model in (one, other):
        torch.nn.init.ones_(model.term.said_of_pair.weight)
    one.observe(stream[:120])
    other.load_stream_state(one.stream_state())
    for model in (one, other):
        model.observe(stream[120:])
    assert torch.equal(at(one, 95), at(other, 95))
    one.reset()
    assert not torch.equal(at(one, 95), at(other, 95))


def test_training_begins_as_without_features() -> None:
    stream = make_stream(3)
    with_them, without = (
        build_model(stream, config) for config in (READS, replace(READS, feature_means=False))
    )
    for model in (with_them, without):
        model.observe(stream)
    assert torch.equal(at(with_them, 95), at(without, 95))
    assert without.said is None
    assert build_model(make_stream(3, features=0), READS).said is None


def test_units_of_features_do_not_matter() -> None:
    """What is usual is that of training, whatever the feature is measured in."""
    stream = make_stream(4)
    scaled = replace(stream, features=stream.features * np.float32(1024.0))
    ours, theirs = reads_features(stream), reads_features(scaled)
    ours.observe(stream)
    theirs.observe(scaled)
    torch.testing.assert_close(at(ours, 95), at(theirs, 95))


def test_moments_in_another_unit_are_the_same() -> None:
    stream = make_stream(5)
    fine = replace(stream, t=stream.t * 1_000, unit="ms")
    assert clock_of("ms", "s").divide == 1_000
    ours, theirs = reads_features(stream), reads_features(fine)
    ours.observe(stream)
    theirs.observe(fine)
    torch.testing.assert_close(at(ours, 95), at(theirs, 95_000))


def test_it_learns_what_only_features_tell() -> None:
    """Each source turns away from a destination that once said something bad, and nothing else tells."""
    rng = np.random.default_rng(0)
    src, dst, said = rng.integers(0, 5, 1_200), [], []
    good = {u: 5 + int(rng.integers(0, 10)) for u in range(5)}
    for u in src.tolist():
        dst.append(good[u])
        said.append(1.0 if rng.random() < 0.7 else -1.0)
        if said[-1] < 0:
            good[u] = 5 + int(rng.integers(0, 10))
    stream = EventStream.from_arrays(src, dst, np.arange(1_200) * 3, np.array(said)[:, None], num_nodes=NODES)
    right = {}
    for on in (True, False):
        torch.manual_seed(0)
        model = build_model(stream[:800], replace(READS, feature_means=on)).train()
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        for _ in range(4):
            model.reset()
            for block in stream[:800].blocks(50):
                (logits,) = model.score_in_turn([Queries(block.src, block.t, everyone())], block)
                loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(block.dst).long())
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        model.eval()
        test = stream[800:]
        with torch.no_grad():
            (logits,) = model.score_in_turn([Queries(test.src, test.t, everyone())], test)
        right[on] = torch.nn.functional.cross_entropy(logits, torch.from_numpy(test.dst).long()).item()
    assert right[True] < right[False] - 0.1


def test_an_explanation_has_what_was_said() -> None:
    stream = make_stream(6)
    model = reads_features(stream)
    model.observe(stream)
    u, v, t = int(stream.src[-1]), int(stream.dst[-1]), int(stream.t[-1]) + 4
    told = model.explain_pair(u, v, t)
    ask = Queries(np.array([u], np.int32), np.array([t]), np.array([v], np.int32))
    assert told.logit == pytest.approx(model.score(ask).item(), rel=1e-5)
    assert tuple(told.effects)[-1] == FEATURES
    assert told.effects[FEATURES] != 0.0
    of_pair = next(one for one in told.said if one.of == "of the pair" and one.feature == 1)
    among = (stream.src == u) & (stream.dst == v)
    weights = np.exp(-(t - stream.t[among]) / model.past.widths[model.past.nearest_kernel])
    mean = (weights * stream.features[among, 0]).sum() / weights.sum()
    assert of_pair.mean == pytest.approx(mean, rel=1e-4)
    assert of_pair.usual == pytest.approx(stream.features[:, 0].mean(), rel=1e-5)
    assert known_of(told, "s").keys() == told.effects.keys()
    words = next(one.known for one in evidence(told, "s") if one.group == FEATURES)
    assert words.startswith(f"lately feature {told.said[0].feature} {told.said[0].of} was")


def test_it_is_usual_where_features_are_named(tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    stream = make_stream(7, features=1)
    rows = zip(stream.src, stream.dst, stream.t, stream.features[:, 0], strict=True)
    file.write_text("src,dst,t,rating\n" + "".join(f"{u},{v},{t},{f:.2f}\n" for u, v, t, f in rows))
    keat.train("keat-rank", str(file), out=tmp_path / "named", epochs=1, hidden=8, features=["rating"])
    run = keat.open(tmp_path / "named")
    assert reads_means(run.spec)
    assert isinstance(run.model, KeatRank)
    assert run.model.said is not None
    assert any(name.startswith("said.") for name in run.model.stream_state())
    assert not reads_means(RunSpec.of("keat-rank", source=SourceSpec(str(file))))
    named = replace(SourceSpec(), reading=run.spec.source.reading)
    assert not reads_means(RunSpec.of("keat-rank", source=named, settings={"feature_means": False}))


def reads_means(spec: RunSpec) -> bool:
    assert isinstance(spec.config, RankConfig)
    return spec.config.feature_means
