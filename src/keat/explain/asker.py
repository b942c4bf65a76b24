"""Explaining pairs and events with a model that scores links.

An event of a dataset is explained in the state evaluation scores it in, so that score and rank are those of
`keat evaluate`: refreshed every 200 events, or at every time for models that are trained so. A pair at a time
of the user's choice is explained with everything observed that is strictly earlier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from keat.datasets.loading import Dataset
from keat.errors import InputError
from keat.explain.contrast import FIRST, Contrast, ScoredCandidates, contrasted
from keat.explain.explanation import explain_pair
from keat.explain.left_out import explain_by_leaving_out
from keat.explain.playback import HeldOut, Playback, split_of
from keat.explain.scored import Names, Scored, explain_by_pair_term
from keat.explain.subject import Subject
from keat.models.contract import LearnedLinkModel, Queries
from keat.models.explainable import ExplainsPairs, attention_of
from keat.tasks.link import LinkRanking
from keat.tasks.task_factory import make_task
from keat.training.lessons import usual_refresh


class Asker(Playback[LearnedLinkModel]):
    """Explains pairs and events with the model of a run: with a dataset, in the state that evaluation has;
    without, as of everything the run has seen."""

    def __init__(
        self, subject: Subject, data: Dataset | None = None, tested: LinkRanking | None = None
    ) -> None:
        """``tested`` is the ranking of the test split of the dataset, where it was made already."""
        subject.require_explainable()
        super().__init__(subject, data)
        self._rankings: dict[str, LinkRanking] = {} if tested is None else {"test": tested}

    def pair(
        self,
        source: str | int,
        destination: str | int,
        t: int | None,
        older: int,
        against: str | int | None = None,
    ) -> Scored:
        """A pair at a time, by default right after the last event of the dataset, or that was seen.
        ``against`` is another candidate to contrast it with, or "first" for the one that ranks first."""
        src, dst = self.index(source, "src"), self.index(destination, "dst")
        named = [] if against is None else self._named(against)
        if dst in named:
            raise InputError(f"{destination} cannot be contrasted with itself; name another candidate.")
        t, position = self.before(t)
        names = replace(self.names, observed=position)
        among = self._candidates(src, t, [dst, *named])
        x = self._explain(src, dst, t, older, (among.rank(0), len(among.nodes)), names)
        if against is None:
            return x
        place = 1 if named else _best_of_others(among, destination)
        return replace(x, contrast=self._contrast(x, src, among, place))

    @property
    def refresh(self) -> int:
        return usual_refresh("link-ranking", self.require_data().train, self.model.trains_in_turn)

    def event(self, row: int, older: int) -> Scored:
        """An event of the dataset, as evaluation would score it."""
        self.require_row(row)
        return next(self._events([row], older))

    def worst(self, number: int, split: HeldOut, older: int) -> Iterator[Scored]:
        """The events of a split that were ranked worst, worst first."""
        rows = self.highest(self.ranking(split), split, number)
        found = dict(zip(sorted(rows), self._events(sorted(rows), older), strict=True))
        yield from (found[row] for row in rows)

    def _events(self, rows: Sequence[int], older: int) -> Iterator[Scored]:
        """Events of one split, in order."""
        data = self.require_data()
        split = split_of(data, rows[0])
        offset, starts = data.part(split).offset, self.starts(rows)
        task = None if split == "train" else self.ranking(split)
        for row, start, _ in zip(rows, starts, self.states(data, starts), strict=True):
            stream = data.stream
            src, dst, t = int(stream.src[row]), int(stream.dst[row]), int(stream.t[row])
            if task is None:
                among = self._candidates(src, t, [dst])
                rank = among.rank(0), len(among.nodes)
            else:
                place = np.array([row - offset])
                scores = self.model.score(task.candidates.queries(place))
                others = int(task.candidates.negatives_per_positive()[row - offset])
                rank = float(task.candidates.ranks(place, scores)[0]), others + 1
            yield self._explain(src, dst, t, older, rank, replace(self.names, observed=start))

    @property
    def attends(self) -> bool:
        """Whether there are past events in an attention, that could be older."""
        return attention_of(self.model) is not None

    def _explain(
        self, src: int, dst: int, t: int, older: int, rank: tuple[float, int] | None, names: Names
    ) -> Scored:
        model = self.model
        ask = Queries(np.array([src], np.int32), np.array([t]), np.array([[dst]], np.int32))
        score = float(model.score(ask))  # also makes room for unseen nodes
        if self.attends:
            return explain_pair(model, src, dst, t, older=older, names=names, rank=rank)
        if isinstance(model, ExplainsPairs):
            return explain_by_pair_term(model, src, dst, t, score, names=names, rank=rank)
        return explain_by_leaving_out(model, src, dst, t, score, names=names, rank=rank)

    def _candidates(self, src: int, t: int, asked: list[int]) -> ScoredCandidates:
        """Those asked about, and after them all other destinations so far."""
        known = self.model.destinations()
        nodes = np.concatenate((np.array(asked, np.int32), known[~np.isin(known, asked)]))
        scores = self.model.score(Queries(np.array([src], np.int32), np.array([t]), nodes))
        return ScoredCandidates(nodes, scores[0].detach().cpu())

    def _named(self, against: str | int) -> list[int]:
        """The candidate of that name; none where it is whoever ranks first."""
        if not isinstance(self.model, ExplainsPairs):
            raise InputError(
                f"This {self.names.model} has no pair term, and candidates are contrasted by what that knows "
                "of them; explain each by itself."
            )
        try:
            return [self.index(against, "dst")]
        except InputError:
            if against != FIRST:
                raise
            return []

    def _contrast(self, x: Scored, src: int, among: ScoredCandidates, place: int) -> Contrast:
        """The first of the candidates, which is explained, beside the one at a place."""
        node, score = int(among.nodes[place]), float(among.scores[place])
        assert isinstance(self.model, ExplainsPairs)
        assert x.pair is not None
        pair, other = x.pair, self.model.explain_pair(src, node, x.t).named(self.names.label)
        ranks = among.ranks_if(0, list(pair.effects.values()))
        return Contrast(
            other=self.names.label(node),
            score=score,
            rank=among.rank(place),
            difference=x.score - score,
            difference_of_pair_terms=pair.logit - other.logit,
            groups=contrasted(pair, other, dict(zip(pair.effects, ranks, strict=True)), x.unit),
        )

    def ranking(self, split: HeldOut) -> LinkRanking:
        """The task that ranks all events of a split of the dataset."""
        if split not in self._rankings:
            task = make_task(self.require_data(), split, kind="link-ranking")
            assert isinstance(task, LinkRanking)
            self._rankings[split] = task
        return self._rankings[split]


def _best_of_others(among: ScoredCandidates, destination: str | int) -> int:
    """The place of the one that ranks first, which must be another than the one asked about."""
    others = among.scores[1:]
    if len(others) == 0 or others.max() < among.scores[0]:
        raise InputError(f"{destination} ranks first itself; name the candidate to contrast it with.")
    return 1 + int(others.argmax())
