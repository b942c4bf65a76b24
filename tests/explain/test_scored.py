"""Explanations with a pair term: beside the attention of TGN, beside TGAT, and by itself."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from keat.errors import InputError
from keat.explain import Explanation
from keat.explain.asker import Asker
from keat.explain.link_wording import counterfactual, story
from keat.explain.pair_wording import by_width, evidence
from keat.explain.phrases import times
from keat.explain.replay import replay
from keat.explain.run_measures import measure_run
from keat.models.contract import Queries
from keat.models.rank import RankConfig
from keat.models.tgat import TGATConfig
from keat.models.with_pair_term import WithPairTerm
from keat.report.explained.explained_page import page
from keat.report.explained.explained_picture import write_picture
from keat.report.sections.attention_examples import attention_section
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_subject import subject_of
from keat.tasks.link import LinkRanking
from keat.tasks.task_factory import make_task
from trained_runs import payments, small, trained

DAYS = 3 * 86_400
TGN_AND_PAIR = small(pair_term="kernel", pair_widths="learned")
CONFIGS = {
    "keat-tgn": TGN_AND_PAIR,
    "keat-tgat": TGATConfig(kernel="laplacian", layers=1, time_dim=8, out_dim=8, pair_term="rank"),
    "keat-rank": RankConfig(widths="3600,172800", hidden=16, edition=2),
}


@pytest.fixture(scope="module", params=CONFIGS.keys())
def folder(request: pytest.FixtureRequest) -> Path:
    return trained(CONFIGS[request.param])


def test_an_event_is_explained_as_it_was_ranked(folder: Path) -> None:
    """In turn: everything strictly earlier is known, to evaluation and here."""
    data = payments()
    task = make_task(data, "test", kind="link-ranking")
    assert isinstance(task, LinkRanking)
    ranks = evaluate_run(folder, data, task, "test", refresh=1).outcomes
    asker, place = Asker(subject_of(folder), data), 150
    x = asker.event(data.test.offset + place, DAYS)
    assert x.rank == float(ranks[place])
    query = Queries(data.test.src[[place]], data.test.t[[place]], data.test.dst[[place], None])
    assert x.score == pytest.approx(float(asker.model.score(query)), abs=1e-4)
    (worst,) = asker.worst(1, "test", DAYS)
    assert worst.rank == float(ranks.max())


def test_the_parts_of_the_score(folder: Path) -> None:
    asker = Asker(subject_of(folder), payments())
    x = asker.event(1_900, DAYS)
    assert x.pair is not None
    assert x.pair.numbers["met before"] in (0.0, 1.0)
    if x.model["name"] == "keat-rank":
        assert x.score == pytest.approx(x.pair.logit, abs=1e-5)
    else:
        stream = payments().stream
        ask = Queries(stream.src[[1_900]], stream.t[[1_900]], stream.dst[[1_900], None])
        assert isinstance(asker.model, WithPairTerm)
        alone = float(asker.model.encoder.score(ask))
        assert x.score_of_embeddings == pytest.approx(alone, abs=1e-4)


def test_it_is_told_in_words_json_page_and_picture(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    x = Asker(subject_of(folder), payments()).event(1_900, DAYS)
    assert x.pair is not None
    told = json.loads(json.dumps(x.to_json(), allow_nan=False))
    assert told["pair"]["logit"] == x.pair.logit
    assert told["pair"]["remembers"].startswith("remembers about ")
    assert len(told["pair"]["width_effects"]) == len(told["pair"]["widths"])
    text = page(x)
    assert x.pair.remembers(x.unit) in text
    assert evidence(x.pair, x.unit)[0].known in text
    assert ('id="what-if"' in text) == isinstance(x, Explanation)
    assert "$" not in text.replace("${", "")
    assert story(x)
    write_picture(x, tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 10_000


def test_a_report_shows_two_events(folder: Path) -> None:
    section = attention_section(subject_of(folder), payments(), "it")
    assert section.body.count("ranked best: ") == section.body.count("ranked worst: ") == 1
    assert section.body.count("By how long it is remembered") == 2
    assert ("Past events of the source" in section.body) == (folder == trained(TGN_AND_PAIR))


def test_a_report_speaks_of_the_events_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the source, even where one of the destination would tell more."""
    asked: list[Explanation] = []

    def remember(x: Explanation, sides: tuple[int, ...] = (0, 1)) -> str | None:
        asked.append(x)
        return counterfactual(x, sides)

    monkeypatch.setattr("keat.report.sections.attention_examples.counterfactual", remember)
    body = attention_section(subject_of(trained(TGN_AND_PAIR)), payments(), "it").body
    assert len(asked) == 2
    for x in asked:
        found = x.most_telling((0,))
        assert found is not None
        assert f"had the event of {x.source} with {found[1].node}, " in body


