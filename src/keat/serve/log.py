"""The log: SQLite in WAL mode, one row a micro-batch. What it has, was acknowledged or could have been.

    live/
      log.sqlite   the rows, and what the log is about
      head         how many events and records were committed, 16 bytes in shared memory: should the tail of
                   the log go missing, for SQLite leaves out what it cannot read, this tells

With ``durability="disk"`` a commit returns when the disk has it; with ``"process"`` when the system has it,
which outlives this process but not the power.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import apsw
import msgspec

from keat.disk import is_file, make_folder, sync
from keat.errors import CacheError, InputError
from keat.serve.log_records import Record, Recorded, chained_record, packed_record, unpacked_record
from keat.serve.log_rows import Row, chained, first_sum, packed, unpacked
from keat.serve.steps import reached

Durability = Literal["disk", "process"]
FORMAT = 1
FILE, HEAD, HEAD_FORM = "log.sqlite", "head", struct.Struct("<qq")
SYNCHRONOUS = {"disk": "FULL", "process": "NORMAL"}
ROOM = 1 << 16  # bytes that must be free before events are taken again
MANY_PAGES = 2_048  # that wait in the WAL, before they are moved to the file itself
LONG_WAL = 16_384  # pages, before it is begun anew
WAL_BYTES = 128 << 20  # of the WAL that stay on the disk, to be written over
SCHEMA = """
CREATE TABLE about (entry TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE batches (first INTEGER PRIMARY KEY, body BLOB NOT NULL, sum BLOB NOT NULL) STRICT;
CREATE TABLE records (
    number INTEGER PRIMARY KEY, after INTEGER NOT NULL, body BLOB NOT NULL, sum BLOB NOT NULL) STRICT;
CREATE TABLE labels (event INTEGER PRIMARY KEY, label REAL NOT NULL, told INTEGER NOT NULL) STRICT;
"""


class LogDamagedError(InputError):
    """The log is not what was written; nothing is scored from it."""


class LogWriteError(CacheError):
    """The log could not be written, so nothing is acknowledged."""


class Tail(NamedTuple):
    """A place in a log: the last event before it, the last checksum, and how many records are before it."""

    event: int
    sum: bytes
    records: int = 0


class Log:
    """Rows are appended here and read here. One writer; readers in other processes are welcome."""

    def __init__(self, folder: Path, about: dict[str, Any], durability: Durability, write: bool) -> None:
        self.folder, self.path, self.durability = folder, folder / FILE, durability
        self._about, self._first_sum = about, first_sum(about)
        if write:
            make_folder(folder)
        elif not is_file(self.path):
            raise InputError(f"{folder} has no log yet; serve the run and send it events.")
        self._head: mmap.mmap | None = None
        self._wal_pages = self._moved_pages = 0
        with self._reading():
            flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
            self._base = apsw.Connection(str(self.path), flags=flags if write else apsw.SQLITE_OPEN_READONLY)
            self._base.set_busy_timeout(5_000)
            if write:
                self._prepare()
            self._require_same()
            self.tail = self._last_place()
        if write:
            self._base.set_commit_hook(_about_to_commit)
            self._base.set_wal_hook(self._committed)
            self._open_head()
            sync(folder)  # the names of new files

    # -- opening ---------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        self._base.pragma("journal_mode", "wal")
        self._base.pragma("synchronous", SYNCHRONOUS[self.durability])
        self._base.pragma("wal_autocheckpoint", 0)  # see `tidy`
        self._base.pragma("journal_size_limit", WAL_BYTES)
        if not self._base.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
            with self._writing():
                self._base.execute(SCHEMA)
                entries = {"format": str(FORMAT), "about": msgspec.json.encode(self._about).decode()}
                self._base.executemany("INSERT INTO about VALUES (?, ?)", entries.items())

    def _require_same(self) -> None:
        entries: Any = self._base.execute("SELECT entry, value FROM about")
        found: dict[str, str] = dict(entries)
        if found.get("format") != str(FORMAT):
            raise InputError(f"{self.path} is of another version of keat (format {found.get('format')}).")
        there = msgspec.json.decode(found.get("about", "{}"))
        for name, value in self._about.items():
            if there.get(name) != value:
                raise InputError(
                    f"{self.folder} is the log of another run, or the run was trained or updated since "
                    f"(another {name}); move the folder away to begin a new log."
                )

    def _last_place(self) -> Tail:
        tail = Tail(0, self._first_sum)
        for first, body, checksum in self._select("ORDER BY first DESC LIMIT 1"):
            tail = Tail(first + len(self._row(body)) - 1, checksum)
        return self._after_records(tail)

    def _open_head(self) -> None:
        path = self.folder / HEAD
        if not is_file(path) or path.stat().st_size != HEAD_FORM.size:
            path.write_bytes(HEAD_FORM.pack(0, 0))
        with path.open("r+b") as file:
            self._head = mmap.mmap(file.fileno(), HEAD_FORM.size)
        promised, records = HEAD_FORM.unpack(self._head[:])
        if promised > self.tail.event or records > self.tail.records:
            self._head = None
            raise LogDamagedError(
                f"{self.path} ends with event {self.tail.event:,} and record {self.tail.records}, but event "
                f"{promised:,} and record {records} were acknowledged: its end is damaged or lost; "
                f"restore the folder from a copy, or delete {path} to go on without them."
            )
        self._write_head()

    def _write_head(self) -> None:
        assert self._head is not None
        self._head[:] = HEAD_FORM.pack(self.tail.event, self.tail.records)

    # -- writing ---------------------------------------------------------------------------------------

    def append(self, row: Row) -> None:
        """Commit a row; it is there whole when this returns, and not at all if it raises."""
        body = packed(row)
        checksum = chained(self.tail.sum, body)
        with self._failing():  # one statement, so one transaction
            self._base.execute("INSERT INTO batches VALUES (?, ?, ?)", (self.tail.event + 1, body, checksum))
        reached("row committed")
        self.tail = Tail(self.tail.event + len(row), checksum, self.tail.records)
        self._write_head()
        reached("head written")

    def record(self, record: Record) -> None:
        """Commit a record, between two rows."""
        body, tail = packed_record(record), self.tail
        checksum, number = chained_record(tail.sum, body), tail.records + 1
        with self._writing():
            self._base.execute(
                "INSERT INTO records VALUES (?, ?, ?, ?)", (number, tail.event, body, checksum)
            )
            reached("record in transaction")
        self.tail = Tail(tail.event, checksum, number)
        self._write_head()
        reached("record committed")

    def tell(self, labels: list[tuple[int, float, int]]) -> None:
        """Commit labels of events: number, label, when it was told. A later label replaces an earlier."""
        with self._writing():
            self._base.executemany("INSERT OR REPLACE INTO labels VALUES (?, ?, ?)", labels)

    def require_room(self) -> None:
        """Raises where a row of a batch could not be written."""
        with self._writing():
            self._base.execute("INSERT OR REPLACE INTO about VALUES ('room', ?)", ("x" * ROOM,))
        with self._writing():
            self._base.execute("DELETE FROM about WHERE entry = 'room'")

    @property
    def is_untidy(self) -> bool:
        """Whether many pages wait in the WAL, which are better moved to the file itself."""
        return self._wal_pages - self._moved_pages > MANY_PAGES

    @property
    def is_long(self) -> bool:
        """Whether the WAL had better be begun anew."""
        return self._wal_pages > LONG_WAL

    def move_rows(self) -> None:
        """Move most rows from the WAL to the file itself, from any thread, while more are appended. Where no
        more come and nobody reads, the next begins the WAL anew."""
        with self._failing(), closing(apsw.Connection(str(self.path))) as base:
            base.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()  # it has no WAL before it has read
            _, self._moved_pages = base.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def tidy(self) -> None:
        """Move all rows, without waiting for those who read; where nobody does, the next row begins the WAL
        anew, over what is in it. (To cut it off and to take as much of the disk again takes long.) A row is
        found in the WAL as long as it is not moved, so this may end at any moment."""
        reached("checkpoint begun")
        with self._failing():
            _, self._moved_pages = self._base.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        reached("checkpoint done")

    def _committed(self, base: apsw.Connection, name: str, pages: int) -> int:  # noqa: ARG002
        if pages < self._wal_pages:
            self._moved_pages = 0
        self._wal_pages = pages
        return apsw.SQLITE_OK

    # -- reading ---------------------------------------------------------------------------------------

    def rows(self, after: Tail | None = None) -> Iterator[tuple[int, Row]]:
        """Rows after a place in the log, each with the number of its first event; every one is checked to be
        the one that was written there."""
        for entry in self.entries(after):
            if not isinstance(entry, Recorded):
                yield entry

    def entries(self, after: Tail | None = None) -> Iterator[tuple[int, Row] | Recorded]:
        """Rows as `rows` gives them, and the records between them."""
        event, checksum, number = after or Tail(0, self._first_sum)
        with self._reading():
            batches = self._select("WHERE first > ? ORDER BY first", event)
            batch = next(batches, None)  # from now on both tables are read as of one moment
            records = self._select_records("WHERE number > ? ORDER BY number", number)
            record = next(records, None)
            while batch is not None or record is not None:
                if record is not None and (batch is None or record[1] < batch[0]):
                    found, checksum = self._checked_record(record, event, number, checksum)
                    number, record = found.number, next(records, None)
                    yield found
                    continue
                assert batch is not None
                first, body, written = batch
                if first != event + 1 or chained(checksum, body) != written:
                    raise self._damaged(f"the row of event {first:,} is not the one that was written")
                row = self._row(body)
                yield first, row
                event, checksum, batch = first + len(row) - 1, written, next(batches, None)

    def records(self) -> list[Recorded]:
        """All of them; that they are where they were written is checked by whoever reads past them."""
        with self._reading():
            found = self._select_records("ORDER BY number")
            return [Recorded(number, after, self._record(body)) for number, after, body, _ in found]

    def row_of(self, event: int) -> tuple[int, Row]:
        """The row that an event is in, and the number of its first event."""
        with self._reading():
            found = [*self._select("WHERE first <= ? ORDER BY first DESC LIMIT 2", event)]
            if found:
                first, body, checksum = found[0]
                before = found[1][2] if len(found) > 1 else self._first_sum
                before = self._after_records(Tail(first - 1, before)).sum
                if chained(before, body) == checksum:
                    row = self._row(body)
                    if event < first + len(row):
                        return first, row
        raise self._damaged(f"event {event:,} is not in the row where it was written")

    def place_of(self, event: int) -> Tail | None:
        """The place in the log right after an event that ends a row, and after the records that follow it;
        None where no row ends there."""
        checksum = self._sum_of_row_ending(event)
        return None if checksum is None else self._after_records(Tail(event, checksum))

    def has(self, place: Tail) -> bool:
        """Whether a place is one of this log."""
        with self._reading():
            for _, after, _, checksum in self._select_records("WHERE number = ?", place.records):
                if after == place.event:
                    return checksum == place.sum
                return after < place.event and self._sum_of_row_ending(place.event) == place.sum
        return place.records == 0 and self._sum_of_row_ending(place.event) == place.sum

    def _sum_of_row_ending(self, event: int) -> bytes | None:
        if event == 0:
            return self._first_sum
        first, row = self.row_of(event)
        if first + len(row) - 1 != event:
            return None
        with self._reading():
            ((_, _, checksum),) = self._select("WHERE first = ?", first)
        return checksum

    def _after_records(self, place: Tail) -> Tail:
        """The place after the records that follow a row."""
        for number, after, _, checksum in self._select_records(
            "WHERE after <= ? ORDER BY number DESC LIMIT 1", place.event
        ):
            return Tail(place.event, checksum if after == place.event else place.sum, number)
        return place

    def _checked_record(
        self, found: tuple[int, int, bytes, bytes], event: int, number: int, checksum: bytes
    ) -> tuple[Recorded, bytes]:
        own, after, body, written = found
        if (own, after) != (number + 1, event) or chained_record(checksum, body) != written:
            raise self._damaged(f"record {own:,} is not the one that was written")
        return Recorded(own, after, self._record(body)), written

    def labels(self) -> dict[int, float]:
        with self._reading():
            rows: Any = self._base.execute("SELECT event, label FROM labels ORDER BY event")
            return dict(rows)

    def _select(self, which: str, *values: int) -> Iterator[tuple[int, bytes, bytes]]:
        rows: Any = self._base.execute(f"SELECT first, body, sum FROM batches {which}", values)
        yield from rows

    def _select_records(self, which: str, *values: int) -> Iterator[tuple[int, int, bytes, bytes]]:
        rows: Any = self._base.execute(f"SELECT number, after, body, sum FROM records {which}", values)
        yield from rows

    def close(self) -> None:
        if self._head is not None:
            self._head.close()
            self._head = None
        self._base.close()

    # -- errors ----------------------------------------------------------------------------------------

    def _row(self, body: bytes) -> Row:
        try:
            return unpacked(body)
        except (ValueError, msgspec.MsgspecError) as error:
            raise self._damaged(f"a row cannot be read ({error})") from error

    def _record(self, body: bytes) -> Record:
        try:
            return unpacked_record(body)
        except (ValueError, msgspec.MsgspecError) as error:
            raise self._damaged(f"a record cannot be read ({error})") from error

    def _damaged(self, what: str) -> LogDamagedError:
        return LogDamagedError(f"{self.path} is damaged: {what}; restore the folder from a copy.")

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (
            apsw.CorruptError,
            apsw.NotADBError,
            apsw.SQLError,
            apsw.IOError,
            apsw.MismatchError,
        ) as error:
            raise self._damaged(str(error)) from error
        except (apsw.CantOpenError, apsw.PermissionsError, apsw.ReadOnlyError, apsw.AuthError) as error:
            raise InputError(f"Cannot open {self.path} ({error}); check its rights.") from error

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction. (SQLite itself has taken it back where the disk is full.)"""
        with self._failing():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._base.execute("COMMIT")
            except BaseException:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")
                raise

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except apsw.FullError as error:
            raise LogWriteError(f"Cannot write {self.path} ({error}); free some space.") from error
        except (apsw.IOError, apsw.BusyError, apsw.ReadOnlyError, apsw.CantOpenError) as error:
            raise LogWriteError(f"Cannot write {self.path} ({error}); see to the disk.") from error
        except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as error:
            raise self._damaged(str(error)) from error


def _about_to_commit() -> bool:
    reached("row in transaction")
    return False  # go on
