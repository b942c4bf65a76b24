"""Labels of events: is this the edit after which the user is banned, the payment that is a fraud?

A label belongs to an event and so to a node at a time. It is 1, 0, or -1 where it is not known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from keat.errors import InputError, unknown_name
from keat.events import EventStream
from keat.models.node_head import EventQueries
from keat.tasks.event_task import EventTask
from keat.tasks.kinds import ENDS, End
from keat.tasks.metrics import ap_and_auc
from keat.tasks.script import Question


class LabelTask:
    """What labels of events and of whole graphs share: ROC-AUC and average precision of all answers."""

    headline = "auc"
    is_sample = False
    truth: npt.NDArray[np.bool_]  # of each that is asked about

    def __len__(self) -> int:
        return len(self.truth)

    def outcome(self, ask: Question, scores: Sequence[torch.Tensor]) -> torch.Tensor:  # noqa: ARG002
        return scores[0][:, 0]

    def metrics(self, outcomes: torch.Tensor) -> dict[str, float]:
        ap, auc = ap_and_auc(self.truth, outcomes.cpu().numpy())
        return {"auc": auc, "ap": ap}


class NodeLabel(EventTask, LabelTask):
    """Each labelled event of the split is asked about before it is observed; ROC-AUC and average precision
    over the whole split. Nobody is told a label: bans and frauds become known late."""

    kind = "node-label"

    def __init__(self, history: EventStream, events: EventStream, end: End = "src") -> None:
        """``end`` is whose label it is: events of one node are drawn together in the bootstrap."""
        if end not in ENDS:
            raise unknown_name("end of an event", end, ENDS)
        self.history, self.events, self.end = history, events, end
        labels = checked_labels(events)
        self.asked = np.flatnonzero(labels >= 0)
        self.truth = labels[self.asked] > 0
        if self.truth.all() or not self.truth.any():
            raise InputError(
                f"{events.name} needs labelled events of both kinds in every split, but one of them has "
                f"{np.count_nonzero(self.truth)} with label 1 and {np.count_nonzero(~self.truth)} with 0."
            )

    def queries(self, rows: slice) -> EventQueries:
        events, asked = self.events, self.asked[rows]
        return EventQueries(events.src[asked], events.t[asked], events.dst[asked], events.features[asked])

    def intervals(self, outcomes: torch.Tensor, draws: int = 1000) -> dict[str, tuple[float, float]]:
        """95 % intervals by the bootstrap over nodes: all events of a node are drawn together, since they are
        no independent witnesses."""
        nodes = getattr(self.events, self.end)[self.asked]
        return bootstrap(self.truth, outcomes.cpu().numpy(), nodes, draws)


def bootstrap(
    truth: npt.NDArray[np.bool_],
    scores: npt.NDArray[np.floating],
    nodes: npt.NDArray[np.integer],
    draws: int = 1000,
    seed: int = 0,
) -> dict[str, tuple[float, float]]:
    """95 % intervals of AUC and AP, from drawing nodes anew with all that is theirs."""
    _, owner = np.unique(nodes, return_inverse=True)
    rng = np.random.default_rng(seed)
    number = int(owner.max()) + 1
    curve = _Curve(truth, scores)
    drawn = [
        curve.metrics(np.bincount(rng.integers(0, number, number), minlength=number)[owner])
        for _ in range(draws)
    ]
    low, high = np.nanquantile(np.array(drawn), (0.025, 0.975), axis=0).tolist()
    return {name: (low[i], high[i]) for i, name in enumerate(("auc", "ap"))}


class _Curve:
    """AUC and AP of fixed scores under changing weights of the events: sorted once."""

    def __init__(self, truth: npt.NDArray[np.bool_], scores: npt.NDArray[np.floating]) -> None:
        self.order = np.argsort(-scores, kind="stable")
        ranked = scores[self.order]
        self.positive = truth[self.order]
        self.ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))  # of runs of equal scores

    def metrics(self, weights: npt.NDArray[np.integer]) -> tuple[float, float]:
        """Not a number where a draw has one kind of event only."""
        weight = weights[self.order].astype(np.float64)
        true, all_ = (np.cumsum(part)[self.ends] for part in (weight * self.positive, weight))
        false = all_ - true
        new_true, new_false = (np.diff(part, prepend=0) for part in (true, false))
        with np.errstate(invalid="ignore", divide="ignore"):
            auc = np.sum(new_false * (true - new_true / 2)) / (true[-1] * false[-1])
            precision = np.where(all_ > 0, true / all_, 0)
            return float(auc), float(np.sum(new_true * precision) / true[-1])


def checked_labels(events: EventStream) -> npt.NDArray[np.int64]:
    """Labels of events as 1, 0 and -1 (not known)."""
    if events.labels is None:
        raise InputError(
            f"{events.name} has no event labels; name their column (label), or give labels of nodes "
            "(node-labels)."
        )
    known = np.isin(events.labels, (-1, 0, 1))
    if not known.all():
        row = int(np.argmax(~known))
        raise InputError(
            f"The label of {events.name} is {events.labels[row]} at data row {events.offset + row + 1}; "
            "labels are 1, 0, or -1 where they are not known."
        )
    return events.labels.astype(np.int64)
