"""Another model for a log: caught up, compared, exchanged and taken back, and the same after a restart."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_runs import checked, later_events, live_run
from running import Running, running

import keat
from keat.errors import InputError
from keat.serve.client import Client
from keat.serve.engine import Engine
from keat.serve.explaining import explain_event
from keat.serve.log_records import Swap
from keat.serve.sealing import seal
from keat.serve.served_run import kept_model
from keat.serve.swapping import Shadow, catch_up, open_beside


def load(engine: Engine, run: Path) -> None:
    model, ids, tail = open_beside(engine.base, engine.folder, run)
    catch_up(model, engine.log, ids, tail)
    engine.shadow = Shadow(model, run.name)


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run with 80 events in its log, and one that was trained on that log: other nodes, other numbers."""
    folder = tmp_path_factory.mktemp("sealed")
    run = live_run("keat-rank", folder)
    engine = Engine(run, "process")
    engine.take(checked(engine, later_events(engine, 120))[:80])
    engine.close()
    seal(run, folder / "log.parquet")
    keat.train("keat-rank", str(folder / "log.parquet"), out=folder / "next", epochs=1, hidden=8)
    return run, folder / "next"


def copied(sealed: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    for path in sealed:
        shutil.copytree(path, tmp_path / path.name, ignore=shutil.ignore_patterns(".lock"))
    return tmp_path / "run", tmp_path / "next"


def test_a_model_with_other_numbers_follows_and_answers(sealed: tuple[Path, Path], tmp_path: Path) -> None:
    run, other = copied(sealed, tmp_path)
    engine = Engine(run, "process")
    events = checked(engine, later_events(engine, 120))
    events = [event._replace(t=event.t + 500_000, id=f"later {place}") for place, event in enumerate(events)]
    with pytest.raises(InputError, match="wait until a later one"):
        load(engine, other)
    engine.take(events[:10])
    load(engine, other)
    shadow = engine.shadow
    assert shadow is not None
    engine.take(events[10:40])
    report = shadow.report(labels_events=False)
    assert report.events == 30
    assert report.loss is not None
    assert -1 <= (report.agreement or 0) <= 1
    engine.switch()
    first, second = engine.models[0].fingerprint, engine.models[1].fingerprint
    assert first != second
    answers = engine.take(events[40:80])
    assert {answer.model for answer in answers} == {second}
    assert engine.answer(45).model == first
    alone = Engine(other, "process")  # the run by itself, in a log of its own
    expected = alone.take(events[:80])[40:]
    assert [one.logit for one in answers] == pytest.approx([one.logit for one in expected], abs=1e-6)
    alone.close()
    digest = engine.digest()
    engine.snapshot()
    more = engine.take(events[80:100])
    late = engine.digest()
    engine.close()
    shutil.rmtree(other)  # the log has a copy
    again = Engine(run, "process")
    assert again.digest() == late != digest
    assert [one.logit for one in again.take(events[80:100])] == [one.logit for one in more]
    again.close()
    for snapshot in (run / "live").glob("snapshot-*"):
        snapshot.unlink()
    whole = Engine(run, "process")
    assert whole.digest() == late
    whole.close()
    found = explain_event(run, 80 + 90)
    assert found["model"] == second
    assert found["explanation"]["score"] == pytest.approx(found["logit"], abs=1e-5)


def test_back_again_is_as_if_nothing_had_been(sealed: tuple[Path, Path], tmp_path: Path) -> None:
    """Also after a restart, when the first model has to catch up with what it has not seen."""
    run, other = copied(sealed, tmp_path / "a")
    plain, _ = copied(sealed, tmp_path / "b")
    straight, engine = Engine(plain, "process"), Engine(run, "process")
    events = checked(engine, later_events(engine, 120))
    events = [event._replace(t=event.t + 500_000, id=f"later {place}") for place, event in enumerate(events)]
    expected = straight.take(events)
    engine.take(events[:10])
    load(engine, other)
    engine.switch()
    engine.take(events[10:40])
    engine.switch()
    found = engine.take(events[40:60])
    assert [one.model for one in found] == [one.model for one in expected[40:60]]
    assert [one.logit for one in found] == pytest.approx([one.logit for one in expected[40:60]], abs=1e-6)
    engine.switch()
    engine.close()
    engine = Engine(run, "process")
    engine.take(events[60:80])
    with pytest.raises(InputError, match="load one first"):
        engine.switch()
    load(engine, run)
    engine.switch()
    engine.take(events[80:])
    assert engine.digest() == straight.digest()
    assert [type(one.record) for one in engine.log.records()] == [Swap] * 4
    engine.close()
    assert Engine(run, "process").digest() == straight.digest()


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    engine = Engine(live_run("keat-rank", tmp_path / "a"), "process")
    engine.take(checked(engine, later_events(engine, 5)))
    for name, said in (("fraud", "labels events"), ("keat-tgn", "other features")):
        with pytest.raises(InputError, match=said):
            load(engine, live_run(name, tmp_path / name))
    assert engine.shadow is None


def test_a_shadow_that_fails_harms_nobody(
    sealed: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, other = copied(sealed, tmp_path)
    engine = Engine(run, "process")
    events = [one._replace(t=one.t + 500_000, id=None) for one in checked(engine, later_events(engine, 20))]
    engine.take(events[:10])
    load(engine, other)

    def fails(*_: object) -> None:
        raise InputError("It cannot follow.")

    monkeypatch.setattr(Shadow, "take", fails)
    assert len(engine.take(events[10:])) == 10
    assert engine.shadow is None


def wait_for(service: Running, what: str) -> dict[str, Any]:
    for _ in range(600):
        found = service.ask("GET", "/v1/models").json
        if found["loading"] is None and found[what] is not None:
            return dict(found)
        time.sleep(0.05)
    raise AssertionError(found)


def test_under_load_no_request_fails(sealed: tuple[Path, Path], tmp_path: Path) -> None:
    run, other = copied(sealed, tmp_path)
    folder = tmp_path / "models"
    folder.mkdir()
    shutil.move(other, folder / "next")
    with running(run, models=folder) as service:
        last, stopped, faults, models = service.engine.state.last_time, threading.Event(), [], []

        def send() -> None:
            draw, t = np.random.default_rng(0), last
            with Client(service.address) as client:
                while not stopped.is_set():
                    t += int(draw.integers(0, 100))
                    try:
                        answer = client.event(int(draw.integers(0, 40)), int(draw.integers(40, 80)), t)
                        models.append(answer["model"])
                    except Exception as error:
                        faults.append(error)

        sender = threading.Thread(target=send)
        sender.start()
        try:
            with Client(service.address) as client:
                while len(models) < 3:
                    time.sleep(0.01)
                assert service.post("/v1/models", {"do": "load", "run": "nobody"}).status == 422
                assert client.load("next")["runs"] == ["next"]
                shadow = wait_for(service, "shadow")["shadow"]
                assert shadow["run"] == "next"
                present = client.models()["model"]
                assert client.switch()["model"] == shadow["model"] != present
                seen = len(models)
                while len(models) < seen + 5:
                    time.sleep(0.01)
                assert client.switch()["model"] == present
                assert client.rank(3)["model"] == present
        finally:
            stopped.set()
            sender.join()
        assert not faults
        assert set(models) == {present, shadow["model"]}
        assert models[0] == models[-1] == present
        assert kept_model(service.engine.folder, shadow["model"]).is_dir()
        digest = service.engine.digest()
    assert Engine(run).digest() == digest
