"""`keat data`: what there is, what is in it, and getting it, here from a server on this machine."""

from __future__ import annotations

import dataclasses
import functools
import http.server
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import ORDERS, assert_fails, keat, write_orders

from conftest import FindFile
from keat.datasets.dataset_entries import DATASETS


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KEAT_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def wiki_on_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """tgbl-wiki's address leads to a small file of its true format."""
    info, served = DATASETS["tgbl-wiki"], tmp_path / "served"
    served.mkdir()
    rows = "".join(f"{k % 9},{k % 4},{k}.0,0,0.5,-0.25\n" for k in range(200))
    with zipfile.ZipFile(served / info.download_name, "w") as archive:
        archive.writestr(info.raw_files[0], "user_id,item_id,timestamp,state_label,features\n" + rows)
    handler = functools.partial(QuietHandler, directory=str(served))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        url = f"http://127.0.0.1:{server.server_port}/{info.download_name}"
        monkeypatch.setitem(DATASETS, "tgbl-wiki", dataclasses.replace(info, url=url))
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield
        server.shutdown()


def test_list_names_every_dataset(data_folder: Path) -> None:
    ran = keat("data", "list")
    assert (ran.code, ran.err) == (0, "")
    for name in [*DATASETS, "payments"]:
        assert f"│ {name} " in ran.out
    assert str(data_folder) in ran.out.replace("\n", "")
    entries = keat("data", "list", "--json").json["datasets"]
    assert [entry["name"] for entry in entries] == list(DATASETS)
    assert not any(entry["downloaded"] for entry in entries)
    assert not data_folder.exists()


@pytest.mark.usefixtures("wiki_on_a_server")
def test_get_downloads_converts_and_is_done(data_folder: Path) -> None:
    assert keat("data", "get", "tgbl-wiki", "--json").json == {
        "name": "tgbl-wiki",
        "rows": 200,
        "nodes": 13,
        "folder": str(data_folder / "tgbl-wiki"),
    }
    ran = keat("data", "get", "tgbl-wiki")
    assert "200 events, 13 nodes, 2 features" in ran.out
    assert str(data_folder / "tgbl-wiki") in ran.out  # on one line, however long
    listed = {d["name"]: d["downloaded"] for d in keat("data", "list", "--json").json["datasets"]}
    assert [name for name, here in listed.items() if here] == ["tgbl-wiki"]
    assert keat("data", "info", "tgbl-wiki", "--json").json["rows"] == 200
    assert keat("evaluate", "edgebank", "tgbl-wiki", "--json").json["negatives"]["most"] == 3


