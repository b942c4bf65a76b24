"""The description of the service for other programs (OpenAPI 3.1), from the very types that are read."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

import keat
from keat.serve.alerts import Alert
from keat.serve.events import Event, LabelTold, Pair, RankQuestion
from keat.serve.live_answers import Answer, Ranking, ScoredPair
from keat.serve.live_drift import DriftReport
from keat.serve.model_routes import ModelOrder, ModelsReport
from keat.serve.service_state import ServiceState


class Problem(msgspec.Struct):
    """What is wrong, in one sentence."""

    error: str


KINDS = (
    *(Event, Pair, RankQuestion, LabelTold, Answer, ScoredPair, Ranking, Problem),
    *(Alert, ServiceState, DriftReport, ModelOrder, ModelsReport),
)
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
            "/v1/models": {
                **_get("Which model answers, and which is beside it.", answered="ModelsReport"),
                **_post("Load a run beside, switch to it or back, drop it.", "ModelOrder", "ModelsReport"),
            },
            "/v1/explain/{seq}/page": _get("The same as a page of HTML.", "seq"),
            "/v1/live": _get("How the service is, once a second, as server-sent events."),
            "/v1/alerts": _alerts(),
            "/v1/state": _get(
                "How the service is: counts, alerts, drift, calibration.", answered="ServiceState"
            ),
            "/v1/drift": _get("Whether the stream is still what it was.", answered="DriftReport"),
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


def _alerts() -> dict[str, Any]:
    after = {"name": "after", "in": "query", "schema": {"type": "integer"}}
    header = {"name": "Last-Event-ID", "in": "header", "schema": {"type": "integer"}}
    about = (
        "The most suspicious events of an hour, as server-sent events; each 'alert' has an Alert as its data."
    )
    content = {"text/event-stream": {"schema": _ref("Alert")}}
    responses = {"200": {"description": "As they come.", "content": content}}
    return {"get": {"summary": about, "parameters": [after, header], "responses": responses}}


def _get(about: str, place: str | None = None, answered: str | None = None) -> dict[str, Any]:
    parameters = []
    if place is not None:
        parameters = [{"name": place, "in": "path", "required": True, "schema": {"type": "integer"}}]
    schema = {} if answered is None else _ref(answered)
    responses = {"200": _content("Done.", schema)}
    return {"get": {"summary": about, "parameters": parameters, "responses": responses}}


def _content(about: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": schema}}}
