"""A pair term beside TGN and TGAT: the two logits are added, each fresh, kept, and learning."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from every_model import with_pair_term
from keat.clock import PLAIN
from keat.datasets.loading import Dataset
from keat.datasets.payments import simulate_payments
from keat.errors import InputError, UnknownNameError
from keat.events import EventStream
from keat.models.contract import LinkModel, Queries
from keat.models.node_head import NodeHead
from keat.models.registry import add_head, assemble, build_model, trains_in_turn
from keat.models.tgat import TGATConfig
from keat.models.tgn import TGN, TGNConfig
from keat.models.with_pair_term import WithPairTerm
from keat.runs.run_file import read_run_file
from keat.runs.run_model import open_model, train_run
from keat.runs.spec import RunSpec, configuration
from keat.training.fit import FitConfig

NODES = 30
TGN_SMALL = TGNConfig(kernel="laplacian", dim=16, neighbors=4)
CONFIGS: dict[str, Any] = {
    "tgn": TGN_SMALL,
    "tgn, Δ from the query": replace(TGN_SMALL, delta="query"),
    "tgat": TGATConfig(kernel="laplacian", layers=1, neighbors=4, time_dim=8, out_dim=8),
}
every_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())


def make_stream(seed: int = 0, events: int = 300) -> EventStream:
    rng = np.random.default_rng(seed)
    return EventStream.from_arrays(
        rng.integers(0, NODES, events),
        rng.integers(0, NODES, events),
        np.sort(rng.integers(0, 200, events)) * 100,
        rng.standard_normal((events, 3), dtype=np.float32),
        num_nodes=NODES,
    )


def questions(stream: EventStream, shared: bool) -> Queries:
    everyone = np.arange(NODES, dtype=np.int32)
    candidates = everyone if shared else np.tile(everyone, (len(stream), 1))
    return Queries(stream.src, np.full(len(stream), 19_950), candidates)


@every_config
def test_no_pair_term_is_the_model_as_it_was(config: Any) -> None:
    stream = make_stream()
    plain, added = build_model(stream, config), build_model(stream, replace(config, pair_term="kernel"))
    assert type(plain).__name__ in ("TGN", "TGAT")
    for name, value in plain.state_dict().items():  # the term takes nothing from the encoder's randomness
        if not name.startswith(("predictor.lin_final", "decoder.fc2")):
            assert torch.equal(value, added.encoder.state_dict()[name])
    for model in (plain, added):
        model.observe(stream)
    queries = questions(stream[:5], shared=True)
    with torch.no_grad():  # untrained, the embeddings have no say yet
        torch.testing.assert_close(added.score(queries), added.pair.score(queries))


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("shared", [False, True])
@every_config
def test_the_score_is_the_sum_of_both(config: Any, shared: bool, training: bool) -> None:
    stream = make_stream()
    model = with_pair_term(replace(config, dropout=0.0), stream).train(training)
    model.observe(stream)
    queries = questions(stream[:6], shared)
    with torch.no_grad():
        alone = model.encoder.score(queries), model.pair.score(queries)
        torch.testing.assert_close(model.score(queries), alone[0] + alone[1])
    assert min(part.std() for part in alone) > 1e-3


@every_config
def test_in_turn_equals_the_plain_loop(config: Any) -> None:
    stream = make_stream()
    history, block = stream[:150], stream[150:]
    queries = [Queries(block.src, block.t, np.arange(NODES, dtype=np.int32))]
    quick, plain = with_pair_term(config, stream), with_pair_term(config, stream)
    for model in (quick, plain):
        model.observe(history)
    with torch.no_grad():
        (ours,), (wanted,) = (
            quick.score_in_turn(queries, block),
            LinkModel.score_in_turn(plain, queries, block),
        )
    torch.testing.assert_close(ours, wanted, rtol=1e-4, atol=1e-5)


@every_config
def test_in_training_no_event_is_known_before_its_time(config: Any) -> None:
    """The block that is learned from is known to its own questions only where it is strictly earlier."""
    stream = make_stream()
    block = stream[150:200]
    middle = int(block.t[25])
    cut = int(np.searchsorted(block.t, middle))
    dst = block.dst.copy()
    dst[cut:] = (dst[cut:] + 7) % NODES
    changed = EventStream.from_arrays(block.src, dst, block.t, block.features, num_nodes=NODES)
    queries = Queries(block.src, block.t, np.tile(np.arange(NODES, dtype=np.int32), (len(block), 1)))
    scores = []
    for events in (block, changed):
        model = with_pair_term(replace(config, dropout=0.0), stream).train()
        model.observe(stream[:150])
        scores.append(model.score_in_turn([queries], events)[0].detach())
    known = block.t <= middle
    assert torch.equal(scores[0][known], scores[1][known])
    assert not torch.equal(scores[0][~known], scores[1][~known])


def test_tgn_is_trained_as_it_is_alone() -> None:
    """Steps with the pair's logits held at zero leave TGN's parameters and memory where they would be."""
    stream = make_stream()
    alone = build_model(stream, TGN_SMALL).train()
    beside = with_pair_term(TGN_SMALL, stream).train()
    torch.nn.init.zeros_(beside.pair.term.lin_out.weight)
    torch.nn.init.zeros_(beside.pair.term.lin_out.bias)
    for parameter in beside.pair.parameters():
        parameter.requires_grad_(False)
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in (alone, beside)]
    for block in stream.blocks(50):
        queries = Queries(block.src, block.t, np.stack((block.dst, block.dst[::-1]), axis=1))
        torch.manual_seed(1)
        first = alone.score(queries)
        torch.manual_seed(1)
        (second,) = beside.score_in_turn([queries], block)
        assert torch.equal(first, second)
        for logits, optimizer in zip((first, second), optimizers, strict=True):
            optimizer.zero_grad()
            logits.square().mean().backward()
        alone.observe(block)
        for optimizer in optimizers:
            optimizer.step()
    alone.eval()
    beside.eval()
    assert isinstance(beside.encoder, TGN)
    assert torch.equal(alone.state.memory, beside.encoder.state.memory)
    assert all(
        torch.equal(one, alone.state_dict()[name]) for name, one in beside.encoder.state_dict().items()
    )


@every_config
def test_every_parameter_learns(config: Any) -> None:
    stream = make_stream()
    model = with_pair_term(replace(config, pair_widths="learned"), stream).train()
    assert model.pair.term.mix is not None
    model.observe(stream[:200])
    block = stream[200:]
    queries = Queries(block.src, block.t, np.stack((block.dst, block.dst[::-1]), axis=1))
    loss = model.score_in_turn([queries], block)[0].square().sum()
    loss.backward()  # type: ignore[no-untyped-call]
    silent = [name for name, value in model.named_parameters() if value.grad is None or not value.grad.any()]
    assert silent == []


@every_config
def test_state_goes_on_from_a_checkpoint_to_the_same_bits(config: Any) -> None:
    stream = make_stream()
    one, other = with_pair_term(config, stream), with_pair_term(config, stream)
    one.observe(stream[:200])
    other.load_stream_state({name: value.clone() for name, value in one.stream_state().items()})
    assert other.last_time() == one.last_time() == int(stream.t[199])
    assert set(other.destinations()) == set(stream.dst[:200])
    for model in (one, other):
        model.observe(stream[200:])
    queries = questions(stream[-5:], shared=True)
    with torch.no_grad():
        assert torch.equal(one.score(queries), other.score(queries))


FAST = FitConfig(epochs=2, lr=3e-3, loss="listwise", negatives=5, seed=7)


@pytest.mark.parametrize("name", ["keat-tgn", "keat-tgat"])
def test_training_in_two_goes_equals_one(name: str, tmp_path: Path) -> None:
    data = Dataset(simulate_payments(1_500, seed=1))
    config = replace(CONFIGS["tgn" if name == "keat-tgn" else "tgat"], pair_term="kernel")
    whole = train_run(RunSpec(name, config, FAST), data, tmp_path / "whole").reports
    train_run(RunSpec(name, config, replace(FAST, epochs=1)), data, tmp_path / "parts")
    rest = train_run(RunSpec(name, config, FAST), data, tmp_path / "parts", resume=True).reports
    assert (rest[-1].loss, rest[-1].val) == (whole[-1].loss, whole[-1].val)
    one, other = (
        open_model(tmp_path / folder, read_run_file(tmp_path / folder)) for folder in ("whole", "parts")
    )
    assert isinstance(one, WithPairTerm)
    for mine, theirs in ((one.state_dict(), other.state_dict()), (one.stream_state(), other.stream_state())):
        assert all(torch.equal(value, theirs[key]) for key, value in mine.items())


def test_it_is_asked_as_it_is_trained() -> None:
    assert trains_in_turn(replace(TGN_SMALL, pair_term="kernel"))
    assert not trains_in_turn(TGN_SMALL)
    assert trains_in_turn(CONFIGS["tgat"])


def test_what_does_not_go() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'kernel'"):
        assemble(replace(TGN_SMALL, pair_term="kernal"), 3, 0, 1.0, PLAIN)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="leave it out"):
        add_head(with_pair_term(TGN_SMALL, make_stream()), NodeHead, 3)
    with pytest.raises(InputError, match="graphmixer has no setting 'pair_term'"):
        configuration("graphmixer", pair_term="kernel")


def test_a_run_older_than_the_setting_goes_on(tmp_path: Path) -> None:
    data = Dataset(simulate_payments(1_500, seed=1))
    train_run(RunSpec("keat-tgn", TGN_SMALL, replace(FAST, epochs=1)), data, tmp_path)
    about = json.loads((tmp_path / "run.json").read_text())
    del about["spec"]["config"]["pair_term"], about["spec"]["config"]["pair_widths"]
    (tmp_path / "run.json").write_text(json.dumps(about))
    assert isinstance(open_model(tmp_path, read_run_file(tmp_path)), TGN)
    with pytest.raises(InputError, match="different config"):
        train_run(
            RunSpec("keat-tgn", replace(TGN_SMALL, pair_term="kernel"), FAST), data, tmp_path, resume=True
        )
    (second,) = train_run(RunSpec("keat-tgn", TGN_SMALL, FAST), data, tmp_path, resume=True).reports
    assert second.epoch == 2