def test_without_a_network_the_sentence_says_what_to_put_where(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keat.datasets.download._PAUSES", ())
    nobody = dataclasses.replace(DATASETS["tgbl-wiki"], url="http://127.0.0.1:9/tgbl-wiki-v2.zip")
    monkeypatch.setitem(DATASETS, "tgbl-wiki", nobody)
    message = assert_fails(keat("evaluate", "edgebank", "tgbl-wiki"))
    assert f"put it at {data_folder / 'tgbl-wiki' / 'raw' / 'tgbl-wiki-v2.zip'}" in message


def test_info_of_a_log_of_ones_own(tmp_path: Path) -> None:
    orders = write_orders(tmp_path)
    facts = keat("data", "info", orders, *ORDERS, "--features", "amount", "--json").json
    assert (facts["rows"], facts["sources"], facts["features"]) == (400, 31, 1)
    assert facts["nodes"] == facts["sources"] + facts["destinations"]
    assert facts["splits"] == {"train": 280, "val": 60, "test": 60}
    assert (facts["unit"], facts["steps"], facts["t_max"] - facts["t_min"]) == ("s", 400, 399 * 60)
    assert facts["sigma"] > 0
    assert facts["gaps"]["train"]["drift"] == 0
    assert set(facts["gaps"]["test"]) == {"count", "p10", "median", "p90", "drift"}
    shown = keat("data", "info", orders, *ORDERS).out
    assert "2024-01-01 00:00:00 to 2024-01-01 06:39:00, 6.65 h" in shown
    assert "280 / 60 / 60" in shown


def test_sides_that_share_ids_are_kept_apart_on_request(tmp_path: Path) -> None:
    rows = "".join(f"{k % 5},{k % 6},{k}\n" for k in range(60))
    (tmp_path / "e.csv").write_text("user,item,t\n" + rows)
    assert keat("data", "info", tmp_path / "e.csv", "--json").json["nodes"] == 6
    assert keat("data", "info", tmp_path / "e.csv", "--bipartite", "--json").json["nodes"] == 11


@pytest.mark.parametrize(
    ("first", "step", "options", "shown"),
    [
        (1_700_000_000, 3600, (), "2023-11-14 22:13"),
        (1_700_000_000_000, 1000, ("--unit", "ms"), "2023-11-14 22:13"),
        (1990, 1, ("--unit", "year"), "1990 to 2049, 59 years"),
        (0, 60, (), "0 (s) to 3540 (s), 59 min"),
    ],
)
def test_times_are_shown_as_dates_where_they_can_be(
    first: int, step: int, options: tuple[str, ...], shown: str, tmp_path: Path
) -> None:
    rows = "".join(f"{k % 5},{k % 6},{first + k * step}\n" for k in range(60))
    (tmp_path / "e.csv").write_text("user,item,t\n" + rows)
    ran = keat("data", "info", tmp_path / "e.csv", *options)
    assert ran.err == ""
    assert shown in ran.out


def test_times_that_make_odd_seconds_get_a_note(tmp_path: Path) -> None:
    rows = "".join(f"{k % 5},{k % 6},{1_700_000_000_000 + k}\n" for k in range(60))
    (tmp_path / "e.csv").write_text("user,item,t\n" + rows)
    (note,) = keat("data", "info", tmp_path / "e.csv").notes
    assert "taken as seconds; if their unit is 'ms', say so (unit ms)" in note


def test_where_nobody_returns_there_are_no_gaps_to_show(tmp_path: Path) -> None:
    rows = "".join(f"a{k},b{k},{k}\n" for k in range(60))
    (tmp_path / "e.csv").write_text("src,dst,t\n" + rows)
    ran = keat("data", "info", tmp_path / "e.csv", "--json")
    assert ran.json["gaps"] == {"train": None, "val": None, "test": None}
    assert "Gaps between events give no time scale" in ran.notes[0]
    assert keat("data", "info", tmp_path / "e.csv").code == 0


def test_info_of_wikipedia(shared_file: FindFile) -> None:
    facts = keat("data", "info", shared_file("wikipedia.parquet"), "--json").json
    assert (facts["rows"], facts["nodes"]) == (157_474, 9_227)
    assert facts["splits"] == {"train": 110_232, "val": 23_621, "test": 23_621}
    assert facts["sigma"] == pytest.approx(80_111.6, abs=0.1)
    assert facts["surprise"] == pytest.approx(0.108, abs=5e-4)


def test_what_is_prepared_is_informed_about_like_the_file(tmp_path: Path) -> None:
    orders, out = write_orders(tmp_path), tmp_path / "prepared"
    ran = keat("data", "prepare", orders, "--out", out, *ORDERS, "--features", "amount", "--json")
    assert ran.code == 0, ran
    assert ran.json | {"seconds": 0} == {
        "folder": str(out),
        "name": "orders",
        "events": 400,
        "nodes": 37,  # 31 customers, and the 6 shops that squares lead to
        "features": 1,
        "unit": "s",
        "buckets": 0,
        "continued": False,
        "seconds": 0,
    }
    of_file = keat("data", "info", orders, *ORDERS, "--features", "amount", "--json").json
    assert keat("data", "info", out, "--json").json == of_file
    told = assert_fails(keat("data", "prepare", orders, "--out", out, *ORDERS))
    assert told == f"{out} is not empty; delete it first, or choose another folder."
