"""Explaining events with a model that labels them.

An event of a dataset is explained in the state evaluation scores it in, so that its score is the one of
`keat evaluate --scores`. One that has not happened is explained with everything observed that is earlier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from keat.datasets.loading import Dataset
from keat.errors import InputError
from keat.explain.event import EventExplanation, explain_event
from keat.explain.event_features import UsualFeatures
from keat.explain.playback import HeldOut, Playback
from keat.explain.scored import Names
from keat.explain.subject import LabelSubject
from keat.models.contract import KeepsEvents
from keat.models.node_head import EventHead, EventQueries
from keat.tasks.node_label import NodeLabel
from keat.tasks.task_factory import make_task
from keat.training.lessons import usual_refresh


class LabelAsker(Playback[EventHead]):
    """Explains events with the model of a run: with a dataset, in the state that evaluation has; without, as
    of everything the run has seen."""

    def __init__(self, subject: LabelSubject, data: Dataset | None = None) -> None:
        super().__init__(subject, data)
        self.subject = subject
        self.share = None if data is None else _share(data)
        if data is None:
            kept = _remembered(subject)
            self.usual = UsualFeatures.of(subject.columns, kept, f"the {len(kept):,} events the run keeps")
        else:
            self.usual = UsualFeatures.of(subject.columns, data.train.features, "the training events")

    @property
    def refresh(self) -> int:
        return usual_refresh("node-label", self.require_data().train, in_turn=False)

    def pair(
        self,
        source: str | int,
        destination: str | int,
        t: int | None,
        features: npt.NDArray[np.float32] | None = None,
    ) -> EventExplanation:
        """An event at a time, by default right after the last of the dataset, or that was seen; with its
        features (d,) as the model reads them."""
        width = self.subject.feature_dim
        if features is None and width:
            known = ", ".join(column.name for column in self.subject.columns)
            raise InputError(
                f"{self.subject.where} reads features of an event ({known}); give them, or explain an event "
                "of a dataset by its number."
            )
        src, dst = self._ends(source, destination)
        t, position = self.before(t)
        numbers = np.zeros(0, np.float32) if features is None else features
        queries = EventQueries(
            np.array([src], np.int32), np.array([t]), np.array([dst], np.int32), numbers[None]
        )
        strangers = {
            node: said for node, said in ((src, source), (dst, destination)) if node >= len(self.ids)
        }
        label = self.names.label
        names = replace(
            self.names,
            label=lambda node: strangers[node] if node in strangers else label(node),
            observed=position,
        )
        return self._explain(queries, names, row=None)

    def _ends(self, source: str | int, destination: str | int) -> tuple[int, int]:
        """Nodes of what the user typed. Two strangers are two nodes: each by itself would have the first
        number beyond all."""
        src, dst = self.index(source, "src"), self.index(destination, "dst")
        return src, dst + (dst == src >= len(self.ids) and source != destination)

    def event(self, row: int) -> EventExplanation:
        """An event of the dataset, as evaluation would score it."""
        self.require_row(row)
        return next(self._events([row]))

    def worst(self, number: int, split: HeldOut) -> Iterator[EventExplanation]:
        """The labelled events of a split with the highest scores, highest first."""
        task = make_task(self.require_data(), split, kind="node-label")
        assert isinstance(task, NodeLabel)
        rows = self.highest(task, split, number)
        found = dict(zip(sorted(rows), self._events(sorted(rows)), strict=True))
        for place, row in enumerate(rows):
            yield replace(found[row], place=(place + 1, len(task)))

    def _events(self, rows: Sequence[int]) -> Iterator[EventExplanation]:
        """Events of one split, in order."""
        data = self.require_data()
        stream, starts = data.stream, self.starts(rows)
        for row, start, _ in zip(rows, starts, self.states(data, starts), strict=True):
            one = slice(row, row + 1)
            queries = EventQueries(stream.src[one], stream.t[one], stream.dst[one], stream.features[one])
            yield self._explain(queries, replace(self.names, observed=start), row)

    def _explain(self, queries: EventQueries, names: Names, row: int | None) -> EventExplanation:
        labels = None if self.data is None else self.data.stream.labels
        label = -1 if labels is None or row is None else int(labels[row])
        x = explain_event(
            self.model,
            queries,
            self.usual,
            names,
            row=row,
            label=self.subject.label,
            truth=label if label >= 0 else None,
            share=self.share,
        )
        made = self.subject.probability
        return x if made is None else replace(x, probability=made(x.score))


def _share(data: Dataset) -> float | None:
    """The share of the labelled training events that have the label; None where none is labelled."""
    labels = data.train.labels
    known = np.zeros(0) if labels is None else labels[labels >= 0]
    return float((known > 0).mean()) if len(known) else None


def _remembered(subject: LabelSubject) -> npt.NDArray[np.float32]:
    """The features of all events that a model holds on to."""
    encoder = subject.present.encoder
    if not isinstance(encoder, KeepsEvents):
        raise InputError(
            f"The {encoder.name} of {subject.where} keeps no events to compare with; explain with the "
            "dataset it was trained on."
        )
    kept: npt.NDArray[np.float32] = encoder.state.event_features().cpu().numpy()
    return kept
