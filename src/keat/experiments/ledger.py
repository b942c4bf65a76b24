"""Results that were measured, one JSON line each, appended and never changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from keat.disk import look_at, reading, require_place, writing
from keat.errors import InputError
from keat.experiments.line import Line, Settings

USUAL_LEDGER = Path("keat-out/ledger.jsonl")  # of `keat reproduce`, where none is named

WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")  # of JSON, beside numbers and texts


class Written(Protocol):
    """What a line of a ledger can be."""

    @property
    def key(self) -> str:
        """The name of what was run; equal work has equal keys."""

    def to_json(self) -> dict[str, object]: ...


AnyLine = TypeVar("AnyLine", bound=Written)


class LedgerOf(Generic[AnyLine]):
    """A file of lines of a kind. Several processes may append; a line cut off by a crash does not count; any
    other that is no result is damage, and an error. ``line_of`` makes a line of its JSON, or raises a
    ValueError."""

    def __init__(self, path: Path, line_of: Callable[[Settings], AnyLine]) -> None:
        self.path, self.line_of = path, line_of

    def lines(self) -> list[AnyLine]:
        found = []
        for number, content in enumerate(self._content().split(b"\n"), 1):
            try:
                value = _json_of(content)
                if value is not None:
                    found.append(self.line_of(value))
            except ValueError as error:
                raise InputError(
                    f"Line {number} of the ledger {self.path} is damaged ({error}); mend or delete that line."
                ) from error
        return found

    def keys(self) -> set[str]:
        return {line.key for line in self.lines()}

    def append(self, line: AnyLine) -> None:
        """Add a line in one write, after any half line a killed process left."""
        # Half a character, as in the name of an odd file, is written as JSON escapes it.
        text = json.dumps(line.to_json(), ensure_ascii=False).encode(errors="backslashreplace") + b"\n"
        whole = self._content()[-1:] in (b"", b"\n")
        with writing(self.path, "name another ledger"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab", buffering=0) as file:
                file.write(text if whole else b"\n" + text)

    def _content(self) -> bytes:
        kind = look_at(self.path)
        if kind is None:
            require_place(self.path)  # before anything is measured, not after it
        if kind == "folder":
            raise InputError(f"The ledger {self.path} is a folder; name a file.")
        with reading(self.path):
            return b"" if kind is None else self.path.read_bytes()


class Ledger(LedgerOf[Line]):
    """Of the runs of `keat reproduce`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, Line.of)


def _json_of(content: bytes) -> Settings | None:
    """The object in a line; None where there is none, or half of one."""
    if not content.strip():
        return None
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        if error.end == len(content) and "end of data" in error.reason:  # cut within a character
            return None
        raise
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        if _is_cut_off(text, error):
            return None
        raise
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    return found


def _is_cut_off(text: str, error: json.JSONDecodeError) -> bool:
    """Whether more text could have made JSON of it, as when a process was killed while it wrote."""
    rest = text[error.pos :]
    begun = any(word.startswith(rest) for word in WORDS) or rest in (".", "e", "e-", "e+", "E", "E-", "E+")
    return text.startswith("{") and (begun or error.msg.startswith("Unterminated string"))
