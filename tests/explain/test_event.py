"""Explanations of runs that label events: the score is the evaluation's, and every part is what the model
says with its input replaced."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

import keat
from keat.errors import InputError, Notice, UnknownNameError
from keat.events import Reading
from keat.explain import EventExplanation, Part
from keat.explain.event import NOBODY
from keat.explain.event_wording import instead, known
from keat.explain.label_asker import LabelAsker
from keat.models.node_head import CountingEventHead, EventHead, EventQueries
from keat.models.registry import build_model
from keat.models.tgn import TGN, TGNConfig
from keat.report.explained.explained_page import page
from keat.report.explained.explained_picture import write_picture
from keat.runs import Run
from keat.runs.run_subject import asker_of, data_for, label_subject_of
from labelled_runs import FEATURES, labelled, opened, payments

MODELS = ["tgn", "keat-tgn", "tgat", "graphmixer"]
LATER = {"amount": 250.0, "channel": "online"}


@pytest.fixture(scope="module", params=MODELS)
def run(request: pytest.FixtureRequest) -> Run:
    return opened(request.param)


def asker(run: Run) -> LabelAsker:
    data = run.open_data()
    assert isinstance(data, keat.Dataset)
    found = asker_of(run, data)
    assert isinstance(found, LabelAsker)
    return found


def event_of(asker: LabelAsker, row: int) -> EventQueries:
    stream, one = asker.require_data().stream, slice(row, row + 1)
    return EventQueries(stream.src[one], stream.t[one], stream.dst[one], stream.features[one])


def part_of(x: EventExplanation, kind: str, name: str | None = None) -> Part:
    (found,) = [part for part in x.parts if part.kind == kind and name in (None, part.name)]
    return found


@pytest.mark.parametrize("split", ["val", "test"])
def test_the_score_is_that_of_evaluation(run: Run, split: str) -> None:
    """In the state of its block of 200, also within one."""
    scores, who = run.evaluate(split=split).outcomes, asker(run)
    offset = who.require_data().part(split).offset
    for place in (0, 30, len(scores) - 1):
        assert who.event(offset + place).score == pytest.approx(float(scores[place]), abs=1e-5)


def test_the_worst_have_the_highest_scores(run: Run) -> None:
    scores = run.evaluate().outcomes
    found = list(asker(run).worst(4, "test"))
    assert [x.score for x in found] == pytest.approx(
        scores.sort(descending=True).values[:4].tolist(), abs=1e-5
    )
    assert [x.place for x in found] == [(k, len(scores)) for k in (1, 2, 3, 4)]
    frame = payments().sort_values("when", kind="stable", ignore_index=True)
    for x in found:
        assert x.row is not None
        assert (x.source, x.truth) == (frame.card[x.row], frame.is_fraud[x.row])


def test_features_are_put_at_their_usual_values(run: Run) -> None:
    """0 where they are scaled, the most frequent kind of others. What is usual already is no part."""
    who = asker(run)
    row, usual = (next(r for r in range(800, 900) if payments().channel[r] == c) for c in ("online", "chip"))
    assert "channel" not in {part.name for part in who.event(usual).parts}
    x, queries = who.event(row), event_of(who, row)
    train = payments()[: who.require_data().val.offset]
    amount, channel = x.features
    assert amount.name == "amount"
    assert amount.value == pytest.approx(payments().amount[row], rel=1e-4)
    assert amount.usual == pytest.approx(train.amount.mean(), rel=1e-4)
    assert (channel.value, channel.usual) == (payments().channel[row], "chip")
    assert (amount.usual_is, channel.usual_is) == (
        "the mean of training",
        "the most frequent of the training events",
    )
    categories = who.subject.columns[1].categories
    assert categories is not None
    chip = [float(kind == "chip") for kind in (*categories, "another kind")]
    for column, place, numbers in (("amount", slice(0, 1), [0.0]), ("channel", slice(1, None), chip)):
        features = queries.features.copy()
        features[0, place] = numbers
        changed = float(who.model.score(EventQueries(queries.node, queries.t, queries.other, features)))
        part = part_of(x, "feature", column)
        assert part.score == pytest.approx(changed, abs=1e-5)
        assert part.effect == pytest.approx(x.score - changed, abs=1e-5)


def counted(who: LabelAsker, queries: EventQueries, rows: list[list[float]], monkeypatch: Any) -> float:
    """The score, had the counts of source, destination and pair been these."""
    assert isinstance(who.model, CountingEventHead)
    with monkeypatch.context() as patch:
        patch.setattr(who.model.counts, "describe", lambda *_: np.array(rows).reshape(1, -1))
        return float(who.model.score(queries))


def test_counts_are_those_of_newcomers(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    who, frame = asker(run), payments()
    pairs = list(zip(frame.card, frame.shop, strict=True))
    met = next(row for row in range(800, 900) if pairs[row] in pairs[:765])
    apart = next(row for row in range(800, 900) if pairs[row] not in pairs[:row])
    new = [1.0, 0.0, 0.0, 0.0]
    for row in (met, apart):
        x, queries = who.event(row), event_of(who, row)
        assert isinstance(who.model, CountingEventHead)
        source, destination, _ = (
            who.model.counts.describe(queries.node, queries.other, queries.t).reshape(3, 4).tolist()
        )
        once = [0.0, float(np.log(2)), source[2], source[2]]
        for kind, rows in {
            "source": [new, destination, new],
            "destination": [source, new, new],
            "pair": [source, destination, new if row == met else once],
        }.items():
            expected = counted(who, queries, rows, monkeypatch)
            assert part_of(x, kind).score == pytest.approx(expected, abs=1e-5)
        before = frame[: x.observed]
        assert x.met["source"].count == (before.card == x.source).sum()
        mine = before[(before.card == x.source) & (before.shop == x.destination)]
        assert x.met["pair"].count == len(mine)
        assert x.met["pair"].last == (x.t - mine.when.max() if len(mine) else None)
        said = instead(x, part_of(x, "pair"))
        assert said.startswith("never" if row == met else "once, ")
        assert known(x, part_of(x, "pair")).startswith("never" if row == apart else "")


def test_the_past_is_that_of_a_stranger(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    who, row = asker(run), 820
    x, queries = who.event(row), event_of(who, row)
    model, ask = who.model, who.model.encoder.embeddings
    beyond = 5_000 if isinstance(model.encoder, TGN) else NOBODY
    for place, kind in enumerate(("past of the source", "past of the destination")):

        def otherwise(nodes: torch.Tensor, t: torch.Tensor, place: int = place) -> torch.Tensor:
            nodes = nodes.clone()
            nodes[place] = beyond
            return ask(nodes, t)

        with monkeypatch.context() as patch:
            patch.setattr(model.encoder, "embeddings", otherwise)
            expected = float(model.score(queries))
        assert part_of(x, kind).score == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("model", ["tgn", "keat-tgn"])
def test_past_events_are_taken_out_of_the_attention(model: str) -> None:
    who = asker(opened(model))
    pairs = list(zip(payments().card, payments().shop, strict=True))
    row = next(row for row in range(800, 900) if pairs[row] in pairs[700:765])
    x, queries = who.event(row), event_of(who, row)
    encoder = who.model.encoder
    assert isinstance(encoder, TGN)
    assert x.past
    assert [abs(one.effect) for one in x.past] == sorted((abs(one.effect) for one in x.past), reverse=True)
    ring = encoder.state._recent.ring.clone()
    for one in x.past:
        assert one.row is not None
        assert {one.end, one.other} == set(pairs[one.row])
        happened = int(who.require_data().stream.t[one.row])
        number = next(
            int(event)
            for event in ring[queries.node[0]].tolist() + ring[queries.other[0]].tolist()
            if event >= 0
            and int(encoder.state._log.t[event]) == happened
            and {who.ids.label(int(end[event])) for end in (encoder.state._log.src, encoder.state._log.dst)}
            == {one.end, one.other}
        )
        encoder.state._recent.ring = torch.where(ring == number, -1, ring)
        assert one.score == pytest.approx(float(who.model.score(queries)), abs=1e-5)
    encoder.state._recent.ring = ring
    assert x.past[0].effect == pytest.approx(x.score - x.past[0].score)


def test_parts_are_sorted_and_do_not_claim_to_add_up(run: Run) -> None:
    x = asker(run).event(850)
    effects = [abs(part.effect) for part in x.parts]
    assert effects == sorted(effects, reverse=True)
    assert all(part.effect == pytest.approx(x.score - part.score) for part in x.parts)
    assert "need not add up" in page(x)


def test_explaining_changes_nothing(run: Run) -> None:
    """With a dataset nor without, in what the run has seen nor in what it answers."""
    before = {name: value.clone() for name, value in run.model.stream_state().items()}
    asked = payments()[-3:].assign(when=payments().when.max() + 60)
    answers = run.score(asked)["score"]
    asker(run).event(850)
    first = run.explain("C-003", "shop 3", features=LATER)
    again = run.explain("C-003", "shop 3", features=LATER)
    assert first.to_json() == again.to_json()
    after = run.model.stream_state()
    assert before.keys() == after.keys()
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    assert run.score(asked)["score"].equals(answers)


def test_an_event_to_come(run: Run) -> None:
    when = int(payments().when.max()) + 600
    x = run.explain("C-003", "shop 3", at=when, features=LATER)
    assert isinstance(x, EventExplanation)
    asked = payments()[:1].assign(card="C-003", shop="shop 3", when=when, **LATER)
    scored = run.score(asked)
    assert x.score == pytest.approx(scored["score"][0].as_py(), abs=1e-5)
    assert x.probability == pytest.approx(scored["probability"][0].as_py(), abs=1e-5)
    assert (x.row, x.truth, x.usual, x.dataset) == (None, None, None, None)
    assert x.why.startswith("C-003 → shop 3 has the label is_fraud with a probability of ")
    with pytest.warns(Notice, match="new to this run"):
        stranger = run.explain("somebody", "nowhere", features=LATER)
    assert isinstance(stranger, EventExplanation)
    assert (stranger.source, stranger.destination) == ("somebody", "nowhere")
    assert stranger.why.endswith("somebody, and nowhere were never seen before.")
    assert {part.kind for part in stranger.parts} == {"feature"}


def test_features_are_given_by_name() -> None:
    run = opened("tgn")
    with pytest.raises(UnknownNameError, match="did you mean 'amount'"):
        run.explain("C-003", "shop 3", features={"amuont": 1.0})
    with pytest.raises(InputError, match="also has channel; give all of its features"):
        run.explain("C-003", "shop 3", features={"amount": 1.0})
    with pytest.raises(InputError, match=r"reads features of an event \(amount, channel\)"):
        run.explain("C-003", "shop 3")
    with pytest.raises(InputError, match="The event, column 'amount', data row 1: 'much' is not a number"):
        run.explain("C-003", "shop 3", features=LATER | {"amount": "much"})
    with pytest.raises(InputError, match="labels events, which have no other candidates"):
        run.explain("C-003", "shop 3", features=LATER, against="shop 4")
    x = run.explain("C-003", "shop 3", features=LATER | {"channel": "by post"})
    assert isinstance(x, EventExplanation)
    assert x.features[1].value == "another kind"


def test_without_scales_the_mean_is_of_the_events_at_hand(tmp_path: Any) -> None:
    """And features of a stream in memory are numbered."""
    stream = keat.load(
        payments(),
        src="card",
        dst="shop",
        time="when",
        label="is_fraud",
        features=["amount"],
        unit="s",
    ).stream
    run = keat.train(
        "tgat",
        stream,
        out=tmp_path / "run",
        task="node-label",
        epochs=1,
        watchers=[],
        neighbors=3,
        layers=1,
        out_dim=8,
        time_dim=8,
    )
    kept = run.explain("C-003", "shop 3", features={"feature 1": 50.0})
    assert isinstance(kept, EventExplanation)
    (feature,) = kept.features
    assert feature.usual == pytest.approx(payments().amount.mean(), rel=1e-4)
    assert feature.usual_is == "the mean of the 900 events the run keeps"
    found = asker_of(run, keat.load(stream))
    assert isinstance(found, LabelAsker)
    (feature,) = found.event(880).features
    assert feature.usual == pytest.approx(payments().amount[:630].mean(), rel=1e-4)
    assert feature.usual_is == "the mean of the training events"


def test_a_head_without_counts_has_none_to_tell() -> None:
    who = asker(opened("tgn", counts=False))
    x = who.event(850)
    assert x.met == {}
    assert {part.kind for part in x.parts} <= {"feature", "past of the source", "past of the destination"}
    assert "counts" not in page(x)


def test_numbers_picture_and_page(run: Run, tmp_path: Any) -> None:
    (x,) = asker(run).worst(1, "test")
    told = json.loads(json.dumps(x.to_json(), allow_nan=False))
    assert next(iter(told)) == "why"
    assert [part["kind"] for part in told["parts"]] == [part.kind for part in x.parts]
    assert x.usual == pytest.approx(payments().is_fraud[:630].mean())
    text = page(x)
    assert "$" not in text
    assert "<script" not in text
    assert text.index('class="why"') < text.index('class="tiles"')
    assert x._repr_html_().startswith("<iframe")
    write_picture(x, tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 10_000


def test_data_are_read_as_those_of_training() -> None:
    """Its columns need not be named again; where they are, scales and kinds stay those of training."""
    run = opened("tgn")
    assert run.spec.source.name is not None
    plain = data_for(run, run.spec.source.name, Reading())
    named = data_for(
        run,
        run.spec.source.name,
        Reading.of(src="card", dst="shop", time="when", unit="s", **FEATURES),
    )
    assert np.array_equal(plain.stream.features, named.stream.features)
    assert named.stream.labels is not None
    assert LabelAsker(asker(run).subject, named).trained_on_this


def test_runs_of_node_properties_are_refused(tmp_path: Any) -> None:
    frame = payments().drop(columns=["is_fraud", "amount", "channel"])
    options: dict[str, Any] = {
        "src": "card",
        "dst": "shop",
        "time": "when",
        "unit": "s",
        "dim": 8,
        "neighbors": 3,
    }
    shares = keat.train("tgn", frame, out=tmp_path / "s", period="day", epochs=1, watchers=[], **options)
    with pytest.raises(InputError, match="asked for such shares; explanations are of scores of links and of"):
        shares.explain("C-003", "shop 3")
    links = keat.train("tgn", frame, out=tmp_path / "l", epochs=1, watchers=[], **options)
    with pytest.raises(InputError, match="scores pairs, which have no features"):
        links.explain("C-003", "shop 3", features={"amount": 3.0})
    assert " ranks " in links.explain("C-003", "shop 3").why


def test_the_folder_of_a_labelled_run_stays_as_it_was() -> None:
    folder = labelled("tgn")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    opened("tgn").explain("C-003", "shop 3", features=LATER)
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_model_that_keeps_no_events_is_explained_with_a_dataset_only() -> None:
    run = opened("tgn")
    assert isinstance(run.model, EventHead)
    stream = asker(run).require_data().train
    encoder = build_model(stream, TGNConfig(dim=8, pair_term="rank"))
    subject = label_subject_of(run, EventHead(encoder, stream.feature_dim))
    with pytest.raises(InputError, match="keeps no events to compare with; explain with the dataset"):
        LabelAsker(subject)
    assert LabelAsker(subject, run.open_data()).usual is not None  # type: ignore[arg-type]
