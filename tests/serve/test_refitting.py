"""Calibration that is fitted again to late labels: better, a record of the log, and the same ever after."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from live_runs import checked, later_events, live_run
from running import running
from test_swapping import load

from keat.calibration.probability import Platt, log_loss
from keat.serve import refitting
from keat.serve.engine import Engine
from keat.serve.explaining import explain_event
from keat.serve.label_taking import look_at_labels, tell
from keat.serve.live_answers import Answer
from keat.serve.log_records import Calibrated, Swap
from keat.serve.refitting import calibration_report, due, refit

EVENTS = 600


def happens(logits: list[float], seed: int) -> npt.NDArray[np.bool_]:
    """What comes true of events: seldom, and more often the higher the score. The run knows neither."""
    standard = (np.array(logits) - np.mean(logits)) / np.std(logits)
    likely = Platt(2.0, -1.0).probabilities(standard)
    return np.random.default_rng(seed).random(len(logits)) < likely


def label(engine: Engine, answers: list[Answer], truth: npt.NDArray[np.bool_]) -> None:
    tell(engine, [(one.seq, float(true), 1) for one, true in zip(answers, truth, strict=True)])
    while look_at_labels(engine):
        pass


def probabilities(answers: list[Answer]) -> npt.NDArray[np.float64]:
    assert all(one.probability is not None for one in answers)
    return np.array([one.probability for one in answers], dtype=np.float64)


def records(engine: Engine) -> list[Calibrated]:
    return [one.record for one in engine.log.records() if isinstance(one.record, Calibrated)]


def labels_in_loss(engine: Engine) -> int:
    return engine.watch.drift.report(0).measures[2].usual_events


@pytest.fixture(scope="module")
def refitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Answer], dict[str, Any]]:
    """A run that was calibrated anew after 300 of 600 events, its answers, and what it says then."""
    run = live_run("fraud", tmp_path_factory.mktemp("refitted"))
    engine = Engine(run, "process")
    events = checked(engine, later_events(engine, EVENTS))
    answers = engine.take(events[:300])
    own = engine.calibration
    label(engine, answers, happens([one.logit for one in answers], 0))
    assert refit(engine)
    report = calibration_report(engine)
    assert engine.calibration != own
    assert labels_in_loss(engine) == 0  # it is of the present calibration
    assert own == engine.base.calibration
    answers += engine.take(events[300:450])
    engine.snapshot()
    answers += engine.take(events[450:])
    pair = engine.judge.score([1], [41], [None], np.zeros((1, engine.served.features.dim), np.float32))[0]
    said = {"report": report, "kept": engine.watch.kept(), "digest": engine.digest(), "pair": pair}
    engine.close()
    return run, answers, said


def test_a_run_that_is_miscalibrated_becomes_better(
    refitted: tuple[Path, list[Answer], dict[str, Any]],
) -> None:
    run, answers, said = refitted
    engine = Engine(run, write=False)
    own = engine.base.calibration
    assert isinstance(own, Platt)
    later = answers[300:]
    logits = [one.logit for one in later]
    truth = happens(logits, 1)
    before, after = (
        log_loss(own.probabilities(np.array(logits)), truth),
        log_loss(probabilities(later), truth),
    )
    assert after < before - 0.05
    report = said["report"]
    assert (report.labels, report.judged_by) == (300, 75)
    assert report.after < report.before
    assert f"{report.after:.3f} instead of {report.before:.3f}" in report.sentence
    assert (
        probabilities(answers[:300]).tolist()
        == own.probabilities(np.array([one.logit for one in answers[:300]])).tolist()
    )
    expected = engine.calibration.probabilities(np.array([said["pair"].logit]))[0]  # type: ignore[union-attr]
    assert said["pair"].probability == expected
    engine.close()


@pytest.mark.parametrize("snapshots", [True, False])
def test_a_restart_answers_as_it_did_then(
    refitted: tuple[Path, list[Answer], dict[str, Any]], tmp_path: Path, snapshots: bool
) -> None:
    run, answers, said = refitted
    shutil.copytree(run, tmp_path / "run", ignore=shutil.ignore_patterns(".lock"))
    if not snapshots:
        for path in (tmp_path / "run" / "live").glob("snapshot-*"):
            path.unlink()
    engine = Engine(tmp_path / "run", "process")
    assert engine.digest() == said["digest"]
    assert engine.watch.kept() == said["kept"]
    assert calibration_report(engine) == said["report"]
    again = engine.take(checked(engine, later_events_of(engine)))
    assert all(one.again for one in again)
    assert [(one.seq, one.probability) for one in again] == [(one.seq, one.probability) for one in answers]
    while look_at_labels(engine):
        pass
    assert labels_in_loss(engine) == 0
    assert not refit(engine)  # no label is new
    label(engine, answers[300:310], np.ones(10, bool))
    assert labels_in_loss(engine) == 10
    assert len(records(engine)) == 1
    engine.close()
    for number in (300, 301):  # right before, right after
        found = explain_event(tmp_path / "run", number)["explanation"]
        assert found["probability"] == pytest.approx(answers[number - 1].probability, abs=1e-6)


def later_events_of(engine: Engine) -> list[Any]:
    """The events of the log, as they were sent."""
    fresh = Engine(engine.base.run.folder, write=False, until=0)
    events = later_events(fresh, EVENTS)
    fresh.close()
    return events


def test_labels_that_come_after_change_no_answer(tmp_path: Path) -> None:
    """Two services with the same events and labels up to a place answer alike up to there."""
    found = []
    for place, seed in enumerate((1, 2)):
        engine = Engine(live_run("fraud", tmp_path / str(place)), "process")
        events = checked(engine, later_events(engine, EVENTS))
        answers = engine.take(events[:250])
        label(engine, answers, happens([one.logit for one in answers], 0))
        assert refit(engine)
        answers += (later := engine.take(events[250:500]))
        label(engine, later, happens([one.logit for one in later], seed) ^ (seed == 2))
        refit(engine)
        answers += engine.take(events[500:])
        assert [engine.answer(one.seq).probability for one in answers] == [one.probability for one in answers]
        found.append(answers)
        engine.close()
    assert found[0][:500] == found[1][:500]
    assert found[0][500:] != found[1][500:]


def test_too_few_labels_or_of_one_kind_do_nothing(tmp_path: Path) -> None:
    engine = Engine(live_run("fraud", tmp_path), "process")
    answers = engine.take(checked(engine, later_events(engine, EVENTS)))
    truth = happens([one.logit for one in answers], 0)
    label(engine, answers[:150], truth[:150])
    assert due(engine) is None
    assert not refit(engine)
    label(engine, answers[150:400], np.zeros(250, bool))  # of the newest, all are of one kind
    assert not refit(engine)
    assert "200 events of this model have a label" in calibration_report(engine).sentence
    assert records(engine) == []
    label(engine, answers[150:400], truth[150:400])
    assert refit(engine)


def test_one_that_is_not_better_is_left_and_tried_again_with_twice_as_many(tmp_path: Path) -> None:
    engine = Engine(live_run("fraud", tmp_path), "process")
    answers = engine.take(checked(engine, later_events(engine, EVENTS)))
    own = engine.calibration
    assert isinstance(own, Platt)
    likely = own.probabilities(np.array([one.logit for one in answers]))
    truth = np.random.default_rng(0).random(EVENTS) < likely  # just as it says
    label(engine, answers[:200], truth[:200])
    assert due(engine) is not None
    assert not refit(engine)
    assert engine.calibration == own
    assert "not clearly better on the 50 newest" in calibration_report(engine).sentence
    label(engine, answers[200:399], truth[200:399])
    assert due(engine) is None
    label(engine, answers[399:400], truth[399:400])
    assert due(engine) is not None
    assert records(engine) == []


def test_a_model_that_comes_back_has_the_calibration_it_had(tmp_path: Path) -> None:
    run, other = live_run("fraud", tmp_path / "a"), live_run("fraud", tmp_path / "b")
    lines = [json.loads(line) for line in (other / "metrics.jsonl").read_text().splitlines()]
    lines = [line | {"calibration": asdict(Platt(1.0, 2.0))} for line in lines]
    (other / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    engine = Engine(run, "process")
    events = checked(engine, later_events(engine, 320))
    answers = engine.take(events[:250])
    label(engine, answers, happens([one.logit for one in answers], 0))
    assert refit(engine)
    fitted, report = engine.calibration, calibration_report(engine)
    load(engine, other)
    engine.switch()
    assert engine.calibration == engine.judge.calibration == Platt(1.0, 2.0)
    assert due(engine) is None  # labels of another model
    engine.take(events[250:300])
    engine.switch()
    assert engine.calibration == engine.judge.calibration == fitted
    assert calibration_report(engine) == report
    assert not refit(engine)
    kinds = [type(one.record) for one in engine.log.records()]
    assert kinds == [Calibrated, Swap, Swap]
    expected = engine.take(events[300:])
    engine.close()
    again = Engine(run, "process")
    assert again.calibration == fitted
    assert calibration_report(again) == report
    assert [one.probability for one in again.take(events[300:])] == [one.probability for one in expected]


def test_a_service_fits_again_by_itself_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refitting, "ENOUGH", 120)
    with running(live_run("fraud", tmp_path)) as service:
        events = [
            {"source": e.source, "destination": e.destination, "time": e.time, "features": e.features}
            for e in later_events(service.engine, 160)
        ]
        answers = service.post("/v1/events", events).json
        state = service.ask("GET", "/v1/state").json["calibration"]
        assert (state["kind"], state["labels"], state["after"]) == ("platt", 0, None)
        truth = happens([one["logit"] for one in answers], 0)
        labels = [{"seq": seq, "label": float(true)} for seq, true in enumerate(truth, start=1)]
        assert service.post("/v1/labels", labels).json == {"told": 160}
        for _ in range(600):
            state = service.ask("GET", "/v1/state").json["calibration"]
            if state["labels"]:
                break
            time.sleep(0.05)
        assert (state["labels"], state["judged_by"]) == (160, 40)
        assert state["after"] < state["before"]
        assert abs(state["at"] - time.time()) < 60
        assert len(service.ask("GET", "/v1/models").json["answered"]) == 1


def test_links_have_no_labels_to_be_fitted_to(tmp_path: Path) -> None:
    engine = Engine(live_run("keat-rank", tmp_path), "process")
    answers = engine.take(checked(engine, later_events(engine, 300)))
    label(engine, answers, happens([one.logit for one in answers], 0))
    assert not refit(engine)
    assert "scores links" in calibration_report(engine).sentence
    assert engine.log.records() == []
