"""What a recipe says of how a file is read, and what of it stands in a ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from keat.errors import InputError
from keat.experiments.sources import source_of, written
from keat.tasks.task_spec import TaskSpec

EVENTS = 40


def log(folder: Path) -> str:
    rows = "".join(f"{i % 3},{10 + i % 5},{100 * i}\n" for i in range(EVENTS))
    path = folder / "log.csv"
    path.write_text("src,dst,t\n" + rows)
    return str(path)


def test_the_latest_events_alone_are_taken(tmp_path: Path) -> None:
    place = log(tmp_path)
    whole, some = (source_of(place, reading).open(TaskSpec()) for reading in ({}, {"latest": "20"}))
    assert len(whole.stream) == EVENTS
    assert some.stream.t.tolist() == whole.stream.t[-20:].tolist()
    assert (len(some.train), some.stream.offset) == (14, 0)


def test_more_than_there_are_is_all(tmp_path: Path) -> None:
    data = source_of(log(tmp_path), {"latest": "1000"}).open(TaskSpec())
    assert len(data.stream) == EVENTS


def test_the_ledger_tells_how_it_was_read() -> None:
    assert written(source_of("log.csv", {})) == "log.csv"
    assert written(source_of("somewhere/private/log.csv", {})) == "log.csv"
    assert written(source_of("log.csv", {"latest": "20", "unit": "ms"})) == "log.csv?unit=ms&latest=20"


@pytest.mark.parametrize("said", ["0", "-3", "some", "1.5", ""])
def test_a_cut_is_a_number_of_events(said: str) -> None:
    with pytest.raises(InputError, match="'latest' is a number of events"):
        source_of("log.csv", {"latest": said})


def test_another_file_is_read_whole(tmp_path: Path) -> None:
    source = source_of(log(tmp_path), {"latest": "20"})
    assert source.like("other.csv", source.reading).latest is None


def test_an_unknown_reading_is_named() -> None:
    with pytest.raises(InputError, match="not colour"):
        source_of("log.csv", {"colour": "red"})
