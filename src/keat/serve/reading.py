"""Bodies of requests: JSON or NDJSON into events, pairs and questions; what is wrong is one sentence."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeVar

import msgspec

from keat.errors import InputError, KeatError
from keat.serve.events import Checked, Checker, Event
from keat.serve.limits import Limits

T = TypeVar("T")
Form = Literal["json", "ndjson"]
FORMS: dict[str, Form] = {
    "application/json": "json",
    "application/x-ndjson": "ndjson",
    "application/ndjson": "ndjson",
    "application/jsonl": "ndjson",
}
_PATH = re.compile(r" - at `(?:key in )?\$(.*?)`$")


class NotJsonError(InputError):
    """The body cannot be read at all."""


class TooLargeError(InputError):
    """More than one request may have."""


def objects(kind: type[T], body: bytes, form: Form, most: int, what: str) -> tuple[list[T], bool]:
    """One object or several of a kind, and whether it was one by itself."""
    if not body.strip():
        raise NotJsonError(f"The body is empty; send {what} as JSON.")
    if form == "ndjson":
        found = _lines(kind, body, what)
        single = False
    else:
        single = body.lstrip()[:1] == b"{"
        found = [_decoded(kind, body, "")] if single else _decoded(list[kind], body, "")  # type: ignore[valid-type]
    if not found:
        raise InputError(f"The body has no {what} in it; send at least one.")
    if len(found) > most:
        raise TooLargeError(f"{len(found):,} {what} are more than the {most:,} of one request; send fewer.")
    return found, single


def line_read(kind: type[T], line: bytes) -> T:
    """One object by itself."""
    found: T = _decoded(kind, line, "")
    return found


def _lines(kind: type[T], body: bytes, what: str) -> list[T]:
    try:
        return msgspec.json.Decoder(kind).decode_lines(body)
    except msgspec.MsgspecError:  # once more, to tell which line
        pass
    lines = [line for line in enumerate(body.split(b"\n"), start=1) if line[1].strip()]
    found = [_decoded(kind, line, f"Line {number}: ") for number, line in lines]
    return found or _empty(what)


def _empty(what: str) -> Any:
    raise NotJsonError(f"The body is empty; send {what} as JSON.")


def _decoded(kind: Any, body: bytes, where: str) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise InputError(_sentence(str(error), where)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotJsonError(f"{where}The body is not JSON ({error}); mend it.") from error


def _sentence(problem: str, where: str) -> str:
    """What msgspec says, as a sentence: Expected `int`, got `str` - at `$[3].time`."""
    found = _PATH.search(problem)
    place = found[1] if found else ""
    problem = _PATH.sub("", problem).replace("`", "'")
    row = re.match(r"\[(\d+)\]", place)
    if row:
        where, place = f"Object {int(row[1]) + 1}: ", place[row.end() :]
    name = place.lstrip(".")
    about = f" in '{name}'" if name else ""
    return f"{where}{problem[0].upper()}{problem[1:]}{about}; see /openapi.json."


def checked_events(checker: Checker, body: bytes, form: Form, limits: Limits) -> tuple[list[Checked], bool]:
    """Events that can be taken, or what is wrong with the first that cannot."""
    events, single = objects(Event, body, form, limits.events, "events")
    check, found = checker.event, []
    for number, event in enumerate(events, start=1):
        try:
            found.append(check(event))
        except KeatError as error:
            raise InputError(str(error) if single else f"Event {number}: {error}") from error
    return found, single
