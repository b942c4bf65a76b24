"""What a model says of a pair beside its logit: its rank and share among the destinations, and why."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest

import numpy as np
import numpy.typing as npt
import torch

from keat.calibration.calibrations import Calibration, probabilities
from keat.calibration.temperature import Temperature
from keat.errors import InputError
from keat.explain.explanation import explain_pair
from keat.explain.phrases import three_days
from keat.explain.scored import Names, Scored, explain_by_pair_term
from keat.explain.why import reasons, weighed
from keat.models.contract import LearnedLinkModel, Queries
from keat.models.explainable import ExplainsPairs, attention_of
from keat.models.node_head import EventHead, EventQueries
from keat.serve.ahead import Ahead
from keat.serve.happened import Happened
from keat.serve.live_answers import Ranked, Ranking, ScoredPair
from keat.serve.live_ids import Label, LiveIds
from keat.serve.live_state import LiveState, Model
from keat.serve.log_rows import Beside, Value
from keat.serve.served_run import ServedRun

REASONS = 3
Nodes = npt.NDArray[np.int32]


class Judge:
    """Answers questions about a live state, and changes nothing."""

    def __init__(
        self,
        served: ServedRun,
        ids: LiveIds,
        state: LiveState,
        ahead: Ahead,
        calibration: Calibration | None,
    ) -> None:
        """``calibration`` is the one that answers now, which need not be the run's own."""
        self.served, self.ids, self.state, self.ahead = served, ids, state, ahead
        self.calibration = calibration
        self._destinations: tuple[int, Model, Nodes] | None = None

    def features(self, given: Sequence[dict[str, Value] | None]) -> npt.NDArray[np.float32]:
        """Of what is asked about: pairs have none, and events that are labelled have them all."""
        features = self.served.features
        if not isinstance(self.state.model, EventHead):
            if any(one is not None for one in given):
                raise InputError("Pairs have no features in this run; leave them out.")
            return np.zeros((len(given), features.dim), np.float32)
        sent = [features.read(one) for one in given]
        return features.encoded([list(column) for column in zip(*sent, strict=True)], len(given))

    def moment(self, t: int | None) -> int:
        """When a question is asked, by default right after everything that has happened."""
        horizon = self.state.horizon
        if t is not None and t < horizon:
            last = "the time of the last event" if horizon == self.state.last_time else "which is over"
            raise InputError(
                f"{t} is before {horizon}, {last}; the state cannot go back, so ask at that time or later."
            )
        return self.state.last_time + 1 if t is None else t

    # -- of an event that is about to be observed ------------------------------------------------------

    def beside(self, event: Happened, rank: bool, why: bool) -> Beside:
        """Of one event, in the state it is scored in."""
        src, dst, t = int(event.src[0]), int(event.dst[0]), int(event.t[0])
        found = Beside()
        if rank:
            model = self._links(self.state.model)
            known = model.destinations()
            nodes = np.concatenate((np.array([dst], np.int32), known[known != dst]))
            logits = self._all(model, src, t, nodes)
            own = logits[0]
            found.rank = float(1 + np.count_nonzero(logits > own) + (np.count_nonzero(logits == own) - 1) / 2)
            found.candidates = len(nodes)
            found.share = self._shares(logits)[0]
        if why:
            found.reasons = self.reasons(self.state.model, src, dst, t, self.ids.labels.__getitem__)
        return found

    # -- questions -------------------------------------------------------------------------------------

    def score(
        self,
        source: Sequence[Label],
        destination: Sequence[Label],
        times: Sequence[int | None],
        features: npt.NDArray[np.float32],
        why: bool = False,
    ) -> list[ScoredPair]:
        """Pairs, each as of its time."""
        t = np.array([self.moment(time) for time in times], np.int64)
        src, dst, names = self._numbered(source, destination)
        logits, overs = np.empty(len(t), np.float32), self.ahead.over_at(t)
        words: list[list[str] | None] = [None] * len(t)
        for over in np.unique(overs).tolist():
            rows, model = np.flatnonzero(overs == over), self.ahead.model(over)
            asked = Happened(src[rows], dst[rows], t[rows], features[rows])
            logits[rows] = _logits(model, asked)
            for place in rows.tolist() if why else []:
                ends = int(src[place]), int(dst[place])
                words[place] = self.reasons(model, *ends, int(t[place]), names.__getitem__)
        found = probabilities(self.calibration, logits)
        likely = [None] * len(t) if found is None else np.asarray(found).tolist()
        every = zip(source, destination, t.tolist(), logits.tolist(), likely, words, strict=True)
        return [ScoredPair(*pair) for pair in every]

    def rank(
        self, source: Label, candidates: Sequence[Label] | None, time: int | None, top: int, seq: int
    ) -> Ranking:
        """The likeliest of the candidates, or of all destinations so far. ``seq`` is the last event."""
        t = self.moment(time)
        (over,) = self.ahead.over_at(np.array([t])).tolist()
        model = self._links(self.ahead.model(over))
        if candidates is None:
            src, _, labels = self._numbered([source], [])
            nodes = self._known_destinations(model, seq)
        else:
            src, nodes, labels = self._numbered([source], candidates)
        logits = self._all(model, int(src[0]), t, nodes)
        best = np.argsort(-logits, kind="stable")[:top]
        shares = self._shares(logits)
        likely = probabilities(self.calibration, logits)
        ranked = [
            Ranked(
                labels[int(nodes[place])],
                number,
                float(logits[place]),
                shares[place],
                None if likely is None else float(likely[place]),
            )
            for number, place in enumerate(best.tolist(), start=1)
        ]
        return Ranking(source, t, len(nodes), self.served.fingerprint, seq, ranked)

    def reasons(self, model: Model, src: int, dst: int, t: int, label: object) -> list[str]:
        """Three reasons in words, the weightiest first on either side."""
        if isinstance(model, EventHead):
            raise InputError("This run labels events; ask GET /v1/explain for why one was scored so.")
        names = Names(label=label, unit=self.state.unit, model=self.served.run.spec.model)  # type: ignore[arg-type]
        score = float(model.score(_question(src, dst, t)))
        if isinstance(model, ExplainsPairs):
            found = explain_by_pair_term(model, src, dst, t, score, names=names)
            return in_words(found)
        if attention_of(model) is None:
            raise InputError(f"{model.name} has neither a pair term nor an attention to explain it by.")
        return [weighed(explain_pair(model, src, dst, t, older=three_days(self.state.unit), names=names))]

    def _known_destinations(self, model: LearnedLinkModel, seq: int) -> Nodes:
        """The same array as long as nothing happens: some models know it again by that."""
        kept = self._destinations
        if kept is None or kept[0] != seq or kept[1] is not model:
            self._destinations = kept = (seq, model, model.destinations())
        return kept[2]

    def _numbered(
        self, source: Sequence[Label], destination: Sequence[Label]
    ) -> tuple[Nodes, Nodes, dict[int, Label]]:
        """Numbers of both ends; strangers have numbers beyond all nodes, and one label on one side always the
        same. Also what nodes are called, strangers included."""
        strangers: dict[tuple[int, Label], int] = {}
        ends = []
        for side, labels in enumerate((source, destination)):
            numbers = self.ids.numbers(side)
            found = [numbers.get(label, -1) for label in labels]
            if -1 in found:
                kind = side if self.ids.sides is not None else 0
                for place, number in enumerate(found):
                    if number < 0:
                        new = len(self.ids) + len(strangers)
                        found[place] = strangers.setdefault((kind, labels[place]), new)
            ends.append(np.array(found, np.int32))
        named = {number: label for (_, label), number in strangers.items()}
        return ends[0], ends[1], _Named(self.ids, named)

    def _links(self, model: Model) -> LearnedLinkModel:
        if isinstance(model, EventHead):
            raise InputError("This run labels events; it does not rank destinations.")
        return model

    def _all(self, model: LearnedLinkModel, src: int, t: int, nodes: Nodes) -> npt.NDArray[np.float32]:
        if len(nodes) == 0:
            return np.empty(0, np.float32)
        with torch.no_grad():
            logits = model.score(Queries(np.array([src], np.int32), np.array([t]), nodes))
        found: npt.NDArray[np.float32] = logits[0].cpu().float().numpy()
        return found

    def _shares(self, logits: npt.NDArray[np.float32]) -> list[float | None]:
        calibration = self.calibration
        if not isinstance(calibration, Temperature) or len(logits) == 0:
            return [None] * len(logits)
        shares: list[float | None] = calibration.shares(logits[None])[0].tolist()
        return shares


