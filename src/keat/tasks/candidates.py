"""Against whom a positive is ranked: one list shared by all, or a matrix with a row for each."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt
import torch

from keat.errors import InputError
from keat.events import EventStream
from keat.models.contract import Queries
from keat.tasks.metrics import rank_of
from keat.tasks.script import Rows
from keat.tasks.true_destinations import TrueDestinations


class Candidates(ABC):
    """Candidates of the positives ``events``; rows are positions in ``events``."""

    def __init__(self, events: EventStream) -> None:
        self.events = events

    @property
    @abstractmethod
    def width(self) -> int:
        """Scores a positive needs."""

    @abstractmethod
    def queries(self, rows: Rows) -> Queries: ...

    @abstractmethod
    def ranks(self, rows: Rows, scores: torch.Tensor) -> torch.Tensor:
        """Ranks (B,) of the positives from the scores of `queries`."""

    @abstractmethod
    def contest(self, rows: Rows, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores (B, C) in which −∞ stands for whom the positive is not ranked against, and the positive's
        column (B,)."""

    @abstractmethod
    def negatives_per_positive(self) -> npt.NDArray[np.int64]:
        """How many negatives each positive is ranked against."""


class SharedCandidates(Candidates):
    """All of ``catalogue`` but the true destinations of (src, t): TGB's protocol for tgbl-wiki.

    Only the catalogue is kept. What a positive must not be ranked against (the other destinations its
    source really had at that very time) is found by grouping, and taken out of the counts.
    """

    def __init__(self, events: EventStream, catalogue: npt.NDArray[np.int32]) -> None:
        super().__init__(events)
        self.catalogue = np.unique(catalogue).astype(np.int32)
        column = np.searchsorted(self.catalogue, events.dst)
        column = np.minimum(column, len(self.catalogue) - 1)
        outside = np.flatnonzero(self.catalogue[column] != events.dst)
        if len(outside):
            raise InputError(
                f"Destination {events.ids.label(int(events.dst[outside[0]]))} is not among the "
                f"{len(self.catalogue)} candidates; add it to the list."
            )
        self.column = column  # (B,) of the positive
        self.true = TrueDestinations(events)

    @property
    def width(self) -> int:
        return len(self.catalogue)

    def queries(self, rows: Rows) -> Queries:
        return Queries(self.events.src[rows], self.events.t[rows], self.catalogue)

    def ranks(self, rows: Rows, scores: torch.Tensor) -> torch.Tensor:
        columns = torch.from_numpy(self.column[rows]).to(scores.device)
        positive = scores.gather(1, columns[:, None])
        above = (scores > positive).sum(dim=1)
        level = (scores >= positive).sum(dim=1)
        if self.true.counts[rows].max(initial=1) == 1:  # nearly always: only itself was counted
            return 1.0 + 0.5 * (above + level - 1)
        # Counted although true at that time, the positive itself among them: taken out again.
        numbers, destination = self.true.expand(rows)
        column = np.searchsorted(self.catalogue, destination)
        row = torch.from_numpy(numbers).to(scores.device)
        true_scores = scores[row, torch.from_numpy(column).to(scores.device)]
        own = positive[:, 0][row]
        above = above.index_add(0, row, -(true_scores > own).long())
        level = level.index_add(0, row, -(true_scores >= own).long())
        return 1.0 + 0.5 * (above + level)

    def contest(self, rows: Rows, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        columns = torch.from_numpy(self.column[rows])
        if self.true.counts[rows].max(initial=1) == 1:
            return scores, columns
        numbers, destination = self.true.expand(rows)
        column = np.searchsorted(self.catalogue, destination)
        other = column != self.column[rows][numbers]
        alone = scores.clone()
        alone[torch.from_numpy(numbers[other]), torch.from_numpy(column[other])] = -torch.inf
        return alone, columns

    def negatives_per_positive(self) -> npt.NDArray[np.int64]:
        return len(self.catalogue) - self.true.counts


class OwnCandidates(Candidates):
    """A matrix of negatives (B, M), memory-mapped where large; row i has ``lengths[i]`` of them, the rest
    of the row repeats a valid id so that no model ever sees a hole. Where only some of the events are asked,
    ``only`` are their positions, ascending, and the matrix has a row for each of them."""

    def __init__(
        self,
        events: EventStream,
        negatives: npt.NDArray[np.int32],
        lengths: npt.NDArray[np.int32],
        only: npt.NDArray[np.int64] | None = None,
    ) -> None:
        super().__init__(events)
        positives = len(events) if only is None else len(only)
        if negatives.shape[0] != positives or lengths.shape != (positives,):
            raise InputError(
                f"There are {negatives.shape[0]} rows of negatives for {positives} positives; "
                "they belong to other data or another split."
            )
        self.negatives, self.lengths, self.only = negatives, lengths, only

    @property
    def width(self) -> int:
        return 1 + int(self.negatives.shape[1])

    def queries(self, rows: Rows) -> Queries:
        events = self.events
        both = np.concatenate((events.dst[rows][:, None], self.negatives[self._places(rows)]), axis=1)
        return Queries(events.src[rows], events.t[rows], both)

    def ranks(self, rows: Rows, scores: torch.Tensor) -> torch.Tensor:
        return rank_of(scores[:, 0], scores[:, 1:], valid=self._valid(rows, scores.device))

    def contest(self, rows: Rows, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        alone = scores.clone()
        alone[:, 1:].masked_fill_(~self._valid(rows, scores.device), -torch.inf)
        return alone, torch.zeros(len(scores), dtype=torch.int64)

    def _places(self, rows: Rows) -> Rows:
        """Rows of the matrix for positions in ``events``."""
        if self.only is None:
            return rows
        wanted = np.arange(len(self.events))[rows] if isinstance(rows, slice) else rows
        places = np.searchsorted(self.only, wanted)
        if not np.array_equal(self.only[np.minimum(places, len(self.only) - 1)], wanted):
            raise ValueError("negatives were drawn for other positives than these")
        return places

    def _valid(self, rows: Rows, device: torch.device) -> torch.Tensor:
        """Which places of the matrix hold a negative, (B, M)."""
        lengths = torch.from_numpy(self.lengths[self._places(rows)].astype(np.int64)).to(device)
        return torch.arange(self.negatives.shape[1], device=device) < lengths[:, None]

    def negatives_per_positive(self) -> npt.NDArray[np.int64]:
        return self.lengths.astype(np.int64)
