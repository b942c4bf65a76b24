"""The counterfactual through memory too: the whole history again, with one event moved back in time.

An age changed in the attention leaves memory as it was. But the event also left a trace there, in its turn
among the others and with its own φ. Replaying both histories with the same weights tells what all of that
is worth; it costs two passes over the events.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from keat.errors import InputError
from keat.events import EventStream
from keat.explain.asker import Asker
from keat.explain.explanation import Explanation
from keat.explain.scored import Scored
from keat.models.contract import Queries

_FROM_TRAINING = (
    "the run keeps the memory it had after training, made while its weights still changed; a replay makes it "
    "with the final weights"
)


@dataclass(frozen=True, slots=True)
class ReplayedScores:
    """Scores of the pair after what was known of the past was observed anew, as it was and with ``row``
    older; ``effect`` is the difference, ``why`` says why ``as_it_was`` is not the score that is explained."""

    row: int
    node: str | int  # the other end of that event, seen from `of`
    of: str | int
    as_it_was: float
    if_older: float
    effect: float
    why: str | None


def replay(asker: Asker, x: Scored) -> ReplayedScores:
    """Replay with the event whose age matters most to the attention moved back by ``x.older``."""
    if not isinstance(x, Explanation):
        raise InputError(f"{x.model['name']} attends to no past event that could be moved; leave it out.")
    found = x.most_telling()
    if found is None or found[1].row is None:
        raise InputError("There is no past event in a dataset to move; give the DATASET, or another pair.")
    end, neighbor = found
    row = int(found[1].row)
    history = asker.require_data().stream[: x.observed]
    was_kept = asker.replay(history)
    as_it_was = _score(asker, x)
    asker.replay(moved_back(history, row, x.older))
    if_older = _score(asker, x)
    why = _FROM_TRAINING if was_kept else None
    return ReplayedScores(row, neighbor.node, end.node, as_it_was, if_older, if_older - as_it_was, why)


def moved_back(events: EventStream, row: int, older: int) -> EventStream:
    """The same events with one of them ``older`` earlier, where it belongs in the order."""
    t = events.t.copy()
    t[row] -= older
    order = np.argsort(t, kind="stable")
    columns = {name: getattr(events, name)[order] for name in ("src", "dst", "features")}
    labels = None if events.labels is None else events.labels[order]
    return replace(events, t=t[order], labels=labels, node_labels=None, **columns)


def _score(asker: Asker, x: Explanation) -> float:
    source = np.array([asker.index(x.source, "src")], dtype=np.int32)
    destination = np.array([[asker.index(x.destination, "dst")]], dtype=np.int32)
    return float(asker.model.score(Queries(source, np.array([x.t]), destination)))
