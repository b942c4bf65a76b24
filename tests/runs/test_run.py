"""A run one can hold: it lives on after training, and it does not matter in which pieces events come."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import keat
from conftest import MakeStream
from keat.errors import InputError, Notice, UnknownNameError
from keat.events import EventStream
from keat.models.rank import RankConfig
from keat.runs.run_evaluation import evaluate_run

DAY = 86_400
START = 1_700_006_400
SMALL: dict[str, dict[str, Any]] = {
    "keat-rank": {"hidden": 8, "epochs": 1, "negatives": 5},
    "keat-tgn": {"dim": 8, "neighbors": 4, "epochs": 1, "lr": 1e-3},
    "tgat": {"neighbors": 4, "layers": 1, "epochs": 1, "out_dim": 8, "time_dim": 8},
}


def week(seed: int = 0, events: int = 700) -> pd.DataFrame:
    """Seven days of orders; on the last day customers come that were never there, and a shop opens. The clock
    is coarse enough for ties."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.integers(0, 7 * 24 * 6, events)) * 600
    customer, shop = rng.integers(0, 30, events), rng.integers(0, 12, events)
    last = t >= 6 * DAY
    customer = np.where(last & (rng.random(events) < 0.2), 100 + customer, customer)
    shop = np.where(last & (rng.random(events) < 0.1), 77, shop)
    return pd.DataFrame(
        {
            "customer": [f"C-{c:03}" for c in customer],
            "shop": [f"shop {s}" for s in shop],
            "when": pd.to_datetime(START + t, unit="s"),
            "seconds": t,
        }
    )


COLUMNS: dict[str, Any] = {"src": "customer", "dst": "shop", "time": "when"}


@pytest.fixture(scope="module", params=SMALL)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has seen six days."""
    log = week()
    folder = tmp_path_factory.mktemp(request.param) / "run"
    before = log[log.seconds < 6 * DAY].drop(columns="seconds")
    keat.train(request.param, before, out=folder, **COLUMNS, **SMALL[request.param])
    return folder


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Any:
    return keat.open(shutil.copytree(trained, tmp_path / "run"))


def seventh_day() -> pd.DataFrame:
    log = week()
    return log[log.seconds >= 6 * DAY].drop(columns="seconds").reset_index(drop=True)


ASKED = ["C-001", "C-007", "somebody new", *week().customer[-30:]]


def test_it_lives_a_week_in_whatever_pieces(run: Any, tmp_path: Path, trained: Path) -> None:
    """Three pieces, cut within ties, saved and opened in between: every score is that of a run that saw all
    at once, to the bit."""
    day = seventh_day()
    whole = keat.open(shutil.copytree(trained, tmp_path / "whole"))
    whole.observe(day)
    for first, last in ((0, 31), (31, 32), (32, len(day))):
        seen = run.observe(day[first:last])
        assert (seen.events, seen.known, seen.clamped) == (last - first, 0, 0)
        run.save()
        run = keat.open(run.folder)
    with pytest.warns(Notice, match="new to this run, and answered about as a stranger"):
        one, other = (each.rank(ASKED, top=5) for each in (run, whole))
    assert one.table.equals(other.table)
    pairs = day[["customer", "shop"]]
    assert run.score(pairs).table.equals(whole.score(pairs).table)
    for name, tensor in whole.model.stream_state().items():
        assert torch.equal(tensor, run.model.stream_state()[name]), name
    assert len(run.names) == len(whole.names) > 30 + 12


def test_what_was_seen_is_not_observed_twice(run: Any) -> None:
    day = seventh_day()
    first = run.observe(day[:50])
    again = run.observe(day[:50])
    assert (first.events, again.events, again.known) == (50, 0, 50)
    grown = run.observe(day)  # the piece, grown
    assert (grown.events, grown.known) == (len(day) - 50, 50)
    log = week().drop(columns="seconds")
    whole = run.observe(log)  # the whole log from its first day
    assert (whole.events, whole.known) == (0, len(log))
    changed = log.copy()
    changed.loc[3, "shop"] = "shop 0" if log.loc[3, "shop"] != "shop 0" else "shop 1"
    with pytest.raises(InputError, match="older than"):
        run.observe(changed)


def test_the_past_is_refused_or_clamped(run: Any) -> None:
    day = seventh_day()
    run.observe(day[40:])
    with pytest.raises(InputError, match=r"40 rows .* are older than 2023-11-21"):
        run.observe(day[:40])
    late = run.observe(day[:40], late="clamp")
    assert (late.events, late.clamped) == (40, 40)
    assert run.last_time == (START + int(week().seconds.max())) * 10**6  # a frame's times are in µs
    with pytest.raises(InputError, match=r"2023-11-15 00:00:00 is before 2023-11-21"):
        run.rank("C-001", at="2023-11-15")


def test_evaluation_stays_what_it_was(run: Any) -> None:
    """The state that evaluation starts from is kept beside what is seen later."""
    data = keat.load(week()[week().seconds < 6 * DAY].drop(columns="seconds"), **COLUMNS)
    task = keat.make_task(data, kind="link-ranking")
    before = evaluate_run(run.folder, data, task, "test", refresh=1).metrics
    run.observe(seventh_day())
    run.save()
    assert evaluate_run(run.folder, data, task, "test", refresh=1).metrics == before


def test_questions_change_nothing_and_times_are_as_people_write_them(run: Any) -> None:
    run.observe(seventh_day())
    stamp = pd.Timestamp("2023-11-22 10:00")
    moments = ("2023-11-22 10:00", "2023-11-22T10:00:00Z", stamp, 1_700_647_200_000_000)
    asked = [run.rank("C-001", at=at, top=3) for at in moments]
    assert all(asked[0].table.equals(other.table) for other in asked)
    assert asked[0].column_names == ["source", "destination", "rank", "score", "share"]
    assert 0 < sum(asked[0]["share"].to_pylist()) <= 1
    assert asked[0]["rank"].to_pylist() == [1, 2, 3]
    with pytest.warns(Notice, match="'new' and 1 more are new"):
        scored = run.score(pd.DataFrame({"customer": ["C-001", "new"], "shop": ["none", "shop 77"]}))
    assert scored["time"][0].as_py() == "2023-11-21 23:40:00.000001"  # right after what was seen
    assert np.isfinite(scored["score"].to_numpy()).all()
    assert "seen" in repr(run)


def test_pairs_come_from_files_by_name_or_by_order(run: Any, tmp_path: Path) -> None:
    run.observe(seventh_day())
    (tmp_path / "named.csv").write_text("shop,amount,customer\nshop 3,9.5,C-001\nshop 4,1,C-002\n")
    (tmp_path / "plain.csv").write_text("a,b\nC-001,shop 3\nC-002,shop 4\n")
    named, plain = (run.score(tmp_path / f"{name}.csv") for name in ("named", "plain"))
    assert named.table.equals(plain.table)
    (tmp_path / "unclear.csv").write_text("a,b,c,d\n1,2,3,4\n")
    with pytest.raises(InputError, match="which are sources and destinations is not clear"):
        run.score(tmp_path / "unclear.csv")


def test_a_finer_clock_is_cut_with_a_notice(tmp_path: Path, random_stream: MakeStream) -> None:
    stream = random_stream(1, events=90)
    run = keat.train("keat-rank", stream, out=tmp_path / "run", **SMALL["keat-rank"])
    later = EventStream.from_arrays([1, 2], [8, 9], [2_000_000, 2_000_500], unit="ms", num_nodes=12)
    with pytest.warns(Notice, match="finer than those of the run"):
        assert run.observe(later).events == 2
    assert run.last_time == 2000


def test_sides_stay_apart(tmp_path: Path) -> None:
    """User 5 and item 5 are two nodes, also when they come later."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"src": rng.integers(0, 9, 80), "dst": rng.integers(0, 9, 80), "t": np.arange(80)})
    run = keat.train("keat-rank", frame, out=tmp_path / "run", bipartite=True, **SMALL["keat-rank"])
    before = len(run.names)
    seen = run.observe(pd.DataFrame({"src": [50, 1], "dst": [2, 50], "t": [100, 101]}))
    assert seen.newcomers == 2
    assert len(run.names) == before + 2
    run.save()
    again = keat.open(tmp_path / "run")
    src, dst = again.names.find([50], "src"), again.names.find([50], "dst")
    assert src[0] != dst[0]
    assert [again.names.label(int(node)) for node in (src[0], dst[0])] == [50, 50]


