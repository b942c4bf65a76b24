"""From a name to a stream: fetch, unpack, convert once, open ever after."""

from __future__ import annotations

import dataclasses
import errno
import io
import os
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from file_server import FileServer, serve
from raw_files import JODIE_HEADER, interactions, write_csv

from keat.datasets import cache
from keat.datasets.cache import fetch, negative_file, open_dataset, raw_folder
from keat.datasets.data_folder import data_folder
from keat.datasets.dataset_entries import DATASETS, dataset_info
from keat.errors import CacheError, DownloadError, InputError, UnknownNameError
from keat.events import EventStream

WIKI = dataset_info("tgbl-wiki")


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def wiki_csv(tmp_path: Path) -> bytes:
    return write_csv(
        tmp_path / "w.csv", JODIE_HEADER, interactions(np.random.default_rng(1), 50, 3)
    ).read_bytes()


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KEAT_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, wiki_csv: bytes) -> Iterator[FileServer]:
    """Serves a small tgbl-wiki and jodie-wiki at the addresses the registry now names."""
    monkeypatch.setattr("keat.datasets.download._PAUSES", (0.0,))
    with serve() as running:
        for name in ("tgbl-wiki", "jodie-wiki", "tgbn-trade"):
            info = dataset_info(name)
            moved = dataclasses.replace(info, url=running.url(info.download_name))
            monkeypatch.setitem(DATASETS, name, moved)
        members = {WIKI.raw_files[0]: wiki_csv, WIKI.negative_files[0]: b"val", "README": b"not wanted"}
        running.files[WIKI.download_name] = zipped(members)
        running.files["wikipedia.csv"] = wiki_csv
        yield running


def test_a_zip_is_fetched_unpacked_converted_and_opened(server: FileServer, data: Path) -> None:
    steps: list[int] = []
    stream = open_dataset("tgbl-wiki", progress=lambda done, _: steps.append(done))
    assert len(stream) == 50
    assert stream.feature_dim == 3
    assert stream.name == "tgbl-wiki"
    assert steps[-1] == len(server.files[WIKI.download_name])
    raw = data / "tgbl-wiki" / "raw"
    assert sorted(path.name for path in raw.iterdir()) == sorted([WIKI.raw_files[0], WIKI.negative_files[0]])
    assert negative_file("tgbl-wiki", "val") == raw / WIKI.negative_files[0]
    assert negative_file("tgbl-wiki", "test") == raw / WIKI.negative_files[1], "though it is not there"
    assert negative_file("jodie-wiki", "test") is None


