"""An attribute of the coming event: is the next rating negative, of which type is it, how late will it be?

Each event is asked about before it is observed, from the past alone: that it happens, between whom and when
is given, none of its own columns are. What is asked, and what is known later, `attribute_source` prepares.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from keat.errors import InputError
from keat.events import EventStream
from keat.events.attributes import AttributeKind, attribute_kind, center_and_size, is_asked, outputs_of
from keat.models.node_head import EventQueries
from keat.tasks.event_task import EventTask
from keat.tasks.metrics import ap_and_auc
from keat.tasks.script import Question

HEADLINES: dict[AttributeKind, str] = {"binary": "auc", "class": "accuracy", "value": "skill"}


class EdgeAttribute(EventTask):
    """The events of a split that have the attribute; metrics by what it is.

    - binary: ROC-AUC and average precision;
    - class: accuracy, and log-loss of the softmax of the scores;
    - value: MAE in the column's own unit, and skill, 1 - MAE / MAE of the training split's median.
    """

    kind = "edge-attribute"
    is_sample = False

    def __init__(self, history: EventStream, events: EventStream) -> None:
        self.history, self.events = history, events
        self.attribute, self.outputs = attribute_kind(events), outputs_of(events)
        assert events.labels is not None
        assert history.labels is not None
        self.headline = HEADLINES[self.attribute]
        self.asked = np.flatnonzero(is_asked(events))
        self.truth = events.labels[self.asked].astype(np.float64)
        self.center = center_and_size(history.labels.astype(np.float64))[0]
        if len(np.unique(self.truth)) < 2:
            raise InputError(
                f"The attribute of {events.name} is the same in all {len(self.asked)} events of a split, so "
                "there is nothing to tell apart; bring more events or another target."
            )

    def __len__(self) -> int:
        return len(self.asked)

    def queries(self, rows: slice) -> EventQueries:
        """Who meets whom and when; nothing of what the event itself says."""
        events, asked = self.events, self.asked[rows]
        nothing = np.zeros((len(asked), 0), dtype=np.float32)
        return EventQueries(events.src[asked], events.t[asked], events.dst[asked], nothing)

    def outcome(self, ask: Question, scores: Sequence[torch.Tensor]) -> torch.Tensor:
        """Two numbers each, of which the metrics are: the score and the truth; whether the likeliest class is
        it, and its surprise; or how far off the answer was, and the training split's median."""
        (answers,) = scores
        truth = torch.from_numpy(self.truth[ask.rows]).to(answers.device)
        answers = answers.double()
        if self.attribute == "binary":
            return torch.stack((answers[:, 0], truth), dim=1)
        if self.attribute == "value":
            return torch.stack(((answers[:, 0] - truth).abs(), (truth - self.center).abs()), dim=1)
        right = truth.long()[:, None]
        level = answers == answers.max(dim=1, keepdim=True).values
        hit = level.gather(1, right)[:, 0] / level.sum(dim=1)  # several that lead: one of them is named
        return torch.stack((hit, -answers.log_softmax(dim=1).gather(1, right)[:, 0]), dim=1)

    def metrics(self, outcomes: torch.Tensor) -> dict[str, float]:
        first, second = outcomes.cpu().numpy().T
        if self.attribute == "binary":
            if len(np.unique(second)) < 2:  # in a part of the questions
                return {"auc": float("nan"), "ap": float("nan")}
            ap, auc = ap_and_auc(second > 0, first)
            return {"auc": auc, "ap": ap}
        if self.attribute == "class":
            return {"accuracy": float(first.mean()), "log_loss": float(second.mean())}
        mae = float(first.mean())
        return {"skill": 1.0 - mae / max(float(second.mean()), 1e-12), "mae": mae}