def test_a_score_that_only_compares_is_no_probability() -> None:
    x = Asker(subject_of(trained(CONFIGS["keat-rank"])), payments()).event(1_900, DAYS)
    assert "as a probability" in page(x)
    for loss in ("listwise", "stratified"):
        told = page(replace(x, model=x.model | {"loss": loss}))
        assert "as a probability" not in told
        assert f"trained {loss}" in told


def test_known_things_are_said() -> None:
    data = payments()
    asker = Asker(subject_of(trained(CONFIGS["keat-rank"])), data)
    stream = data.stream
    pairs = stream.src[:1500].astype(np.int64) * stream.num_nodes + stream.dst[:1500]
    row = next(
        r for r in range(1500, 2000) if (pairs == stream.src[r] * stream.num_nodes + stream.dst[r]).any()
    )
    x = asker.pair(str(stream.src[row]), str(stream.dst[row]), int(stream.t[row]), DAYS)
    assert x.pair is not None
    past = (stream.t < x.t) & (stream.src == stream.src[row]) & (stream.dst == stream.dst[row])
    known = {one.group: one.known for one in evidence(x.pair, x.unit)}
    assert known["meetings of the pair"].startswith(f"met {times(past.sum())}, last ")
    assert known["identity" if "identity" in known else "recency rank"]
    hour, days = by_width(x.pair, x.unit)
    assert (hour.width, days.width) == ("1 h", "2 days")
    ages = x.t - stream.t[past]
    assert days.meetings == pytest.approx(float(np.exp(-ages / 172_800).sum()), rel=1e-4)
    strangers = asker.pair(str(stream.src[row]), str(stream.src[row]), int(stream.t[row]), DAYS)
    assert strangers.pair is not None
    assert math.isinf(strangers.pair.numbers["age of the last meeting"])
    assert strangers.to_json()["pair"]["numbers"]["age of the last meeting"] is None


def test_a_reason_names_where_the_source_has_been() -> None:
    """And the share is that of the past: of all that followed it, how much was the candidate."""
    asker = Asker(subject_of(trained(CONFIGS["keat-rank"])), payments())
    stream = payments().stream
    explained = (asker.event(row, DAYS) for row in range(1_900, 1_990))
    x = next(x for x in explained if x.pair is not None and x.pair.led is not None)
    assert x.pair is not None
    led, known = x.pair.led, {one.group: one.known for one in evidence(x.pair, x.unit)}
    assert led is not None
    assert f"% of what followed {led.by} within about " in known["item to item"]
    source = next(node for node in range(stream.num_nodes) if asker.names.label(node) == x.source)
    visited = {asker.names.label(int(node)) for node in stream.dst[(stream.src == source) & (stream.t < x.t)]}
    assert led.by in visited
    assert 0 < led.share < 1
    assert json.loads(json.dumps(x.to_json()))["pair"]["led"]["by"] == led.by


def test_ages_changed_in_the_attention_leave_the_pair_term() -> None:
    """Every what-if is that of the attention, higher by the pair's logit."""
    x = Asker(subject_of(trained(TGN_AND_PAIR)), payments()).event(1_900, DAYS)
    assert isinstance(x, Explanation)
    assert x.pair is not None
    end = x.ends[0]
    assert end.neighbors
    assert x.deletion.most_attended_first[0] == pytest.approx(x.score, abs=1e-4)
    assert x.deletion.most_attended_first[-1] == pytest.approx(x.score_without_past, abs=1e-4)
    assert x.score_of_memory + x.pair.logit == pytest.approx(x.score_without_past)
    far = [n.score_if_older for n in end.neighbors] + end.recomputed_score[0]
    assert max(abs(score - x.score) for score in far) < 5.0


def test_what_needs_attention_says_so() -> None:
    data = payments()
    asker = Asker(subject_of(trained(CONFIGS["keat-rank"])), data)
    with pytest.raises(InputError, match="keat-rank attends to no past event"):
        replay(asker, asker.event(1_900, DAYS))
    with pytest.raises(InputError, match="no attention to read in a keat-rank"):
        measure_run(subject_of(trained(CONFIGS["keat-rank"])), data)
    assert measure_run(subject_of(trained(TGN_AND_PAIR)), data).faithfulness > 0
