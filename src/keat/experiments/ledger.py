"""Results that were measured, one JSON line each, appended and never changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from keat.disk import look_at, reading, require_place, writing
from keat.errors import InputError

USUAL_LEDGER = Path("keat-out/ledger.jsonl")  # of `keat reproduce`, where none is named

NUMBER = (int, float)
REQUIRED: dict[str, tuple[type, ...]] = {"key": (str,), "val": (dict,), "test": (dict,)}
TYPES = REQUIRED | {
    "data": (str,),
    "model": (str,),
    "seed": (int,),
    "config": (dict,),
    "fit": (dict,),
    "refresh": (list,),
    "seconds": NUMBER,
    "loss": NUMBER,
}
WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")  # of JSON, beside numbers and texts


class Ledger:
    """A file of lines. Several processes may append; a line cut off by a crash does not count, any other that
    is no result is damage, which is said."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[dict[str, Any]]:
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
        return {line["key"] for line in self.lines()}

    def append(self, line: dict[str, Any]) -> None:
        """Add a line in one write, after any half line a killed process left."""
        # Half a character, as in the name of an odd file, is written as JSON escapes it.
        text = json.dumps(line, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"
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


def _read(content: bytes) -> dict[str, Any] | None:
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
        line = json.loads(text)
    except json.JSONDecodeError as error:
        if _is_cut_off(text, error):
            return None
        raise
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if problem := _wrong(line):
        raise ValueError(problem)
    return dict(line)


def _is_cut_off(text: str, error: json.JSONDecodeError) -> bool:
    """Whether more text could have made JSON of it, as when a process was killed while it wrote."""
    rest = text[error.pos :]
    begun = any(word.startswith(rest) for word in WORDS) or rest in (".", "e", "e-", "e+", "E", "E-", "E+")
    return text.startswith("{") and (begun or error.msg.startswith("Unterminated string"))


def _wrong(line: Any) -> str | None:
    if not isinstance(line, dict):
        return "it is no object"
    for name, kinds in TYPES.items():
        if name not in line:
            if name in REQUIRED:
                return f"it has no '{name}'"
        elif not isinstance(line[name], kinds) or isinstance(line[name], bool):
            return f"its '{name}' is a {type(line[name]).__name__}"
    if not _are_numbers(line["val"]):
        return "a metric of 'val' is no number"
    scored = line["test"].values()
    if not scored or not all(isinstance(part, dict) and _are_numbers(part) for part in scored):
        return "a metric of 'test' is no number"
    return None


def _are_numbers(metrics: dict[str, Any]) -> bool:
    return all(isinstance(value, NUMBER) for name, value in metrics.items() if name != "standard_errors")
