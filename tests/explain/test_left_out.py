"""Explanations by leaving past events out: as if they had not been, and nothing is left of it afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from every_model import create
from keat.errors import InputError
from keat.events import EventStream
from keat.explain import LeftOut, Names, explain_by_leaving_out
from keat.explain.asker import Asker
from keat.explain.link_wording import story
from keat.explain.replay import replay
from keat.models.contract import LearnedLinkModel, Queries
from keat.models.explainable import history_of
from keat.report.explained.explained_page import page
from keat.report.explained.explained_picture import write_picture
from keat.runs.run_model import train_run
from keat.runs.run_subject import subject_of
from keat.runs.spec import RunSpec, configuration
from keat.training.fit import FitConfig
from trained_runs import payments

KNOW_EVENTS = ["tgat", "keat-tgat", "graphmixer", "dygformer", "keat-tcl", "cawn", "craft-r", "keat-craft"]
KEEP_SUMS = ["jodie", "dyrep", "ctan", "tncn", "nat", "tpnet", "slm", "utg-gcn"]


def make_stream() -> EventStream:
    """Few nodes, so that the two of a pair share events; some events are with oneself."""
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 9, (2, 60))
    return EventStream.from_arrays(src, dst, np.sort(rng.integers(0, 30, 60)) * 10, num_nodes=10)


def without(stream: EventStream, row: int) -> EventStream:
    kept = np.delete(np.arange(len(stream)), row)
    return EventStream.from_arrays(stream.src[kept], stream.dst[kept], stream.t[kept], num_nodes=10)


def told(name: str, stream: EventStream) -> LearnedLinkModel:
    model = create(name, make_stream())
    assert isinstance(model, LearnedLinkModel)
    model.observe(stream)
    return model


@pytest.mark.parametrize("name", KNOW_EVENTS)
def test_an_effect_is_that_of_an_event_that_never_was(name: str) -> None:
    stream, ask = make_stream(), Queries(np.array([3], np.int32), np.array([305]), np.array([[5]], np.int32))
    model = told(name, stream)
    before = model.score(ask)
    x = explain_by_leaving_out(model, 3, 5, 305, float(before))
    assert torch.equal(model.score(ask), before)  # nothing is left of it
    of_the_two = [row for row in range(60) if {3, 5} & {int(stream.src[row]), int(stream.dst[row])}]
    assert len(x.past) == len(of_the_two)
    effects = sorted(float(before - told(name, without(stream, row)).score(ask)) for row in of_the_two)
    assert sorted(event.effect for event in x.past) == pytest.approx(effects, abs=1e-5)


def test_the_row_of_an_event_is_that_of_the_dataset() -> None:
    stream, rows = make_stream(), list[tuple[int, int, int]]()
    model = told("craft", stream)

    def row_of(src: int, dst: int, t: int) -> int | None:
        rows.append((src, dst, t))
        return None

    explain_by_leaving_out(model, 3, 5, 305, 0.0, names=Names(row_of=row_of))
    known = {*zip(stream.src.tolist(), stream.dst.tolist(), stream.t.tolist(), strict=True)}
    assert rows
    assert {*rows} <= known  # source and destination as they were


@pytest.mark.parametrize("name", KEEP_SUMS)
def test_what_keeps_no_events_has_none_to_leave_out(name: str) -> None:
    assert history_of(told(name, make_stream())) is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train("craft", tmp_path_factory.mktemp("craft") / "run", dim=8, neighbors=5)


def train(name: str, folder: Path, **settings: object) -> Path:
    train_run(
        RunSpec(name, configuration(name, **settings), FitConfig(epochs=1, lr=5e-3)), payments(), folder
    )
    return folder


def test_a_run_is_explained_in_words_on_a_page_and_in_a_picture(folder: Path, tmp_path: Path) -> None:
    asker = Asker(subject_of(folder), payments())
    x = asker.event(1_900, 86_400)
    assert isinstance(x, LeftOut)
    most = x.past[0]
    assert abs(most.effect) == max(abs(event.effect) for event in x.past)
    assert f"the event of {most.end} with {most.other}" in x.why
    assert story(x) in x.why
    content = json.loads(json.dumps(x.to_json()))
    assert content["past"][0]["row"] == most.row
    stream = payments().stream
    assert most.row is not None
    assert stream.t[1_900] - stream.t[most.row] == most.since
    text = page(x)
    assert "What past events are worth" in text
    assert text.count("<tr>") == 1 + len(x.past)
    pytest.importorskip("matplotlib")
    write_picture(x, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 0
    with pytest.raises(InputError, match="attends to no past event that could be moved"):
        replay(asker, x)


def test_strangers_have_nothing_to_leave_out() -> None:
    x = explain_by_leaving_out(told("craft", make_stream()), 9, 9, 305, 0.5)
    assert x.past == ()
    assert x.why == "9 → 9 has a score of 0.500. Neither of the two has a past event."
    assert "What past events are worth" not in page(x)


def test_a_model_with_a_memory_is_refused_by_a_sentence(tmp_path: Path) -> None:
    subject = subject_of(train("jodie", tmp_path / "run", dim=8))
    with pytest.raises(InputError, match="holds a jodie, which keeps what came of past events"):
        Asker(subject, payments())
