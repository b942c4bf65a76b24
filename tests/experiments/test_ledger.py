"""Results are kept line by line. Half a line does not count, and any other damage is said."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from keat.errors import InputError
from keat.experiments.ledger import Ledger
from keat.experiments.line import Line

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "ledger.jsonl"


def plain(key: str, **more: Any) -> dict[str, Any]:
    return {"key": key, "val": {"mrr": 0.5}, "test": {"200": {"mrr": 0.4}}, **more}


def line(key: str, **more: Any) -> Line:
    return Line.of(plain(key, **more))


def test_half_a_line_does_not_count(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    assert ledger.lines() == []
    ledger.append(line("a"))
    with ledger.path.open("a") as file:
        file.write('{"key": "b", "te')
    ledger.append(line("c"))
    assert ledger.keys() == {"a", "c"}


def test_a_line_cut_off_anywhere_does_not_count(tmp_path: Path) -> None:
    """Wherever a process is killed while it writes, in the middle of a number, a word or a letter."""
    more = {"clip": None, "best": True, "loss": -1.5e-7, "data": "straße 日本"}
    whole = json.dumps(plain("a", **more), ensure_ascii=False).encode()
    for end in range(1, len(whole)):
        ledger = Ledger(tmp_path / f"{end}.jsonl")
        ledger.path.write_bytes(whole[:end])
        assert ledger.lines() == [], whole[:end]
        ledger.append(line("b"))
        assert ledger.keys() == {"b"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hello", "Expecting value"),
        (b"\x00\x00\x00", "Expecting value"),
        (b'{"key": "b"] }', "Expecting"),
        (b'{"key": "\xff", "val": {}}', "can't decode byte 0xff"),
        (b"[]", "it is no object"),
        (b"null", "it is no object"),
        (b"3", "it is no object"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b"{}", "missing required field key"),
        (b'{"key": 3}', "Expected str, got int - at .*key"),
        (b'{"key": "b"}', "missing required field val"),
        (b'{"key": "b", "val": {}}', "missing required field test"),
        (json.dumps(plain("b", test=[])).encode(), "Expected object, got array - at .*test"),
        (json.dumps(plain("b", test={})).encode(), "its 'test' is empty"),
        (json.dumps(plain("b", test={"200": 0.5})).encode(), "Expected object, got float - at .*test"),
        (json.dumps(plain("b", val={"mrr": "high"})).encode(), "Expected float, got str - at .*val"),
        (json.dumps(plain("b", config=7)).encode(), "Expected object, got int - at .*config"),
        (json.dumps(plain("b", seconds="1")).encode(), r"Expected float \| null, got str - at .*seconds"),
        (json.dumps(plain("b", refresh=1)).encode(), "Expected array, got int - at .*refresh"),
    ],
)
def test_any_other_damage_is_said(content: bytes, message: str, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.append(line("a"))
    ledger.path.write_bytes(ledger.path.read_bytes() + content + b"\n")
    before = ledger.path.read_bytes()
    with pytest.raises(InputError, match=rf"Line 2 of the ledger .*ledger\.jsonl is damaged \(.*{message}"):
        ledger.lines()
    assert ledger.path.read_bytes() == before


def test_places_that_are_no_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place, message in ((".", "is a folder"), ("pipe", "a pipe"), ("x" * 300, "File name too long")):
        with pytest.raises(InputError, match=message):
            Ledger(tmp_path / place).lines()
        with pytest.raises(InputError, match=message):
            Ledger(tmp_path / place).append(line("a"))
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"Cannot write .*, since .*file is a file and no folder"):
        Ledger(tmp_path / "file" / "ledger.jsonl").lines()

    def denied(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(InputError, match=r"Cannot read .*file \(Permission denied\); check"):
        Ledger(tmp_path / "file").lines()


def test_half_a_letter_in_a_name_is_kept(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.append(line("a", data="\udcff.csv"))
    assert ledger.lines()[0].data == "\udcff.csv"


def test_the_ledger_of_the_results_is_whole() -> None:
    assert len(Ledger(RESULTS).lines()) == len(RESULTS.read_text(encoding="utf-8").splitlines())


def test_a_line_is_written_as_it_was_read(tmp_path: Path) -> None:
    """Those of the results, and what another version may have written besides."""
    written = [json.loads(each) for each in RESULTS.read_text(encoding="utf-8").splitlines()]
    errors = {"mrr": 0.4, "standard_errors": {"mrr": 0.01}}
    written.append(written[0] | {"key": "b", "test": {"1": errors}, "colour": ["blue"], "more": 3})
    ledger = Ledger(tmp_path / "ledger.jsonl")
    for each in written:
        ledger.append(Line.of(each))
    assert [json.loads(each) for each in ledger.path.read_text(encoding="utf-8").splitlines()] == written
    *_, last = ledger.lines()
    assert (last.test["1"].metrics, last.test["1"].standard_errors) == ({"mrr": 0.4}, {"mrr": 0.01})
    assert last.more == {"colour": ["blue"], "more": 3}