def test_the_second_time_is_from_the_columns_alone(
    server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_dataset("jodie-wiki")
    monkeypatch.setattr(cache, "fetch", None)
    second = open_dataset("jodie-wiki")
    assert len(server.requests) == 1
    assert isinstance(second.features.base, np.memmap) or isinstance(second.features, np.memmap)
    np.testing.assert_array_equal(first.features, second.features)
    assert second.labels is not None


def test_a_raw_file_put_there_by_hand_needs_no_network(server: FileServer, wiki_csv: bytes) -> None:
    raw_folder("jodie-wiki").mkdir(parents=True)
    (raw_folder("jodie-wiki") / "wikipedia.csv").write_bytes(wiki_csv)
    assert len(open_dataset("jodie-wiki")) == 50
    assert not server.requests


@pytest.mark.parametrize("name", ["tgbl-wiki-v2.zip", "tgbl-wiki.zip"])
def test_a_zip_put_there_by_hand_needs_no_network_and_stays(server: FileServer, name: str) -> None:
    by_hand = raw_folder("tgbl-wiki") / name
    by_hand.parent.mkdir(parents=True)
    by_hand.write_bytes(server.files[WIKI.download_name])
    assert len(open_dataset("tgbl-wiki")) == 50
    assert by_hand.exists()
    assert not server.requests


def test_offline_says_which_file_to_put_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keat.datasets.download._PAUSES", (0.0,))
    nobody = "http://127.0.0.1:9/tgbl-wiki-v2.zip"
    monkeypatch.setitem(DATASETS, "tgbl-wiki", dataclasses.replace(WIKI, url=nobody))
    with pytest.raises(DownloadError) as caught:
        open_dataset("tgbl-wiki")
    assert nobody in str(caught.value)
    assert str(raw_folder("tgbl-wiki") / "tgbl-wiki-v2.zip") in str(caught.value)


def test_dgraphfin_says_what_to_get_where(data: Path) -> None:
    with pytest.raises(DownloadError) as caught:
        open_dataset("dgraphfin")
    for part in (
        "DGraphFin.zip",
        "https://dgraph.xinye.com",
        "dgraphfin.npz",
        str(data / "dgraphfin" / "raw"),
    ):
        assert part in str(caught.value)
    assert (data / "dgraphfin" / "raw").is_dir()


def test_paths_in_a_zip_cannot_lead_out(server: FileServer, data: Path, wiki_csv: bytes) -> None:
    evil = {f"../../../{WIKI.raw_files[0]}": wiki_csv, "../../evil.csv": b"x", "/tmp/keat-evil.csv": b"x"}
    server.files[WIKI.download_name] = zipped(evil)
    open_dataset("tgbl-wiki")
    everything = {path.name for path in data.parent.rglob("*")}
    assert "evil.csv" not in everything
    assert "keat-evil.csv" not in everything
    assert list(data.parent.rglob(WIKI.raw_files[0])) == [data / "tgbl-wiki" / "raw" / WIKI.raw_files[0]]


def cut(body: bytes) -> bytes:
    return body[: len(body) // 2]


def flipped(body: bytes) -> bytes:
    return body[:300] + bytes(255 - b for b in body[300:320]) + body[320:]


@pytest.mark.parametrize("spoil", [cut, flipped, lambda _: b"<html>moved</html>", lambda _: b""])
def test_a_corrupt_zip_is_deleted_and_said(server: FileServer, data: Path, spoil: Any) -> None:
    server.files[WIKI.download_name] = spoil(server.files[WIKI.download_name])
    with pytest.raises(DownloadError, match=r"is not a readable zip file.*it was deleted"):
        open_dataset("tgbl-wiki")
    assert not list((data / "tgbl-wiki" / "raw").iterdir())


def test_a_corrupt_zip_put_there_by_hand_is_left_alone() -> None:
    by_hand = raw_folder("tgbl-wiki") / "tgbl-wiki-v2.zip"
    by_hand.parent.mkdir(parents=True)
    by_hand.write_bytes(b"half a zip")
    with pytest.raises(DownloadError, match="download it again from http"):
        open_dataset("tgbl-wiki")
    assert by_hand.exists()


def test_a_zip_without_the_file_is_said(server: FileServer) -> None:
    server.files[WIKI.download_name] = zipped({"tgbl-wiki_edgelist.csv": b"the old version"})
    with pytest.raises(DownloadError, match=r"does not hold tgbl-wiki_edgelist_v2\.csv"):
        open_dataset("tgbl-wiki")


@pytest.mark.usefixtures("server")
def test_a_wrong_checksum_is_said(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    monkeypatch.setitem(DATASETS, "tgbl-wiki", dataclasses.replace(DATASETS["tgbl-wiki"], sha256="00" * 32))
    with pytest.raises(DownloadError, match="SHA-256"):
        open_dataset("tgbl-wiki")
    assert not list((data / "tgbl-wiki" / "raw").iterdir())


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("kind", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_columns_that_cannot_be_written_are_said(
    monkeypatch: pytest.MonkeyPatch, data: Path, kind: int
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(kind, os.strerror(kind))

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(CacheError, match=os.strerror(kind)):
        open_dataset("tgbl-wiki")
    assert sorted(path.name for path in (data / "tgbl-wiki").iterdir()) == [".lock", "raw"]
    monkeypatch.undo()
    monkeypatch.setenv("KEAT_DATA", str(data))
    assert len(open_dataset("tgbl-wiki")) == 50


@pytest.mark.usefixtures("server")
@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs an ordinary POSIX user")
def test_a_read_only_folder_is_said_but_still_opens_what_it_has(data: Path) -> None:
    open_dataset("jodie-wiki")
    for folder in (data / "jodie-wiki", data):
        folder.chmod(0o500)
    try:
        assert len(open_dataset("jodie-wiki")) == 50
        with pytest.raises(CacheError, match="make it writable, or set KEAT_DATA"):
            open_dataset("tgbl-wiki")
    finally:
        for folder in (data, data / "jodie-wiki"):
            folder.chmod(0o700)


def test_a_data_folder_that_is_a_file_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("KEAT_DATA", str(tmp_path / "file"))
    with pytest.raises(CacheError, match=r"Cannot write .*; set KEAT_DATA to a folder on another disk"):
        fetch("tgbl-wiki")


def test_several_at_once_fetch_once(server: FileServer) -> None:
    streams: list[EventStream] = []
    threads = [threading.Thread(target=lambda: streams.append(open_dataset("tgbl-wiki"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(stream) for stream in streams] == [50] * 4
    assert len(server.requests) == 1


def test_node_labels_survive_the_columns(server: FileServer) -> None:
    trade = dataset_info("tgbn-trade")
    edges = b"year,nation,trading nation,weight\n1986,A,B,2.5\n1987,B,A,1\n"
    labels = b"year,nation,trading nation,weight\n1987,A,B,0.75\n1987,A,A,0.25\n"
    server.files[trade.download_name] = zipped(dict(zip(trade.raw_files, (edges, labels), strict=True)))
    open_dataset("tgbn-trade")
    opened = open_dataset("tgbn-trade")
    assert opened.unit == "year"
    assert opened.ids.label(1) == "B"
    assert opened.node_labels is not None
    np.testing.assert_array_equal(opened.node_labels.dense(), [[0.25, 0.75]])


def test_an_unknown_name_touches_nothing(data: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'jodie-wiki'"):
        open_dataset("jodi-wiki")
    assert not data.exists()


def test_without_keat_data_the_platform_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEAT_DATA", raising=False)
    assert data_folder().name == "keat"
    monkeypatch.setenv("KEAT_DATA", "~/graphs")
    assert data_folder() == Path.home() / "graphs"


def test_columns_of_another_dataset_are_not_taken(data: Path) -> None:
    EventStream.from_arrays([0], [1], [2], name="other").save(data / "tgbl-wiki" / "stream")
    with pytest.raises(CacheError, match="stream holds other in 's', not tgbl-wiki in 's'; delete it, and"):
        open_dataset("tgbl-wiki")


@pytest.mark.usefixtures("server")
def test_damaged_columns_are_said(data: Path) -> None:
    open_dataset("tgbl-wiki")
    np.save(data / "tgbl-wiki" / "stream" / "src.npy", np.full(50, 10**6, np.int32))
    with pytest.raises(InputError, match="tgbl-wiki/stream is damaged: src names node 1000000 at row 1"):
        open_dataset("tgbl-wiki")


def test_a_data_folder_with_too_long_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEAT_DATA", "x" * 300)
    with pytest.raises(InputError, match="File name too long"):
        open_dataset("tgbl-wiki")
