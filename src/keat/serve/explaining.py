"""Why an event of the log was scored as it was: the state is made again as it was right before it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from keat.errors import InputError
from keat.explain.explained import Explained
from keat.explain.scored import Scored
from keat.report.explained.explained_page import page
from keat.runs.present import PENDING
from keat.serve.engine import Engine
from keat.serve.log_rows import columns_of, logits_of
from keat.serve.verdicts import in_words


def explain_event(folder: Path, number: int) -> dict[str, Any]:
    """An event by its number, with everything before it observed and nothing after. The log is read, and may
    be written meanwhile."""
    x, about = _explained(folder, number)
    return about | {"explanation": x.to_json()}


def page_of_event(folder: Path, number: int) -> dict[str, Any]:
    """The same as a page of HTML."""
    x, about = _explained(folder, number)
    return {"seq": about["seq"], "page": page(x)}


def _explained(folder: Path, number: int) -> tuple[Explained, dict[str, Any]]:
    engine = Engine(folder, write=False, until=number - 1)
    log, served, ids, state, model = engine.log, engine.served, engine.ids, engine.state, engine.model
    if not 1 <= number <= log.tail.event:
        raise InputError(f"There is no event {number}; the log has events 1 to {log.tail.event:,}.")
    first, row = log.row_of(number)
    place, columns = number - first, columns_of([row])
    ids.welcome(row.newcomers)
    model.follow(ids)
    happened, t = model.happened_in([row], len(ids)), int(columns.t[place])
    state.observe(happened[:place], row.window)
    state.settle(int(state.horizons(columns.t[place : place + 1], row.window)[0]))
    tensors = state.tensors()
    for name in tensors:
        if name.startswith(PENDING):  # it was scored without them
            tensors[name] = tensors[name][:0]
    run, answerer = served.run, engine.models[row.model]
    run.best = replace(run.best, calibration=answerer.calibration)  # the one that answered
    run.present.restore(model.ids.names(), run.present.seen, tensors)
    source, destination = ids.labels[columns.src[place]], ids.labels[columns.dst[place]]
    features = None
    if run.spec.task.kind == "node-label" and row.features:
        names = served.features.names
        features = {name: column[place] for name, column in zip(names, row.features, strict=True)}
    with torch.no_grad():
        x = run.explain(source, destination, at=t, features=features)
    about = {
        "seq": number,
        "logit": float(logits_of(row)[place]),
        "late": row.late.get(place),
        "model": answerer.fingerprint,
        "why": x.why,
        "reasons": in_words(x) if isinstance(x, Scored) and x.pair is not None else [x.why],
    }
    engine.close()
    return x, about
