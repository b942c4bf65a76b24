"""Results that were measured, one JSON line each, appended and never changed."""

from __future__ import annotations

import json
from pathlib import Path

from keat.disk import look_at, reading, require_place, writing
from keat.errors import InputError
from keat.experiments.line import Line

USUAL_LEDGER = Path("keat-out/ledger.jsonl")  # of `keat reproduce`, where none is named

WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")  # of JSON, beside numbers and texts


class Ledger:
    """A file of lines. Several processes may append; a line cut off by a crash does not count, any other that
    is no result is damage, which is said."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[Line]:
        found = []
        for number, content in enumerate(self._content().split(b"\n"), 1):
            try:
                line = _read(content)
            except ValueError as error:
                raise InputError(
                    f"Line {number} of the ledger {self.path} is damaged ({error}); mend or delete that line."
                ) from error
            if line is not None:
                found.append(line)
        return found

    def keys(self) -> set[str]:
        return {line.key for line in self.lines()}

    def append(self, line: Line) -> None:
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


def _read(content: bytes) -> Line | None:
    """The result in a line; None where there is none, or half of one."""
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
    return Line.of(found)


def _is_cut_off(text: str, error: json.JSONDecodeError) -> bool:
    """Whether more text could have made JSON of it, as when a process was killed while it wrote."""
    rest = text[error.pos :]
    begun = any(word.startswith(rest) for word in WORDS) or rest in (".", "e", "e-", "e+", "E", "E-", "E+")
    return text.startswith("{") and (begun or error.msg.startswith("Unterminated string"))
