"""Downloads from a server on localhost that stops, forgets, lies and goes away."""

from __future__ import annotations

import errno
import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from file_server import FileServer, serve

from keat.datasets.download import download
from keat.errors import CacheError, DownloadError

BODY = bytes(range(256)) * 8_000  # 2 MB, several chunks


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    monkeypatch.setattr("keat.datasets.download._PAUSES", (0.0, 0.0, 0.0))
    with serve() as running:
        running.files["file.bin"] = BODY
        yield running


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "down" / "file.bin"


def only_file(target: Path) -> bool:
    return [path.name for path in target.parent.iterdir()] == [target.name]


def test_arrives_whole_with_progress_and_nothing_else(server: FileServer, target: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    digest = hashlib.sha256(BODY).hexdigest()
    found = download(server.url("file.bin"), target, sha256=digest, progress=lambda *step: seen.append(step))
    assert found == target
    assert target.read_bytes() == BODY
    assert only_file(target)
    assert seen[0] == (0, len(BODY))
    assert seen[-1] == (len(BODY), len(BODY))
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


def test_goes_on_where_the_connection_broke(server: FileServer, target: Path) -> None:
    server.stop_after = [500_000, 700_000]
    download(server.url("file.bin"), target)
    assert target.read_bytes() == BODY
    ranges = [request.get("Range") for request in server.requests]
    assert ranges == [None, "bytes=500000-", "bytes=1200000-"]
    assert server.requests[1]["If-Range"] == '"v1"'


def test_goes_on_where_an_earlier_run_stopped(server: FileServer, target: Path) -> None:
    server.stop_after = [300_000, 0, 0, 0, 0]
    with pytest.raises(DownloadError, match="closed after 300,000 of 2,048,000 bytes"):
        download(server.url("file.bin"), target)
    assert not target.exists()
    server.stop_after.clear()
    seen: list[int] = []
    download(server.url("file.bin"), target, progress=lambda done, _: seen.append(done))
    assert seen[0] == 300_000
    assert target.read_bytes() == BODY
    assert only_file(target)


def test_starts_over_when_the_file_has_changed(server: FileServer, target: Path) -> None:
    server.stop_after = [300_000, 0, 0, 0, 0]
    with pytest.raises(DownloadError):
        download(server.url("file.bin"), target)
    server.stop_after.clear()
    server.files["file.bin"], server.etag = BODY[::-1], '"v2"'
    download(server.url("file.bin"), target)
    assert target.read_bytes() == BODY[::-1]


def test_starts_over_when_the_server_knows_no_ranges(server: FileServer, target: Path) -> None:
    server.ranges = False
    server.stop_after = [500_000]
    download(server.url("file.bin"), target)
    assert target.read_bytes() == BODY


@pytest.mark.parametrize("etag", ["", 'W/"weak"'])
def test_starts_over_when_the_server_cannot_name_the_file(
    server: FileServer, target: Path, etag: str
) -> None:
    server.etag = etag
    server.stop_after = [500_000]
    download(server.url("file.bin"), target)
    assert target.read_bytes() == BODY
    assert "Range" not in server.requests[1]


def test_a_part_longer_than_the_file_is_thrown_away(server: FileServer, target: Path) -> None:
    target.parent.mkdir(parents=True)
    target.with_name("file.bin.part").write_bytes(BODY + b"more")
    target.with_name("file.bin.part.version").write_text(server.etag)
    download(server.url("file.bin"), target)
    assert target.read_bytes() == BODY


def test_a_passing_failure_is_tried_again(server: FileServer, target: Path) -> None:
    server.answers = [503, 500, 429]
    download(server.url("file.bin"), target)
    assert target.read_bytes() == BODY
    assert len(server.requests) == 4


def test_a_lasting_failure_is_not_tried_for_ever(server: FileServer, target: Path) -> None:
    server.answers = [503] * 99
    with pytest.raises(DownloadError, match="the server answered 503"):
        download(server.url("file.bin"), target)
    assert len(server.requests) == 4


def test_not_found_is_said_at_once(server: FileServer, target: Path) -> None:
    with pytest.raises(DownloadError, match=r"refused .*/gone\.bin \(404 Not Found\)"):
        download(server.url("gone.bin"), target)
    assert len(server.requests) == 1
    assert not any(target.parent.iterdir())


def test_no_server_says_what_to_put_where(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keat.datasets.download._PAUSES", (0.0,))
    nobody = "http://127.0.0.1:9/file.bin"
    with pytest.raises(DownloadError) as caught:
        download(nobody, target)
    message = str(caught.value)
    assert nobody in message
    assert str(target) in message
    assert "Connection refused" in message
    assert message.count(". ") == 0
    assert not any(target.parent.iterdir())


def test_a_wrong_checksum_leaves_nothing(server: FileServer, target: Path) -> None:
    with pytest.raises(DownloadError, match=f"SHA-256 {hashlib.sha256(BODY).hexdigest()}, expected 00"):
        download(server.url("file.bin"), target, sha256="00" * 32)
    assert not any(target.parent.iterdir())


def test_a_disk_too_small_is_said_before_the_transfer(
    server: FileServer, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))
    with pytest.raises(CacheError, match=r"still to come\); free some space"):
        download(server.url("file.bin"), target)
    assert not target.exists()


def test_a_disk_that_fills_up_keeps_what_came(
    server: FileServer, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Path.open

    def tight(path: Path, mode: str = "r", *args: Any, **options: Any) -> Any:
        file = opened(path, mode, *args, **options)
        if path.suffix == ".part" and "b" in mode and "r" not in mode:
            return _Tight(file, 600_000)
        return file

    monkeypatch.setattr(Path, "open", tight)
    with pytest.raises(CacheError, match=r"No space left on device.*KEAT_DATA"):
        download(server.url("file.bin"), target)
    assert not target.exists()
    monkeypatch.undo()
    download(server.url("file.bin"), target)
    assert target.read_bytes() == BODY
    assert server.requests[-1]["Range"].startswith("bytes=")


class _Tight:
    """A file on a disk with room for so many bytes."""

    def __init__(self, file: Any, room: int) -> None:
        self.file, self.room = file, room

    def write(self, data: bytes) -> None:
        if len(data) > self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= len(data)
        self.file.write(data)

    def flush(self) -> None:
        self.file.flush()

    def __enter__(self) -> _Tight:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


def test_a_folder_that_cannot_be_made_is_said(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CacheError, match=r"Cannot write .*file/raw \(.*\); set KEAT_DATA"):
        download(server.url("file.bin"), tmp_path / "file" / "raw" / "file.bin")


@pytest.mark.parametrize("mark", [b"\xff\xfe", b'"x"\r\nX-Other: y', b"x" * 10_000])
def test_a_damaged_mark_is_not_sent(mark: bytes, server: FileServer, target: Path) -> None:
    """Not even as a header of its own."""
    target.parent.mkdir(parents=True)
    target.with_name("file.bin.part").write_bytes(BODY[:100])
    target.with_name("file.bin.part.version").write_bytes(mark)
    download(server.url("file.bin"), target)
    assert target.read_bytes() == BODY
    assert "X-Other" not in server.requests[0]
