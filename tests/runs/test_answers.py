"""Questions to runs of every task: what is answered is what the model scores, and nothing else is."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from small_runs import FIT, small_run

import keat
from keat.datasets.payments import simulate_payments
from keat.errors import InputError, KeatError, Notice
from keat.models.contract import EmbedsNodes, LearnedLinkModel, NodeQueries, Queries
from keat.models.node_head import EventHead, EventQueries, NodeHead
from keat.runs import Run

SMALL: dict[str, Any] = {"dim": 8, "neighbors": 3, "epochs": 1, "lr": FIT.lr, "watchers": ()}


def orders(rows: int = 300) -> pa.Table:
    """Text ids, an amount, and a label that is 1 every third time."""
    stream = simulate_payments(rows, seed=1)
    return pa.table(
        {
            "card": [f"C-{node}" for node in stream.src],
            "shop": [f"shop {node}" for node in stream.dst],
            "t": stream.t,
            "amount": stream.features[:, 0],
            "fraud": (np.arange(rows) % 3 == 0).astype(int),
        }
    )


COLUMNS = {"src": "card", "dst": "shop", "time": "t", "features": "amount", "scale": True}


@cache
def folder_of(task: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="keat-test-")) / "run"
    options = {"node-label": {"label": "fraud"}, "node-property": {"period": "week"}}.get(task, {})
    keat.train("keat-tgn", orders(), out=folder, **COLUMNS, **options, **SMALL)  # type: ignore[arg-type]
    return folder


@pytest.fixture
def links() -> Run:
    return keat.open(folder_of("link-ranking"))


@pytest.fixture
def labels() -> Run:
    return keat.open(folder_of("node-label"))


@pytest.fixture
def properties() -> Run:
    return keat.open(folder_of("node-property"))


def test_the_best_are_the_models_best(links: Run, tmp_path: Path) -> None:
    found = links.rank("C-3", top=5)
    scores = found["score"].to_pylist()
    assert scores == sorted(scores, reverse=True)
    now = links.last_time + 1
    source = links.names.find(["C-3"], "src")
    assert isinstance(links.model, LearnedLinkModel)
    everyone = links.model.destinations()
    with torch.no_grad():
        all_scores = links.model.score(Queries(source, np.array([now]), everyone))[0]
    best = torch.topk(all_scores, 5)
    names = [links.names.label(int(everyone[place])) for place in best.indices]
    assert found["destination"].to_pylist() == names
    assert scores == pytest.approx(best.values.tolist())
    lines = "".join(f"C-3,{name}\n" for name in names)
    (tmp_path / "pairs.csv").write_text("u,v\n" + lines)
    again = links.score(tmp_path / "pairs.csv")
    assert again["score"].to_pylist() == pytest.approx(scores, abs=1e-5)
    assert again["destination"].to_pylist() == names


def test_one_several_or_all_sources(links: Run) -> None:
    several = links.rank(["C-3", "C-5"], top=4).to_pylist()
    apart = links.rank("C-3", top=4).to_pylist() + links.rank("C-5", top=4).to_pylist()
    for one, other in zip(several, apart, strict=True):
        assert one == other | {name: pytest.approx(other[name]) for name in ("score", "share")}
    everyone = links.rank(top=1)
    assert set(everyone["source"].to_pylist()) == set(orders()["card"].to_pylist())
    assert isinstance(links.model, LearnedLinkModel)
    assert len(links.rank("C-3", top=10**6)) == len(links.model.destinations())


def test_whole_numbers_are_written_as_such() -> None:
    run = keat.open(small_run("keat-tgn"))
    with pytest.raises(InputError, match="are whole numbers"):
        run.rank("alice")
    assert run.rank("3").table.drop(["source"]).equals(run.rank(3).table.drop(["source"]))


def test_embeddings_are_of_every_node_and_of_its_time(links: Run, labels: Run) -> None:
    for run in (links, labels):
        found = run.embeddings()
        assert found["node"].to_pylist() == [str(run.names.label(node)) for node in range(len(run.names))]
        later = run.embeddings(at=run.last_time + 10**6)
        encoder = run.model.encoder if isinstance(run.model, NodeHead) else run.model
        assert isinstance(encoder, EmbedsNodes)
        nodes = torch.arange(len(run.names))
        with torch.no_grad():
            expected = encoder.embeddings(nodes, torch.full_like(nodes, run.last_time + 10**6))
        np.testing.assert_array_equal(np.array(later["embedding"].to_pylist(), np.float32), expected.numpy())


def test_shares_are_a_softmax_over_the_classes(properties: Run) -> None:
    node = str(properties.names.label(0))
    found = properties.shares(node, top=10**6)
    assert sum(found["share"].to_pylist()) == pytest.approx(1.0, abs=1e-5)
    head = properties.facts.head
    assert head is not None
    assert len(found) == head.size
    query = NodeQueries(np.array([0], dtype=np.int32), np.array([properties.last_time + 1]))
    with torch.no_grad():
        logits = properties.model.score(query)[0]  # type: ignore[arg-type]
    best = torch.topk(torch.softmax(logits, dim=0), 3)
    names = [properties.names.label(head.first_class + int(place)) for place in best.indices]
    assert properties.shares(node, top=3)["node"].to_pylist() == names
    assert properties.shares(node, top=3)["share"].to_pylist() == pytest.approx(best.values.tolist())


def asked_events(run: Run) -> pd.DataFrame:
    """Not in the order of time, and one with a stranger."""
    later = run.last_time + np.array([50, 10, 30, 10])
    return pd.DataFrame(
        {
            "card": [orders()["card"][7].as_py(), "C-3", "nobody", "C-5"],
            "shop": [str(name) for name in orders()["shop"].to_pylist()[:4]],
            "t": later,
            "amount": [1.0, 2.0, 3.0, 400.0],
        }
    )


def test_events_are_scored_in_their_order_with_their_features(labels: Run) -> None:
    frame = asked_events(labels)
    with pytest.warns(Notice, match="new to this run, and answered about as a stranger"):
        found = labels.score(frame)
    assert found["source"].to_pylist() == frame.card.tolist()
    assert found["destination"].to_pylist() == frame.shop.tolist()
    assert found.column_names == ["source", "destination", "time", "score", "probability"]
    model, reading = labels.model, labels.spec.source.reading
    assert isinstance(model, EventHead)
    assert reading.encoding is not None
    (amount,) = reading.encoding.events
    features = ((frame[["amount"]].to_numpy() - amount.mean) / amount.deviation).astype(np.float32)
    src, dst = (
        labels.names.find(frame.card[:2].tolist(), "src"),
        labels.names.find(frame.shop[:2].tolist(), "dst"),
    )
    with torch.no_grad():
        expected = model.score(EventQueries(src, frame.t[:2].to_numpy(), dst, features[:2]))[:, 0]
    assert found["score"].to_pylist()[:2] == pytest.approx(expected.tolist(), rel=1e-5)
    for order in ([3, 1, 0, 2], [1, 3]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Notice)
            again = labels.score(frame.iloc[order])
        assert again["score"].to_pylist() == pytest.approx([found["score"].to_pylist()[k] for k in order])


def test_a_stream_is_scored_as_the_frame_it_was_read_from(links: Run, labels: Run) -> None:
    for run, frame in ((links, asked_events(links)), (labels, asked_events(labels))):
        frame = frame.sort_values("t", kind="stable")
        stream = replace(run.spec.source.reading, label=None).read(frame)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Notice)
            found, expected = run.score(stream), run.score(frame)
        assert found["score"].to_pylist() == pytest.approx(expected["score"].to_pylist(), rel=1e-6)
        assert found["source"].to_pylist() == expected["source"].to_pylist()


def test_what_cannot_be_scored_is_said(labels: Run) -> None:
    frame = asked_events(labels)
    with pytest.raises(InputError, match="up to which the run has seen events"):
        labels.score(frame.assign(t=frame.t - 10**9))
    with pytest.raises(InputError, match="amount"):
        labels.score(frame.drop(columns="amount"))
    with pytest.raises(KeatError, match=r"is no number|large|finite"):
        labels.score(frame.assign(amount=np.inf))


def test_questions_that_belong_to_another_task(links: Run, labels: Run, properties: Run) -> None:
    with pytest.raises(InputError, match="This run scores pairs, so it is asked for destinations"):
        links.shares("C-3")
    with pytest.raises(InputError, match="This run labels events; it does not rank destinations"):
        labels.rank("C-3")
    with pytest.raises(InputError, match="This run labels events, so it is asked about events"):
        labels.shares("C-3")
    pairs = pd.DataFrame({"card": ["C-3"], "shop": ["shop 30"]})
    with pytest.raises(InputError, match="tells how a node divides its next period"):
        properties.rank("C-3")
    with pytest.raises(InputError, match="tells how a node divides its next period"):
        properties.score(pairs)
    for graph in ("dgraphfin.npz", None):
        with pytest.raises(InputError, match="is no run of a whole graph"):
            links.suspects(graph)


def test_strangers_are_answered_about_and_said(links: Run) -> None:
    with pytest.warns(Notice, match="'C-9999' is new to this run"):
        assert len(links.rank("C-9999", top=3)) == 3
