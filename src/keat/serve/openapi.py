"""The description of the service for other programs (OpenAPI 3.1), from the very types that are read."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

import keat
from keat.serve.events import Event, LabelTold, Pair, RankQuestion
from keat.serve.live_answers import Answer, Ranking, ScoredPair


class Problem(msgspec.Struct):
    """What is wrong, in one sentence."""

    error: str


KINDS = (Event, Pair, RankQuestion, LabelTold, Answer, ScoredPair, Ranking, Problem)
FLAGS = {
    "rank": "With the rank of the destination among all that are known, and its share.",
    "reasons": "With three reasons in words.",
}


@cache
def description() -> dict[str, Any]:
    _, components = msgspec.json.schema_components(KINDS, ref_template="#/components/schemas/{name}")
    return {
        "openapi": "3.1.0",
        "info": {"title": "keat serve", "version": keat.__version__},
        "paths": {
            "/v1/events": _post(
                "Take events; each is scored before it is observed, and answered once it is committed.",
                "Event",
                "Answer",
                ("rank", "reasons"),
            ),
            "/v1/score": _post("Score pairs; nothing changes.", "Pair", "ScoredPair", ("reasons",)),
            "/v1/rank": _post("Rank destinations; nothing changes.", "RankQuestion", "Ranking"),
            "/v1/labels": _post("Tell the truth about events, once it is known.", "LabelTold", None),
            "/v1/explain/{seq}": _get("Why an event was scored as it was.", "seq"),
            "/v1/explain/{seq}/page": _get("The same as a page of HTML.", "seq"),
            "/v1/live": _get("How the service is, once a second, as server-sent events."),
            "/metrics": _get("Counters for Prometheus."),
            "/healthz": _get("Whether the process is alive."),
            "/readyz": _get("Whether events are taken."),
            "/openapi.json": _get("This description."),
        },
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _post(about: str, asked: str, answered: str | None, flags: tuple[str, ...] = ()) -> dict[str, Any]:
    several = {"oneOf": [_ref(asked), {"type": "array", "items": _ref(asked)}]}
    content = {"application/json": {"schema": several}, "application/x-ndjson": {"schema": _ref(asked)}}
    answer = {} if answered is None else _ref(answered)
    return {
        "post": {
            "summary": about,
            "parameters": [
                {"name": name, "in": "query", "schema": {"type": "boolean"}, "description": FLAGS[name]}
                for name in flags
            ],
            "requestBody": {"required": True, "content": content},
            "responses": {"200": _content("Done.", answer), "default": _content("Refused.", _ref("Problem"))},
        }
    }


def _get(about: str, place: str | None = None) -> dict[str, Any]:
    parameters = []
    if place is not None:
        parameters = [{"name": place, "in": "path", "required": True, "schema": {"type": "integer"}}]
    return {"get": {"summary": about, "parameters": parameters, "responses": {"200": _content("Done.", {})}}}


def _content(about: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": schema}}}
