"""Runs that were written before there was a `RunSpec`: one object without types, read into today's form."""

from __future__ import annotations

from collections.abc import Mapping

from keat.events.units import TICK

LABELS = ("period", "weight", "undirected", "node_labels", "positive")


def upgraded(old: Mapping[str, object]) -> dict[str, object]:
    """What ``run.json`` would hold had it been written today. An entry of another type is passed on, for the
    reader to find; a ValueError names one that is missing."""
    labels, task = _table(old, "labels"), old.get("task", "link-ranking")
    task = "graph-label" if task == "node-label" else task  # of a whole graph; others have an object
    asked = dict(task) if isinstance(task, dict) else {"kind": task}
    head = old.get("head")
    if head is not None and not isinstance(task, dict):
        raise ValueError("'task' does not say what the head is for")
    config = _needed(old, "config")
    if isinstance(config, dict) and "num_nodes" in old:  # before there were clocks, ages were in ticks
        config = {"clock": "s" if _needed(old, "unit") == "s" else TICK} | config
    fit, limits = _needed(old, "fit"), old.get("limits", {})
    if not isinstance(fit, dict) or not isinstance(limits, dict):
        raise ValueError("'fit' or 'limits' is no object")
    if task == "graph-label":
        fit = {"tolerance": 0.0} | fit  # any improvement counted
    return {
        "format": 2,
        "spec": {
            "model": _needed(old, "model"),
            "config": config,
            "fitting": fit | limits,
            "task": {
                "kind": asked.get("kind"),
                "negatives": None if asked.get("negatives") == "official" else asked.get("negatives"),
                "protocol": labels.get("protocol", asked.get("protocol", "strict")),
                "labelled": labels.get("labelled", "src"),
            },
            "source": {
                "name": None,
                "reading": old.get("reading") or {},
                "labels": {name: labels[name] for name in LABELS if name in labels},
            },
            "encoder": old.get("encoder"),
            "counts": not (isinstance(head, dict) and head.get("kind") == "event"),
        },
        "facts": {
            "data": {"events": 0} | _table({"data": _needed(old, "data")}, "data"),
            "unit": _needed(old, "unit"),
            "sigma": _needed(old, "sigma"),
            **{name: _size(old, name) for name in ("num_nodes", "feature_dim")},
            "asked": asked.get("asked", 0),
            "head": head,
            "keat": old.get("keat", ""),
        },
    }


def _size(old: Mapping[str, object], name: str) -> object:
    """Runs of whole graphs did not say how large theirs was, and no part of their model depends on it."""
    return old.get(name, 1) if old.get("task") == "node-label" else _needed(old, name)


def _needed(old: Mapping[str, object], name: str) -> object:
    if name not in old:
        raise ValueError(f"it has no '{name}'")
    return old[name]


def _table(old: Mapping[str, object], name: str) -> dict[str, object]:
    value = old.get(name) or {}
    if not isinstance(value, dict):
        raise ValueError(f"'{name}' is no object")
    return value
