"""`keat explain` of runs that label events: from an event of a file to a sentence, a page and a picture."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import assert_fails, keat

from labelled_runs import file, labelled, opened


def test_an_event_of_the_file(tmp_path: Path) -> None:
    """Read as in training, without naming its columns again."""
    ran = keat("explain", labelled("tgn"), file(), "--event", "850", "--out", tmp_path)
    assert ran.code == 0, ran
    said = " ".join(ran.out.split())
    assert " has the label is_fraud with a probability of " in said.partition(" scored ")[0]
    for words in (
        "What each part is worth",
        "amount",
        "Past events that were looked at",
        "What matters most",
    ):
        assert words in said
    assert (tmp_path / "explanation-1.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "explanation-1.png").stat().st_size > 10_000


@pytest.mark.parametrize("model", ["tgn", "tgat", "graphmixer"])
def test_the_worst_are_those_of_evaluate(model: str, tmp_path: Path) -> None:
    told = keat("explain", labelled(model), file(), "--worst", "3", "--out", tmp_path, "--json").json
    scores = opened(model).evaluate().outcomes.sort(descending=True).values[:3].tolist()
    assert [x["score"] for x in told["explanations"]] == pytest.approx(scores, abs=1e-5)
    assert [x["place"][0] for x in told["explanations"]] == [1, 2, 3]
    assert all(x["why"] and Path(x["page"]).exists() for x in told["explanations"])
    val = keat(
        "explain", labelled(model), file(), "--worst", "1", "--split", "val", "--out", tmp_path, "--json"
    )
    assert val.json["explanations"][0]["row"] < 765


def test_mistakes_are_one_sentence(tmp_path: Path) -> None:
    run = labelled("tgn")
    older = keat("explain", run, file(), "--event", "850", "--older", "3d", "--out", tmp_path)
    assert "--against, --older and --replay are for runs that score links" in assert_fails(older)
    against = keat(
        "explain", run, "--src", "C-003", "--dst", "shop 3", "--against", "shop 4", "--out", tmp_path
    )
    assert "--against, --older and --replay are for runs that score links" in assert_fails(against)
    bare = keat("explain", run, "--src", "C-003", "--dst", "shop 3", "--out", tmp_path)
    assert "reads features of an event (amount, channel); give them, or explain an event of" in assert_fails(
        bare
    )
    assert "give that, too" in assert_fails(keat("explain", run, "--event", "8", "--out", tmp_path))
    far = keat("explain", run, file(), "--event", "900", "--out", tmp_path)
    assert "payments has events 0 to 899, not 900" in assert_fails(far)
    attention = keat("analyze", "attention", run, "--data", "payments:500")
    assert attention.err.endswith("this is for runs of links.\n")
