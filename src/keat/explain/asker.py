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
from keat.explain.explanation import explain_pair
from keat.explain.playback import HeldOut, Playback, split_of
from keat.explain.scored import Names, Scored, explain_by_pair_term
from keat.explain.subject import Subject
from keat.models.contract import LearnedLinkModel, Queries
from keat.models.explainable import attention_of
from keat.tasks.link import LinkRanking
from keat.tasks.metrics import rank_of
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

    def pair(self, source: str | int, destination: str | int, t: int | None, older: int) -> Scored:
        """A pair at a time, by default right after the last event of the dataset, or that was seen."""
        src, dst = self.index(source, "src"), self.index(destination, "dst")
        t, position = self.before(t)
        names = replace(self.names, observed=position)
        return self._explain(src, dst, t, older, self._rank_among_known(src, dst, t), names)

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
                rank = self._rank_among_known(src, dst, t)
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
        return explain_by_pair_term(model, src, dst, t, score, names=names, rank=rank)

    def _rank_among_known(self, src: int, dst: int, t: int) -> tuple[float, int]:
        """The rank among all destinations so far and this one, and how many those are."""
        others = self.model.destinations()
        others = others[others != dst]
        candidates = np.concatenate((np.array([dst], dtype=np.int32), others))
        scores = self.model.score(Queries(np.array([src], dtype=np.int32), np.array([t]), candidates))
        return float(rank_of(scores[:, 0], scores[:, 1:])[0]), len(candidates)

    def ranking(self, split: HeldOut) -> LinkRanking:
        """The task that ranks all events of a split of the dataset."""
        if split not in self._rankings:
            task = make_task(self.require_data(), split, kind="link-ranking")
            assert isinstance(task, LinkRanking)
            self._rankings[split] = task
        return self._rankings[split]
