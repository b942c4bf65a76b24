"""Runs as versions before `RunSpec` left them: ``run.json`` as one object without types (format 1)."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from keat.events import EventStream, Reading
from keat.events.fingerprint import fingerprint
from keat.runs.run_file import RunFile, read_run_file
from keat.tasks.label_source import LabelSource

LIMITS = ("epochs", "patience")
LATER = (
    "edition",
    "followed",
    "successors",
    "feature_means",
    "state_memory",
)  # settings that there were not yet
GRAPH_FIT = ("lr", "clip", "seed", "validate_every")
SINCE = ("schedule", "budget")  # settings that came later


def as_format_1(run: Path, *, clock: bool = True, stream: EventStream | None = None) -> None:
    """Describe a run the old way; the oldest had no clock in their configuration, and those of a whole graph
    had the fingerprint of its edges, the ``stream``, alone."""
    content = format_1(read_run_file(run), stream)
    if not clock:
        del content["config"]["clock"]
    (run / "run.json").write_text(json.dumps(content, indent=1))


LABELS_SINCE = ("target", "known_after")


def format_1(file: RunFile, stream: EventStream | None = None) -> dict[str, Any]:
    spec, facts = file.spec, file.facts
    fitting, data = asdict(spec.fitting), asdict(facts.data)
    limits = {name: fitting.pop(name) for name in LIMITS}
    for name in SINCE:
        del fitting[name]
    about: dict[str, Any] = {"format": 1, "keat": facts.keat, "model": spec.model}
    ends = {"sigma": facts.sigma, "unit": facts.unit}
    if spec.is_of_graph:
        assert stream is not None
        data["fingerprint"] = fingerprint(stream)
        fit = {name: fitting[name] for name in GRAPH_FIT}
        about |= {"task": "node-label", "config": asdict(spec.config), "fit": fit, "limits": limits}
        return about | ends | {"data": data}
    config = {name: value for name, value in asdict(spec.config).items() if name not in LATER}
    about |= {"config": config, "fit": fitting, "limits": limits}
    task: dict[str, Any] = {"kind": spec.task.kind}
    if facts.head is None:
        about["task"] = task | {"negatives": spec.task.negatives, "asked": facts.asked}
    else:
        head = asdict(facts.head)
        about["task"] = task | {"asked": facts.asked}
        if facts.head.kind == "node":
            about["task"]["protocol"] = spec.task.protocol
        else:
            del head["first_class"]
        if spec.encoder is not None:
            about["encoder"] = spec.encoder
        about |= {"head": head, "labels": _labels(file)}
    reading = spec.source.reading
    about["reading"] = {} if reading == Reading() else asdict(reading)
    sizes = {"num_nodes": facts.num_nodes, "feature_dim": facts.feature_dim}
    return about | ends | sizes | {"data": data}


def _labels(file: RunFile) -> dict[str, Any] | None:
    labels, task = file.spec.source.labels, file.spec.task
    if labels == LabelSource() and (task.protocol, task.labelled) == ("strict", "src"):
        return None
    known = {name: value for name, value in asdict(labels).items() if name not in LABELS_SINCE}
    return known | {"protocol": task.protocol, "labelled": task.labelled}