class _Named(dict[int, Label]):
    """What nodes are called, strangers included."""

    def __init__(self, ids: LiveIds, strangers: dict[int, Label]) -> None:
        super().__init__(strangers)
        self._ids = ids

    def __missing__(self, node: int) -> Label:
        return self._ids.labels[node]


def in_words(x: Scored) -> list[str]:
    """The weightiest on either side in turn."""
    assert x.pair is not None
    speaks_for, against = reasons(x, x.pair)
    sides = ([f"for it: {one}" for one in speaks_for], [f"against it: {one}" for one in against])
    lead, other = sides if x.score > 0 or not against else sides[::-1]
    return [one for one in chain(*zip_longest(lead, other)) if one is not None][:REASONS]


def _logits(model: Model, asked: Happened) -> npt.NDArray[np.float32]:
    with torch.no_grad():
        if isinstance(model, EventHead):
            found = model.score(EventQueries(asked.src, asked.t, asked.dst, asked.features))
        else:
            found = model.score(Queries(asked.src, asked.t, asked.dst[:, None]))
    numbers: npt.NDArray[np.float32] = found[:, 0].cpu().float().numpy()
    return numbers


def _question(src: int, dst: int, t: int) -> Queries:
    return Queries(np.array([src], np.int32), np.array([t]), np.array([[dst]], np.int32))
