"""Requests that are refused: what is sent, the status, and a part of the one sentence that is answered."""

from __future__ import annotations

from typing import Any, NamedTuple

JSON = {"Content-Type": "application/json"}
LINES = {"Content-Type": "application/x-ndjson"}
EVENT: dict[str, Any] = {"source": 3, "destination": 44, "time": 1_711_000_000}
PAIR = {"source": 3, "destination": 44}
MANY = "x" * 300


class Bad(NamedTuple):
    path: str
    body: Any
    status: int
    says: str
    method: str = "POST"
    headers: dict[str, str] = JSON


def changed(**changes: Any) -> dict[str, Any]:
    return EVENT | changes


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in EVENT.items() if key != name}


EVENTS = "/v1/events"
BAD: dict[str, Bad] = {
    # -- the way of asking
    "no such path": Bad("/v2/events", EVENT, 404, "nothing at this address"),
    "a path below": Bad("/v1/events/7", EVENT, 404, "nothing at this address"),
    "the page by POST": Bad("/", EVENT, 405, "asked in another way"),
    "the page of an event that is none": Bad("/v1/explain/0/page", None, 404, "no event '0'", "GET"),
    "events by GET": Bad(EVENTS, None, 405, "asked in another way", "GET"),
    "metrics by POST": Bad("/metrics", EVENT, 405, "asked in another way"),
    "events by PUT": Bad(EVENTS, EVENT, 405, "asked in another way", "PUT"),
    "alerts by POST": Bad("/v1/alerts", EVENT, 405, "asked in another way"),
    "alerts after what is no number": Bad("/v1/alerts?after=now", None, 422, "no number of an event", "GET"),
    "alerts after less than nothing": Bad("/v1/alerts?after=-1", None, 422, "no number of an event", "GET"),
    "alerts by something else": Bad("/v1/alerts?since=1", None, 422, "no 'since' to ask for", "GET"),
    "a last alert that is none": Bad(
        "/v1/alerts", None, 422, "no number of an event", "GET", {"Last-Event-ID": "x"}
    ),
    "an order that is none": Bad("/v1/models", {"do": "explode"}, 422, "'do'"),
    "no order": Bad("/v1/models", {}, 422, "'do'"),
    "loading nothing": Bad("/v1/models", {"do": "load"}, 422, "Name the run"),
    "loading without a folder": Bad("/v1/models", {"do": "load", "run": "next"}, 422, "--models"),
    "loading a path": Bad("/v1/models", {"do": "load", "run": "../../etc"}, 422, "--models"),
    "switching to nothing": Bad("/v1/models", {"do": "switch"}, 422, "load one first"),
    "switching to a name": Bad("/v1/models", {"do": "switch", "run": "next"}, 422, "leave out the run"),
    "two orders": Bad("/v1/models", [{"do": "drop"}, {"do": "drop"}], 413, "more than the 1"),
    "no content type": Bad(EVENTS, EVENT, 415, "Content-Type", headers={}),
    "a form": Bad(EVENTS, "a=b", 415, "Content-Type", headers={"Content-Type": "text/plain"}),
    "xml": Bad(EVENTS, "<a/>", 415, "Content-Type", headers={"Content-Type": "application/xml"}),
    "another host": Bad(EVENTS, EVENT, 421, "127.0.0.1", headers=JSON | {"Host": "evil.example"}),
    "an unknown flag": Bad(f"{EVENTS}?why=true", EVENT, 422, "no 'why' to ask for"),
    "a flag that is neither": Bad(f"{EVENTS}?rank=maybe", EVENT, 422, "true or false"),
    "a body too large": Bad(EVENTS, " " * 70_000, 413, "larger than"),
    # -- the body
    "an empty body": Bad(EVENTS, "", 400, "body is empty"),
    "blanks": Bad(EVENTS, " \n ", 400, "body is empty"),
    "no JSON": Bad(EVENTS, "hello", 400, "not JSON"),
    "half an object": Bad(EVENTS, '{"source": 3', 400, "not JSON"),
    "two objects in JSON": Bad(
        EVENTS, '{"source": 3, "destination": 44, "time": 1711000000} {}', 400, "not JSON"
    ),
    "broken UTF-8": Bad(EVENTS, b'{"source": "\xff"}', 400, "not JSON"),
    "half a letter": Bad(EVENTS, '{"source": "\\ud800", "destination": 1, "time": 1}', 400, "not JSON"),
    "NaN": Bad(EVENTS, '{"source": 3, "destination": 44, "time": NaN}', 400, "not JSON"),
    "deep nesting": Bad(EVENTS, "[" * 5_000, 422, "Expected 'object'"),
    "a number": Bad(EVENTS, "7", 422, "Expected 'array'"),
    "a text": Bad(EVENTS, '"event"', 422, "Expected 'array'"),
    "null": Bad(EVENTS, "null", 422, "Expected 'array'"),
    "no events": Bad(EVENTS, [], 422, "at least one"),
    "too many events": Bad(EVENTS, [EVENT] * 1_001, 413, "more than the 1,000"),
    "a list of numbers": Bad(EVENTS, [1, 2], 422, "Object 1: Expected 'object'"),
    "the second is wrong": Bad(EVENTS, [EVENT, without("time")], 422, "Object 2: Object missing"),
    "a line that is no JSON": Bad(EVENTS, "[}\n", 422, "Line 1", headers=LINES),
    "the second line": Bad(
        EVENTS,
        '{"source": 3, "destination": 44, "time": 1711000000}\n{"source": 3}\n',
        422,
        "Line 2: Object missing",
        headers=LINES,
    ),
    "lines of nothing": Bad(EVENTS, "\n\n", 400, "body is empty", headers=LINES),
    # -- fields of events
    "no source": Bad(EVENTS, without("source"), 422, "'source'"),
    "no destination": Bad(EVENTS, without("destination"), 422, "'destination'"),
    "no time": Bad(EVENTS, without("time"), 422, "'time'"),
    "an unknown field": Bad(EVENTS, changed(amount=3), 422, "unknown field 'amount'"),
    "a source that is null": Bad(EVENTS, changed(source=None), 422, "'source'"),
    "a source that is a list": Bad(EVENTS, changed(source=[3]), 422, "'source'"),
    "a source with a fraction": Bad(EVENTS, changed(source=3.5), 422, "'source'"),
    "a source that is true": Bad(EVENTS, changed(source=True), 422, "'source'"),
    "a source that is text": Bad(EVENTS, changed(source="three"), 422, "whole numbers"),
    "a source with leading zeros": Bad(EVENTS, changed(source="007"), 422, "whole numbers"),
    "a source that is empty": Bad(EVENTS, changed(source=""), 422, "whole numbers"),
    "a source beyond 64 bits": Bad(EVENTS, changed(source=1 << 63), 422, "64 bits"),
    "a source far beyond": Bad(EVENTS, changed(source=10**30), 422, "64 bits"),
    "a very long source": Bad(EVENTS, changed(source="9" * 5_000), 422, "'source'"),
    "a destination that is text": Bad(EVENTS, changed(destination="<b>"), 422, "whole numbers"),
    "a time that is null": Bad(EVENTS, changed(time=None), 422, "'time'"),
    "a time below zero": Bad(EVENTS, changed(time=-1), 422, "is no time"),
    "a time with a fraction": Bad(EVENTS, changed(time=1.5), 422, "is no time"),
    "a time that is text": Bad(EVENTS, changed(time="yesterday"), 422, "is no time"),
    "a time in milliseconds": Bad(EVENTS, changed(time=1_711_000_000_000), 422, "ahead of the clock"),
    "a time of the year 9999": Bad(EVENTS, changed(time="9999-01-01"), 422, "ahead of the clock"),
    "a time before all dates": Bad(EVENTS, changed(time=7), 422, "no date of this run"),
    "a time beyond 64 bits": Bad(EVENTS, changed(time=10**25), 422, "is no time that"),
    "an empty id": Bad(EVENTS, changed(id=""), 422, "1 to 200 characters"),
    "a long id": Bad(EVENTS, changed(id=MANY), 422, "1 to 200 characters"),
    "an id that is a number": Bad(EVENTS, changed(id=7), 422, "'id'"),
    "an id of another event": Bad(EVENTS, changed(id="taken", source=4), 409, "another event"),
    "features that are a list": Bad(EVENTS, changed(features=[1, 2]), 422, "'features'"),
    "an unknown feature": Bad(EVENTS, changed(features={"amount": 1}), 422, "Unknown feature"),
    "a feature that is text": Bad(EVENTS, changed(features={"feature 1": "a"}), 422, "must be a number"),
    "a feature that is true": Bad(EVENTS, changed(features={"feature 1": True}), 422, "features"),
    "a feature beyond float32": Bad(EVENTS, changed(features={"feature 1": 1e39}), 422, "finite float32"),
    "a feature of two numbers": Bad(EVENTS, changed(features={"feature 1": [1, 2]}), 422, "a number"),
    "more new nodes than may join": Bad(
        EVENTS, [changed(source=10_000 + number) for number in range(600)], 429, "new nodes at once"
    ),
    # -- questions
    "a pair without destination": Bad("/v1/score", {"source": 3}, 422, "'destination'"),
    "a pair with an id": Bad("/v1/score", PAIR | {"id": "a"}, 422, "unknown field 'id'"),
    "a pair with features": Bad("/v1/score", PAIR | {"features": {}}, 422, "no features"),
    "a pair in the past": Bad("/v1/score", PAIR | {"time": 1_600_000_000}, 422, "cannot go back"),
    "a pair in the far future": Bad("/v1/score", PAIR | {"time": 1 << 62}, 422, "check its unit"),
    "too many pairs": Bad("/v1/score", [PAIR] * 501, 413, "more than the 500"),
    "a pair of text": Bad("/v1/score", PAIR | {"source": "a"}, 422, "whole numbers"),
    "a ranking without a source": Bad("/v1/rank", {}, 422, "'source'"),
    "no candidates": Bad("/v1/rank", {"source": 3, "candidates": []}, 422, "candidates"),
    "too many candidates": Bad("/v1/rank", {"source": 3, "candidates": [*range(501)]}, 422, "candidates"),
    "candidates of text": Bad("/v1/rank", {"source": 3, "candidates": ["a"]}, 422, "whole numbers"),
    "top of zero": Bad("/v1/rank", {"source": 3, "top": 0}, 422, "'top'"),
    "a top of millions": Bad("/v1/rank", {"source": 3, "top": 10**7}, 422, "'top'"),
    "a ranking of the past": Bad("/v1/rank", {"source": 3, "time": 5}, 422, "cannot go back"),
    # -- labels and explanations
    "a label of nothing": Bad("/v1/labels", {"label": 1}, 422, "by its seq or by its id"),
    "a label of both": Bad("/v1/labels", {"label": 1, "seq": 1, "id": "a"}, 422, "by its seq or by its id"),
    "a label of an unknown event": Bad("/v1/labels", {"label": 1, "seq": 99_999}, 422, "no event 99999"),
    "a label of an unknown id": Bad("/v1/labels", {"label": 1, "id": "nobody"}, 422, "No event called"),
    "a label that is text": Bad("/v1/labels", {"label": "bad", "seq": 1}, 422, "'label'"),
    "an explanation of nothing": Bad("/v1/explain/0", None, 404, "no event '0'", "GET"),
    "an explanation of the future": Bad("/v1/explain/99999", None, 404, "no event '99999'", "GET"),
    "an explanation of a word": Bad("/v1/explain/last", None, 404, "no event 'last'", "GET"),
    "an explanation below zero": Bad("/v1/explain/-1", None, 404, "no event '-1'", "GET"),
}
