"""Files that are not what they seem, names that lead astray, places that cannot be written: one sentence
each, at once, and nothing left behind."""

from __future__ import annotations

import dataclasses
import errno
import os
from pathlib import Path
from typing import Any

import pytest
from command import ORDERS, assert_fails, keat, write_orders

from keat.datasets.payments import simulate_payments

LONG = "x" * 300


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to run in with all kinds of things in it."""
    folder = tmp_path / "deep" / "work"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("KEAT_DATA", str(tmp_path / "data"))
    write_orders(folder)
    simulate_payments(300).save("saved")
    for kind in ("", ".csv", ".parquet", ".arrow", ".npy", ".npz", ".toml", ".png"):
        os.mkfifo(f"pipe{kind}")
    Path("gone.csv").symlink_to("nowhere.csv")
    Path("loop.csv").symlink_to("loop.csv")
    Path("folder.csv").mkdir()
    Path("two\nlines.csv").write_text("a\n1\n")
    Path("run").mkdir()
    Path("run/run.json").write_text("{}")
    return folder


def what_is_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


PIPE = "is neither a file nor a folder but a pipe or a device; give a plain file"
NO_RUN = "is a file, and a run is a folder made by keat train; give that folder"
NOT_THE_RUN = "is a saved stream and not a run; give the folder made by keat train"
CASES: list[tuple[list[str], str]] = [
    *((["data", "info", f"pipe{kind}"], PIPE) for kind in ("", ".csv", ".parquet", ".arrow")),
    (["data", "info", "gone.csv"], "does not exist; it is a link to something that is gone"),
    (["data", "info", "loop.csv"], "Cannot use loop.csv (Too many levels of symbolic links)"),
    (["data", "info", "folder.csv"], "is a folder, but not one written by EventStream.save"),
    (["data", "info", "two\nlines.csv"], "two\\nlines.csv has no column with a usual name"),
    (["data", "info", "/dev/zero"], PIPE),
    (["data", "info", LONG], "(File name too long); check the path and its rights"),
    (["data", "info", f"{LONG}.csv"], "(File name too long); check the path and its rights"),
    (["data", "info", f"{LONG}/x.csv"], "(File name too long); check the path and its rights"),
    (["data", "info", "~nobody-at-all/x.csv"], "names a home folder that is not here"),
    (["data", "info", ""], "The name of the dataset is empty"),
    (["data", "info", "run"], "run is a run, made by keat train, and not a dataset; give the data instead"),
    (["data", "info", "orders.csv/x.csv"], "orders.csv is a file and no folder"),
    (["data", "info", "payments:99999999999999"], "payments need 6,600,000 GB of memory"),
    (["data", "info", "payments:-5"], "should name a number of events"),
    (["data", "info", "orders.csv", *ORDERS, "--features", "pipe.npy"], PIPE),
    (["data", "info", "orders.csv", *ORDERS, "--features", f"{LONG}.npy"], "(File name too long)"),
    (["predict", "orders.csv", "--source", "C-001"], NO_RUN),
    (["predict", "saved", "--source", "C-001"], NOT_THE_RUN),
    (["predict", "pipe", "--source", "C-001"], PIPE),
    (["predict", LONG, "--source", "C-001"], "(File name too long)"),
    (["predict", "nowhere", "--source", "C-001"], "nowhere is not a keat run: it has no run.json"),
    (["explain", "orders.csv", "--src", "a", "--dst", "b"], NO_RUN),
    (["evaluate", "orders.csv", "orders.csv", *ORDERS], NO_RUN),
    (["evaluate", "saved", "orders.csv", *ORDERS], NOT_THE_RUN),
    (["evaluate", LONG, "orders.csv", *ORDERS], "(File name too long)"),
    (["evaluate", "edgebank", "run"], "is a run, made by keat train, and not a dataset"),
    (["evaluate", "heuristics", "orders.csv", *ORDERS, "--node-labels", "pipe"], PIPE),
    (["evaluate", "heuristics", "orders.csv", *ORDERS, "--node-labels", "no.csv"], "There is no file no.csv"),
    (["train", "gearsage", "pipe.npz"], PIPE),
    (["analyze", "moments", "--out", "orders.csv/x.png"], "since orders.csv is a file and no folder"),
    (["analyze", "moments", "--out", "folder.csv"], "is a folder; name a file in it"),
    (["analyze", "moments", "--out", "x.nope"], "A picture is not drawn as x.nope; let its name end in .png"),
    (["analyze", "moments", "--out", "pipe.png"], PIPE),
    (["analyze", "moments", "--out", f"{LONG}.png"], "(File name too long)"),
    (["reproduce", "figure-kernels", "--out", "orders.csv/x.png"], "orders.csv is a file and no folder"),
    (["reproduce", "figure-kernels", "--out", ""], "is a folder; name a file in it"),
    (["reproduce", "pipe.toml"], PIPE),
    (["reproduce", f"{LONG}.toml"], "(File name too long)"),
    (["reproduce", "table-link", "--data", f"wikipedia={LONG}"], "(File name too long)"),
    (["reproduce", "list", "--ledger", "pipe"], PIPE),
    (["reproduce", "list", "--ledger", "folder.csv"], "The ledger folder.csv is a folder; name a file"),
    (["reproduce", "list", "--ledger", "orders.csv"], "Line 1 of the ledger orders.csv is damaged"),
]


@pytest.mark.parametrize(("arguments", "message"), CASES, ids=[" ".join(case[0])[:60] for case in CASES])
def test_one_sentence_and_nothing_left(arguments: list[str], message: str, workplace: Path) -> None:
    before = what_is_in(workplace.parent)
    assert message in assert_fails(keat(*arguments))
    assert what_is_in(workplace.parent) == before


def test_a_recipe_that_cannot_be_made_trains_nothing(workplace: Path) -> None:
    Path("mine.toml").write_text(
        "title = 'x'\nabout = 'x'\nmetric = 'nope'\ndatasets = ['mine']\nseeds = 1\n"
        "[[arms]]\nlabel = 'TGN'\nmodel = 'tgn'\n"
    )
    before = what_is_in(workplace)
    said = assert_fails(keat("reproduce", "mine.toml", "--data", "mine=orders.csv"))
    assert "The recipe mine cannot be run: Unknown metric of link-ranking 'nope'" in said
    assert what_is_in(workplace) == before


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

    monkeypatch.setattr("keat.cli.data.describe", fail)
    assert message in assert_fails(keat("data", "info", "payments:2000"))


@pytest.mark.parametrize("file", ["orders.csv", "events.parquet", "saved"])
def test_a_file_that_may_not_be_read(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    Path("events.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr("builtins.open", denied)
    monkeypatch.setattr("keat.events.files.pq.read_schema", denied)
    monkeypatch.setattr("numpy.lib.format.open_memmap", denied)
    assert "(Permission denied); check its rights" in assert_fails(keat("data", "info", file))