def test_options_go_where_they_belong(tmp_path: Path, random_stream: MakeStream) -> None:
    stream = random_stream(2, events=90)
    run = keat.train("keat-rank", stream, out=tmp_path / "run", hidden=16, epochs=1)
    assert run.spec.config == RankConfig(hidden=16, edition=2)
    assert run.spec.fitting.loss == "stratified"  # as it is usually trained
    with pytest.raises(UnknownNameError, match="did you mean 'epochs'"):
        keat.train("keat-rank", stream, out=tmp_path / "other", epoch=1)
    assert not (tmp_path / "other").exists()


def test_two_who_save_at_once_are_told(run: Any) -> None:
    other = keat.open(run.folder)
    for each in (run, other):
        each.observe(seventh_day()[:10])
    run.save()
    with pytest.raises(InputError, match="updated by another process"):
        other.save()


def test_training_that_has_nothing_left_to_do_observes_nothing_twice(trained: Path, tmp_path: Path) -> None:
    folder, log = shutil.copytree(trained, tmp_path / "run"), week()
    model = keat.open(folder).spec.model
    before = keat.open(folder).rank("C-001").table
    again = log[log.seconds < 6 * DAY].drop(columns="seconds")
    keat.train(model, again, out=folder, resume=True, **COLUMNS, **SMALL[model])
    assert keat.open(folder).rank("C-001").table == before


def test_two_strangers_of_a_pair_are_two_nodes(run: Any) -> None:
    with pytest.warns(Notice, match="new to this run"):
        src, dst = run.names.ends_written(["A", "B", "C-001"], ["B", "A", "A"])
    assert src[0] == dst[1] == dst[2] != src[1] == dst[0]
    assert min(src[0], src[1]) >= len(run.names)
