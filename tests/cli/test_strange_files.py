"""Names that lead astray, files that may not be read, and what the system says: one sentence each."""

from __future__ import annotations

import dataclasses
import errno
from pathlib import Path
from typing import Any

import pytest
from command import assert_fails, keat, write_orders

from keat.datasets.payments import simulate_payments


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to run in, with a log and a saved stream."""
    folder = tmp_path / "deep" / "work"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("KEAT_DATA", str(tmp_path / "data"))
    write_orders(folder)
    simulate_payments(300).save("saved")
    return folder


def what_is_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_the_folder_of_a_picture_is_made(workplace: Path) -> None:
    pytest.importorskip("matplotlib")
    assert keat("analyze", "moments", "--out", "new/one/x.png").code == 0
    assert keat("analyze", "moments", "--out", "new/y").code == 0
    assert what_is_in(workplace / "new") == ["one", "one/x.png", "y.png"]


@pytest.mark.parametrize("name", ["../../../../escaped", "..", "-rf", "a\nb", "y" * 300])
def test_a_stream_does_not_choose_where_its_run_goes(name: str, workplace: Path) -> None:
    dataclasses.replace(simulate_payments(300), name=name).save("named")
    before = what_is_in(workplace.parent.parent)
    ran = keat("train", "tgn", "named", "--epochs", "1", "--set", "dim=8", "--set", "neighbors=2", "--json")
    assert ran.code == 0, ran
    (run,) = Path("runs").iterdir()
    assert run.name.startswith("tgn-")
    assert Path(ran.json["run"]) == run
    beside = {path for path in what_is_in(workplace.parent.parent) if "work/runs" not in path}
    assert beside == set(before)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "big.npy"), "cannot use big.npy (No space left on"),
        (PermissionError(errno.EACCES, "Permission denied"), "cannot use a file (Permission denied); see to"),
        (MemoryError("Unable to allocate 7 TiB"), "there is not enough memory for this (Unable to allocate"),
    ],
)
def test_what_the_system_says_is_said(
    error: Exception, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr("keat.cli.data_command.describe", fail)
    assert message in assert_fails(keat("data", "info", "payments:2000"))


@pytest.mark.parametrize("file", ["orders.csv", "events.parquet", "saved"])
def test_a_file_that_may_not_be_read(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    Path("events.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr("builtins.open", denied)
    monkeypatch.setattr("keat.events.arrow_files.pq.read_schema", denied)
    monkeypatch.setattr("numpy.lib.format.open_memmap", denied)
    assert "(Permission denied); check its rights" in assert_fails(keat("data", "info", file))
