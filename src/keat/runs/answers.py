"""What a run can be asked, each answered with a table: destinations, pairs, events, shares, embeddings.

Strangers are answered about, too. Nothing that is asked changes what a run has seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch

from keat.calibration.calibrations import Calibration, about, probabilities
from keat.calibration.temperature import Temperature
from keat.errors import InputError, KeatError
from keat.events import EventStream, Reading
from keat.events.written_times import parsed, spoken, spoken_column
from keat.models.contract import EmbedsNodes, LearnedLinkModel, NodeQueries, Queries
from keat.models.node_head import AttributeHead, EventHead, EventQueries, NodeHead
from keat.runs.answer import Answer
from keat.runs.pairs import read_pairs
from keat.runs.present import Present

Dense = npt.NDArray[np.int32]
AT_ONCE = 1 << 12  # pairs, events or nodes
SCORES_AT_ONCE = 1 << 22  # of sources × candidates


class _Asked(NamedTuple):
    """Pairs or events that are asked about, with nodes and times as the run has them."""

    src: Dense
    dst: Dense
    t: npt.NDArray[np.int64]
    features: npt.NDArray[np.float32]
    source: Any  # what the nodes are called, a list or an Arrow array
    destination: Any


class Answers:
    """Questions to a model with what it has seen up to now."""

    def __init__(
        self, present: Present, reading: Reading, calibration: Calibration | None, first_class: int = 0
    ) -> None:
        """``first_class`` is the first of the nodes whose shares a node-property run tells."""
        present.catch_up()
        self.present, self.model, self.names = present, present.model, present.names
        self.reading, self.calibration, self.first_class = reading, calibration, first_class

    def moment(self, when: Any = None) -> int:
        """A time as the stream has it, by default right after all that was seen; the past is refused."""
        last, unit = self.present.last_time, self.present.unit
        if when is None:
            return last + 1
        t = parsed(when, unit)
        if t < last:
            raise InputError(
                f"{spoken(t, unit)} is before {spoken(last, unit)}, up to which the run has seen events; its "
                "state cannot go back."
            )
        return t

    def known_sources(self) -> list[str | int]:
        """Labels of the nodes that have been sources."""
        return [self.names.label(node) for node in self._link_model().sources().tolist()]

    def rank(self, sources: Sequence[str | int], now: int, top: int) -> Answer:
        """The likeliest of all nodes that have been destinations, best first."""
        model = self._link_model()
        candidates = model.destinations()
        src, top = self.names.index_written(sources, side="src"), min(top, len(candidates))
        places, scores, beside = [], [], []
        for part in _parts(len(src), max(1, SCORES_AT_ONCE // max(1, len(candidates)))):
            queries = Queries(src[part], np.full(len(src[part]), now), candidates)
            logits = model.score(queries).detach().cpu()
            found = torch.topk(logits, top, dim=1)
            places.append(found.indices.numpy())
            scores.append(found.values.double().numpy())
            beside.append(self._beside(logits.numpy(), places[-1]))
        best = candidates[np.concatenate(places)].ravel()
        columns = {
            "source": np.repeat(np.array(sources, dtype=object), top).tolist(),
            "destination": self.names.labels_of(best),
            "rank": np.tile(np.arange(1, top + 1), len(sources)),
            "score": finite(np.concatenate(scores).ravel()),
        }
        if self.calibration is not None:
            shares = isinstance(self.calibration, Temperature)
            columns["share" if shares else "probability"] = np.concatenate(beside).ravel()
        return Answer(pa.table(columns), f"At {spoken(now, self.present.unit)}; {about(self.calibration)}.")

    def _beside(
        self, logits: npt.NDArray[np.float32], places: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """Shares among all candidates, or probabilities, of the best."""
        if self.calibration is None:
            return np.empty(0)
        if isinstance(self.calibration, Temperature):
            return np.take_along_axis(self.calibration.shares(logits), places, axis=1)
        return self.calibration.probabilities(np.take_along_axis(logits, places, axis=1))

    def score(self, given: Any, at: Any = None) -> Answer:
        """The score of each pair of a file, frame or stream, or of each event where the run labels events,
        which is read with its features, as those of training were."""
        head = self.model if isinstance(self.model, EventHead) else None
        model = self._link_model() if head is None else head
        if isinstance(given, EventStream):
            asked = self._events(given, None)
        elif head is not None and head.feature_dim:
            asked = self._events(later(self.reading).read_rows(given), given)
        else:
            asked = self._pairs(given, at)
        src, dst, t, features = asked.src, asked.dst, asked.t, asked.features
        if head is not None and features.shape[1] != head.feature_dim:
            raise InputError(
                f"The events have {features.shape[1]} features each; this run was trained on "
                f"{head.feature_dim}."
            )

        def queries(part: slice) -> Any:
            if head is None:
                return Queries(src[part], t[part], dst[part][:, None])
            return EventQueries(src[part], t[part], dst[part], features[part])

        scores = torch.cat([model.score(queries(part))[:, 0].detach() for part in _parts(len(src))])
        return self._scored(asked, finite(scores.double().cpu().numpy()))

    def _pairs(self, pairs: Any, at: Any) -> _Asked:
        """The pairs of a file or frame, which has their ends and perhaps times."""
        source, destination, times = read_pairs(pairs, self.reading)
        t = self._moments(times, at, pairs)
        src, dst = self.names.ends_written(source, destination)
        none = np.zeros((len(src), 0), dtype=np.float32)
        return _Asked(src, dst, t, none, self._labels(src, source), self._labels(dst, destination))

    def _events(self, stream: EventStream, file: Any) -> _Asked:
        """The events of a stream, which may have been read from a ``file``; events of the past are
        refused."""
        names, stream = self.present.translated(stream)
        last = self.present.last_time
        if (stream.t < last).any():
            self._moments(np.minimum(stream.t, last).tolist(), None, file)
        self.names.tell_of_strangers(names)
        ends = names.labels_of(stream.src), names.labels_of(stream.dst)
        return _Asked(stream.src, stream.dst, stream.t, stream.features, *ends)

    def _moments(self, times: Sequence[Any], at: Any, source: Any) -> npt.NDArray[np.int64]:
        """Times of rows; those that have none are asked ``at`` a time. What is wrong is said with its row."""
        found = np.full(len(times), self.moment(at), dtype=np.int64)
        for row, time in enumerate(times):
            if time is None:
                continue
            try:
                found[row] = self.moment(time)
            except InputError as error:
                where = f"{source}, data row" if isinstance(source, str | Path) else "Row"
                raise InputError(f"{where} {row + 1}: {error}") from error
        return found

    def _scored(self, asked: _Asked, scores: npt.NDArray[np.float64]) -> Answer:
        columns = {
            "source": asked.source,
            "destination": asked.destination,
            "time": spoken_column(asked.t, self.present.unit),
            "score": scores,
        }
        likely = probabilities(self.calibration, scores)
        if likely is not None:
            columns["probability"] = likely
        return Answer(pa.table(columns), f"{len(scores):,} scores.")

    def shares(self, node: str | int, now: int, top: int) -> Answer:
        """How a node will divide its next period; class c is node ``first_class`` + c."""
        if isinstance(self.model, EventHead):
            raise InputError("This run labels events, so it is asked about events: score them.")
        if not isinstance(self.model, NodeHead):
            raise InputError("This run scores pairs, so it is asked for destinations: rank them.")
        queries = NodeQueries(self.names.index_written([node], side="src"), np.array([now]))
        found = torch.softmax(self.model.score(queries)[0], dim=0)
        best = torch.topk(found, min(top, len(found)))
        columns = {
            "node": [self.names.label(self.first_class + place) for place in best.indices.tolist()],
            "share": best.values.double().numpy(),
        }
        until = spoken(now - 1, self.present.unit)
        return Answer(pa.table(columns), f"How {node} will divide the period after {until}.")

    def embeddings(self, now: int) -> Answer:
        """A row for each node: its label and its embedding."""
        encoder = self.model.encoder if isinstance(self.model, NodeHead) else self.model
        if not isinstance(encoder, EmbedsNodes):
            raise InputError(
                f"{encoder.name} scores pairs of nodes; it has no embedding of a node by itself."
            )
        nodes = torch.arange(len(self.names))
        with torch.no_grad():
            pieces = [
                encoder.embeddings(part, torch.full_like(part, now)).cpu()
                for part in torch.split(nodes, AT_ONCE)
            ]
        matrix = torch.cat(pieces).numpy()
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])
        labels = self.names.labels.cast(pa.string())
        return Answer(pa.table({"node": labels, "embedding": vectors}), f"{len(labels):,} embeddings.")

    def _link_model(self) -> LearnedLinkModel:
        if isinstance(self.model, EventHead):
            raise InputError("This run labels events; it does not rank destinations.")
        if isinstance(self.model, AttributeHead):
            raise InputError("Attributes of events are evaluated, not yet predicted one by one.")
        if isinstance(self.model, NodeHead):
            raise InputError("This run tells how a node divides its next period; it does not score pairs.")
        return self.model

    def _labels(self, nodes: Dense, written: Sequence[Any]) -> list[Any]:
        """What nodes are called; strangers, whose numbers are beyond all nodes, as they were written."""
        return [
            self.names.label(node) if node < len(self.names) else label
            for node, label in zip(nodes.tolist(), written, strict=True)
        ]


def later(reading: Reading) -> Reading:
    """How rows are read that came after training: labels come late, and features of nodes belong to those of
    training, so neither is looked for."""
    return replace(reading, label=None, node_features=None)


def _parts(total: int, size: int = AT_ONCE) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, total, size))


def finite(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A score that is no number is said, not handed on."""
    bad = ~np.isfinite(scores)
    if bad.any():
        raise KeatError(
            f"The score of row {int(np.argmax(bad)) + 1} is no number: its time or features are far from "
            "those the run was trained on, or the run is damaged."
        )
    return scores
