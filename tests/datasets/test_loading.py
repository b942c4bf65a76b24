"""`load`: one way for names, files, frames and streams."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import keat
from conftest import MakeStream
from keat.datasets.dataset_entries import DATASETS
from keat.datasets.loading import Dataset, load
from keat.errors import InputError, Notice, UnknownNameError
from keat.events import TimeUnit


def frame(first: int = 0, step: int = 10, rows: int = 60) -> pd.DataFrame:
    row = np.arange(rows)
    return pd.DataFrame({"src": row % 5, "dst": 5 + row % 4, "t": first + step * row, "x": row / 2})


def test_a_stream_its_frame_and_its_file_are_the_same_dataset(tmp_path: Path) -> None:
    table = frame()
    table.to_csv(tmp_path / "events.csv", index=False)
    from_frame = load(table, features=["x"])
    from_file = load(str(tmp_path / "events.csv"), features=["x"])
    from_path = load(tmp_path / "events.csv", features="x")
    from_stream = load(from_frame.stream)
    for data in (from_file, from_path, from_stream):
        assert data.splits.sizes == from_frame.splits.sizes == {"train": 42, "val": 9, "test": 9}
        for column in ("src", "dst", "t", "features"):
            np.testing.assert_array_equal(getattr(data.stream, column), getattr(from_frame.stream, column))
    assert from_file.name == "events"
    assert from_file.info is None


def test_a_saved_stream_opens_by_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    load(frame()).stream.save("saved")
    assert len(load("saved").stream) == 60  # no slash and no dot: a folder that exists counts as a path


@pytest.mark.parametrize(
    ("name", "events"), [("payments:2000", 2000), ("payments:2e3", 2000), ("payments", 100_000)]
)
def test_payments_of_any_size(name: str, events: int) -> None:
    assert len(load(name).stream) == events


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("payments:x", {}, "'payments:x' should name a number of events"),
        ("payments:0", {}, "'payments:0' should name a number of events"),
        ("payments:-5", {}, "'payments:-5' should name a number of events"),
        ("payments:1.5", {}, "'payments:1.5' should name a number of events"),
        ("payments:nan", {}, "'payments:nan' should name a number of events"),
        ("payments:inf", {}, "'payments:inf' should name a number of events"),
        ("payments:", {}, "'payments:' should name a number of events"),
        (
            "payments:99999999999999",
            {},
            r"need 6,600,000 GB of memory, .* at most [\d,]+\.",
        ),
        ("x" * 300, {}, "File name too long"),
        ("x" * 300 + ".csv", {}, "File name too long"),
        ("payments", {"src": "u"}, "payments is known by name, so its columns are settled"),
        ("tgbl-wiki", {"unit": "s"}, "tgbl-wiki is known by name"),
        ("./nowhere", {}, "nowhere does not exist"),
    ],
)
def test_what_cannot_be_loaded(source: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(source, **options)


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'payments'"):
        load("paymets")


@pytest.mark.parametrize(
    ("first", "step", "unit"),
    [
        (1986, 1, "year"),
        (1_700_000_000_000, 1000, "ms"),
        (1_700_000_000_000_000, 1000, "us"),
        (1_700_000_000_000_000_000, 1000, "ns"),
    ],
)
def test_times_that_make_odd_seconds_are_pointed_out(first: int, step: int, unit: TimeUnit) -> None:
    with pytest.warns(Notice, match=rf"taken as seconds; if their unit is .* say so \(unit {unit}\)"):
        load(frame(first, step))
    assert load(frame(first, step), unit=unit).stream.unit == unit  # said so: no notice


@pytest.mark.parametrize(("first", "step"), [(0, 1), (2000, 10), (1_700_000_000, 1), (40_000_000_000, 1)])
def test_times_that_may_well_be_seconds_are_not(first: int, step: int) -> None:
    assert load(frame(first, step)).stream.unit == "s"


def test_datetimes_know_their_unit() -> None:
    table = frame()
    table["t"] = pd.to_datetime(table["t"] + 1_700_000_000, unit="s")
    assert load(table).stream.unit in ("s", "ms", "us", "ns")


def test_parts_and_what_came_before(random_stream: MakeStream) -> None:
    data = Dataset(random_stream(0))
    assert data.part("val") is data.val
    assert len(data.before("train")) == 0
    assert len(data.before("val")) == len(data.train)
    assert len(data.before("test")) == len(data.train) + len(data.val)
    assert data.sigma() == keat.estimate_sigma(data.train.src, data.train.dst, data.train.t)
    with pytest.raises(UnknownNameError, match="did you mean 'test'"):
        data.part("tests")


def test_a_saved_slice_is_a_dataset_of_its_own(random_stream: MakeStream, tmp_path: Path) -> None:
    """Counted from its own first event: else what is before its test split would hold the test split."""
    random_stream(1)[100:].save(tmp_path / "slice")
    data = load(str(tmp_path / "slice"))
    assert len(data.stream) == 200
    assert data.before("test").t.tolist() == data.stream.t[: len(data.train) + len(data.val)].tolist()
    assert data.before("test").t.max() < data.test.t.min()


@pytest.mark.parametrize(
    ("times", "looks"),
    [
        (
            ["20240131", "20240201", "20241231"],
            "look like dates written as YYYYMMDD; if they are, say so .time-format yyyymmdd.",
        ),
        (["202401", "202402", "202412"], "look like dates written as YYYYMM;"),
        (["202401311345", "202402010000", "202402012359"], "look like dates written as YYYYMMDDhhmm;"),
        (["20240131134500", "20240131134501", "20240131134502"], "dates written as YYYYMMDDhhmmss;"),
        (["45321", "45322", "45330"], r"day numbers of a spreadsheet \(45321 is 2024-01-30\); if .* excel"),
        (["45321.5", "45322.25", "45330.75"], r"from 45321 to 45330 .*spreadsheet \(45321 is 2024-01-30\)"),
        (["2001", "2002", "2010"], "if their unit is 'year', say so"),
    ],
)
def test_times_that_make_odd_seconds_are_told_of(times: list[str], looks: str, tmp_path: Path) -> None:
    drawn = [times[0]] * 14 + [times[1]] * 3 + [times[2]] * 3
    rows = [f"{k % 3},{3 + k % 2},{time}" for k, time in enumerate(drawn)]
    (tmp_path / "e.csv").write_text("src,dst,t\n" + "\n".join(rows) + "\n")
    with pytest.warns(Notice) as told:
        load(tmp_path / "e.csv")
    assert re.search(looks, str(told[-1].message))


@pytest.mark.parametrize("times", [[20241331, 20241399], [20240100, 20240132], [19700101, 10**9], [0, 86400]])
def test_seconds_that_are_seconds_are_not(times: list[int]) -> None:
    load(pd.DataFrame({"src": 0, "dst": 1, "t": np.linspace(times[0], times[1], 60).astype(int)}))


# -- shares of events that are held out ----------------------------------------------------------------


def test_shares_are_of_events_and_what_is_learned_is_of_the_rest() -> None:
    """Of 100 events 70 are for training: means and categories are theirs alone."""
    amount = np.concatenate((np.arange(70.0), np.full(30, 1e6)))
    table = pa.table(
        {
            "src": np.arange(100) % 7,
            "dst": 7 + np.arange(100) % 5,
            "t": np.arange(100),
            "amount": amount,
            "kind": ["card"] * 70 + ["cash"] * 30,
        }
    )
    data = load(table, held_out=(0.1, 0.2), features="amount", categorical="kind", scale=True)
    assert data.held_out == (0.1, 0.2)
    assert [len(part) for part in data.splits] == [70, 10, 20]
    assert data.reading is not None
    assert data.reading.encoding is not None
    scaled, kinds = data.reading.encoding.events
    assert scaled.mean == pytest.approx((34.5,))
    assert scaled.deviation == pytest.approx((np.arange(70.0).std(),))
    assert kinds.categories == ("card",)
    assert data.train.features[:, 0].mean() == pytest.approx(0.0, abs=1e-6)
    other = load(table, held_out=(0.05, 0.05), features="amount", scale=True)
    assert [len(part) for part in other.splits] == [90, 5, 5]
    assert other.reading is not None
    assert other.reading.encoding is not None
    assert other.reading.encoding.events[0].mean == pytest.approx((amount[:90].mean(),))


def test_shares_are_held_out_of_streams_and_of_names(tmp_path: Path) -> None:
    stream = load("payments:400").stream
    for source in (stream, "payments:400"):
        data = load(source, held_out=(0.25, 0.5))
        assert [len(part) for part in data.splits] == [100, 100, 200]
        assert data.held_out == (0.25, 0.5)
    stream.save(tmp_path / "saved")
    assert [len(part) for part in load(tmp_path / "saved", held_out=(0.25, 0.5)).splits] == [100, 100, 200]


@pytest.mark.parametrize(
    "shares", [(0.5, 0.5), (0.0, 0.2), (0.2, 0.0), (-0.1, 0.2), (0.9, 0.2), (math.nan, 0.1)]
)
def test_shares_that_leave_nothing_are_refused(shares: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="Split shares must be positive and leave room for training"):
        load("payments:400", held_out=shares)


def test_negatives_come_from_destinations_that_occur_or_as_the_protocol_has_them(
    random_stream: MakeStream,
) -> None:
    """Destinations 20, 22, … 38: an id between them is a candidate in TGB and in PyG's JODIE only."""
    stream = random_stream(3, events=400)
    stream = replace(stream, dst=20 + 2 * (stream.dst % 10).astype(np.int32), num_nodes=60)
    own, tgb, jodie = (
        Dataset(stream, info) for info in (None, DATASETS["tgbl-coin"], DATASETS["jodie-wiki"])
    )
    occurring, ids = np.unique(stream.dst), np.arange(20, 39)
    asked = stream[:1]
    for data, ranked, told_apart in ((own, occurring, occurring), (tgb, ids, occurring)):
        np.testing.assert_array_equal(data.catalogue(asked, "link-ranking"), ranked)
        np.testing.assert_array_equal(data.catalogue(asked, "link-classification"), told_apart)
    np.testing.assert_array_equal(jodie.catalogue(asked, "link-ranking"), occurring)
    np.testing.assert_array_equal(jodie.catalogue(asked, "link-classification"), asked.dst)
    np.testing.assert_array_equal(tgb.training_catalogue(), ids)
    for data in (own, jodie):
        np.testing.assert_array_equal(data.training_catalogue(), np.unique(data.train.dst))
