"""Results that were measured, one JSON line each, appended and never changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from keat.errors import CacheError, InputError

USUAL_LEDGER = Path("keat-out/ledger.jsonl")  # of `keat reproduce`, where none is named


class Ledger:
    """A file of lines. Several processes may append; a line cut off by a crash does not count."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        try:  # what a crash cut off may end within a letter
            written = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError as error:
            raise InputError(
                f"The ledger {self.path} cannot be read ({error.strerror or error}); choose another --ledger."
            ) from error
        found = []
        for line in filter(None, written):
            try:
                found.append(json.loads(line) if line.startswith("{") else {})
            except json.JSONDecodeError:
                continue
        if not all("key" in line for line in found):
            raise InputError(
                f"{self.path} is no ledger, which has one JSON object a line, each with its key; choose "
                "another --ledger."
            )
        return found

    def keys(self) -> set[str]:
        return {line["key"] for line in self.lines()}

    def append(self, line: dict[str, Any]) -> None:
        """Add a line in one write, after any half line a killed process left."""
        text = json.dumps(line, ensure_ascii=False).encode() + b"\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab", buffering=0) as file:
                file.write(text if self._ends_whole() else b"\n" + text)
        except OSError as error:
            raise CacheError(f"Cannot write the ledger {self.path} ({error.strerror or error}).") from error

    def _ends_whole(self) -> bool:
        content = self.path.read_bytes()
        return not content or content.endswith(b"\n")
