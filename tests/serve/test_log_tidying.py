"""Rows are moved from the WAL to the file itself beside the service, and the WAL is written over."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest
from live_runs import checked, later_events, live_run

from keat.serve import log as log_module
from keat.serve.engine import Engine


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return Engine(live_run("keat-rank", tmp_path), "process")


def in_file_itself(engine: Engine, folder: Path) -> int:
    """Rows that are there without the WAL."""
    copy = folder / "copy.sqlite"
    copy.write_bytes(engine.log.path.read_bytes())
    with closing(apsw.Connection(str(copy))) as base:
        ((rows,),) = base.execute("SELECT count(*) FROM batches")
    assert isinstance(rows, int)
    return rows


def wal_size(engine: Engine) -> int:
    return engine.log.path.with_name("log.sqlite-wal").stat().st_size


def test_rows_are_moved_while_others_are_appended(engine: Engine, tmp_path: Path) -> None:
    events = checked(engine, later_events(engine, 60))
    for event in events[:30]:
        engine.take([event])
    engine.log.move_rows()
    assert in_file_itself(engine, tmp_path) == 30
    size = wal_size(engine)
    for event in events[30:50]:  # over what was moved
        engine.take([event])
    assert wal_size(engine) == size
    engine.log.tidy()
    assert in_file_itself(engine, tmp_path) == 50
    engine.take(events[50:])
    assert len([*engine.log.rows()]) == 51
    engine.close()


def test_it_does_not_wait_for_those_who_read(engine: Engine) -> None:
    events = checked(engine, later_events(engine, 60))
    for event in events[:20]:
        engine.take([event])
    reader = apsw.Connection(str(engine.log.path))
    rows = reader.execute("SELECT first FROM batches")
    assert next(rows) == (1,)
    size = wal_size(engine)
    engine.log.tidy()  # would wait for seconds, and fail, if it waited
    for event in events[20:40]:
        engine.take([event])
    assert wal_size(engine) > size
    assert len([*rows]) == 19  # as of when it began
    reader.close()
    engine.log.tidy()
    longer = wal_size(engine)
    engine.take(events[40:])
    assert wal_size(engine) == longer
    engine.close()


def test_when_there_is_something_to_move(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "MANY_PAGES", 30)
    monkeypatch.setattr(log_module, "LONG_WAL", 60)
    events = checked(engine, later_events(engine, 120))
    assert not engine.log.is_untidy
    seen = []
    for event in events:
        engine.take([event])
        seen.append((engine.log.is_untidy, engine.log.is_long))
        if engine.log.is_untidy:
            engine.log.move_rows()
            assert not engine.log.is_untidy
    assert (True, False) in seen
    assert not any(is_long for _, is_long in seen)  # nobody reads, so the WAL begins anew by itself
    engine.close()
