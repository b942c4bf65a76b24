"""`KernelCooccurrence`: observes events, and tells what a source and a candidate have been to each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.clock import PLAIN, Clock
from keat.cooccurrence import pair_columns
from keat.cooccurrence.hops import most_reached
from keat.cooccurrence.kept_records import kept, restored
from keat.cooccurrence.marks import COLUMNS, COLUMNS_WITH_MESSAGES
from keat.cooccurrence.observing import observe
from keat.cooccurrence.pair_budget import StateMemory, begin_budget, look, memory_of
from keat.cooccurrence.pair_columns import USUAL_EDITION, Columns, pair_single, source_single
from keat.cooccurrence.pair_reading import Events, Questions, Scales, Scratch, read_in_turn
from keat.cooccurrence.pair_records import (
    FOLLOWED,
    IN,
    NOW,
    OUT,
    SUCCESSORS,
    empty_tables,
    is_to_be_looked_at,
    with_nodes,
    with_room,
)
from keat.cooccurrence.pair_term import Numbers
from keat.cooccurrence.successors import led_by, most_followed
from keat.cooccurrence.widths import geometric_widths
from keat.state import lengthened, zeros

Ids = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
HOP_WIDTH = 4.0  # of the kernel on each leg of a path, in σ
SUCCESSION_WIDTH = 1.0  # the longer one by which destinations follow each other, in σ

_NOTHING: tuple[Ids, Ids, Times] = (np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64))


class KernelCooccurrence:
    """Multi-scale kernel sums Σ_i exp(-(t - t_i)/σ_m) over past events

    - of the pair, in either direction,
    - of each node, as a source and as a destination,

    with counts, ages, recency ranks, habits, replies, usual gaps, two- and three-hop sums and where others
    went on to beside them (`pair_columns`).

    Memory is a row for each pair that has met and O(K) for each node; an event costs O(K), a question
    O(candidates) and a constant. No part is nodes × nodes.
    """

    def __init__(
        self,
        num_nodes: int,
        sigma: float,
        widths: npt.ArrayLike | None = None,  # eight around σ if not given
        *,
        ring: int = 16,  # distinct partners remembered of each node, in each role
        fanout: int = 8,  # of them, how many a path may go on to
        clock: Clock = PLAIN,  # of σ and widths; times are in ticks
        edition: int = USUAL_EDITION,  # of the numbers that are read
        followed: int = FOLLOWED,  # of a source's latest destinations, how many a new one follows
        successors: int = SUCCESSORS,  # of a destination, how many are kept
        budget: int = 0,  # bytes of memory, for which the oldest pairs are dropped; 0: no such budget
    ) -> None:
        self.budget = budget
        self.edition, self.followed, self.successors = edition, min(followed, ring), successors
        self.sigma, self.ring, self.fanout, self.clock = sigma, ring, min(fanout, ring), clock
        self.widths = geometric_widths(sigma) if widths is None else np.asarray(widths, dtype=np.float64)
        self.columns = Columns(len(self.widths), edition)
        self.num_nodes = num_nodes
        self._scales = Scales(
            per_time=pair_columns.AGE.inner / sigma,
            per_path=pair_columns.PATHS.inner,
            per_ratio=pair_columns.RATIO.inner,
            hop_rate=1.0 / (HOP_WIDTH * sigma),
            fanout=self.fanout,
            kernel=self.nearest_kernel,
        )
        self.clear()

    @property
    def nearest_kernel(self) -> int:
        """The one whose width is nearest to σ."""
        return int(np.abs(np.log(self.widths / self.sigma)).argmin())

    def clear(self) -> None:
        """Forget every event, before there is room for others: both at once may not fit."""
        self.__dict__.pop("tables", None)
        self.tables = empty_tables(
            self.num_nodes,
            self.widths,
            self.ring,
            self.clock.divide,
            succession=SUCCESSION_WIDTH * self.sigma,
            followed=self.followed,
            successors=self.successors,
            edition=self.edition,
        )
        if self.budget:
            begin_budget(self.tables, self.budget)
        columns = COLUMNS if self.edition < 3 else COLUMNS_WITH_MESSAGES
        self._make_scratch(zeros((0, columns), np.float32))

    def _make_scratch(self, marks: npt.NDArray[np.float32]) -> None:
        """What reading marks and wipes for each question."""
        most = 2 * self.ring + most_reached(self.fanout) + most_followed(self.tables) + self.ring**2
        self._scratch = Scratch(
            marks=lengthened(marks, len(self.tables.nodes)),
            trail=np.zeros(most, dtype=np.int32),
            weights=np.zeros(self.ring, dtype=np.float32),
        )

    def make_room(self, nodes: int) -> None:
        """For nodes up to this many."""
        if nodes > len(self.tables.nodes):
            self.tables = with_nodes(self.tables, nodes)
            self._make_scratch(self._scratch.marks)

    # -- state -----------------------------------------------------------------------------------------

    def observe(self, src: Ids, dst: Ids, t: Times) -> None:
        """Consecutive events, never older than those before."""
        self.make_room(_needed(src, dst))
        events = _frozen(src, dst, self._finer(t))
        done = observe(self.tables, *events, 0, len(t))
        while done < len(t):
            self._make_place()
            done = observe(self.tables, *events, done, len(t))

    def _make_place(self) -> None:
        """There was none for another event, whatever it is."""
        if is_to_be_looked_at(self.tables):
            look(self.tables)
        self.tables = with_room(self.tables)

    def _finer(self, t: Times) -> Times:
        """Times as the tables keep them: whole numbers of which ``ticks`` make one unit of the clock."""
        return t if self.clock.multiply == 1 else t * self.clock.multiply

    @property
    def last_time(self) -> int:
        return int(self.tables.clock[NOW]) // self.clock.multiply

    def memory(self) -> StateMemory | None:
        """What the state takes of its budget, and what was dropped for it; None where there is none."""
        return memory_of(self.tables)

    def sources(self) -> Ids:
        """Nodes that have been sources."""
        return np.flatnonzero(self.tables.nodes["count"][:, OUT]).astype(np.int32)

    def destinations(self) -> Ids:
        """Nodes that have been destinations."""
        return np.flatnonzero(self.tables.nodes["count"][:, IN]).astype(np.int32)

    def state(self) -> dict[str, Tensor]:
        """Everything remembered, field by field; the hash table is made anew from the pairs."""
        return kept(self.tables, self.num_nodes)

    def load_state(self, state: dict[str, Tensor]) -> None:
        self.tables = restored(state, self.tables)
        self._make_scratch(self._scratch.marks)

    # -- reading ---------------------------------------------------------------------------------------

    def read(self, src: Ids, t: Times, candidates: Ids) -> Numbers:
        """The numbers of candidates (C,) or (B, C) of sources (B,) at times (B,). Changes nothing."""
        return self.read_in_turn(src, t, candidates, *_NOTHING)[0]

    def read_in_turn(
        self,
        src: Ids,
        t: Times,
        candidates: Ids,
        event_src: Ids,
        event_dst: Ids,
        event_t: Times,
        event: int = 0,
    ) -> tuple[Numbers, int]:
        """The same, each question with those events observed that are strictly earlier, from number
        ``event`` on; also returns the first event that no question came after. Times do not fall."""
        rows, width = len(src), candidates.shape[-1]
        t, event_t = self._finer(t), self._finer(event_t)
        self.make_room(_needed(src, candidates, event_src, event_dst))
        of_source = np.empty((rows, len(self.columns.source)), dtype=np.float32)
        of_pair = np.empty((rows, width, len(self.columns.pair)), dtype=np.float32)
        events = Events(*_frozen(event_src, event_dst, event_t))
        step = 0 if candidates.ndim == 1 else width
        questions = Questions(*_frozen(src, t, candidates.ravel()), step, width)
        done = 0
        while True:
            event, done = read_in_turn(
                self.tables, events, event, questions, done, self._scratch, self._scales, of_source, of_pair
            )
            if done == rows:
                break
            self._make_place()
        return Numbers(torch.from_numpy(of_source), torch.from_numpy(of_pair)), event

    def describe(self, src: int, candidate: int, t: int) -> dict[str, float]:
        """The numbers of one pair by name, as they are: sums and counts of events, ages in the unit of
        time (infinite if never), ranks and shares."""
        numbers = self.read(np.array([src], np.int32), np.array([t]), np.array([candidate], np.int32))
        sigma = self.clock.ticks(self.sigma)
        told: dict[str, float] = {}
        for sums, single, read in (
            (pair_columns.SOURCE_SUMS, source_single(self.edition), numbers.source[0]),
            (pair_columns.PAIR_SUMS, pair_single(self.edition), numbers.pair[0, 0]),
        ):
            values = iter(read.tolist())
            for name in sums:
                told |= {f"{name}, over {self.clock.ticks(width):g}": next(values) for width in self.widths}
            for (name, scale), value in zip(single.items(), values, strict=True):
                if value >= pair_columns.NEVER:
                    told[name] = math.inf
                else:
                    told[name] = value / scale.inner * (sigma if scale is pair_columns.AGE else 1.0)
        return told

    def led_by(self, src: int, candidate: int) -> tuple[int, float] | None:
        """Of the source's latest destinations the one that speaks most for the candidate, and the share of
        the candidate among all that others went on to from there, within about `succession_width`."""
        if self.edition == 1 or src >= len(self.tables.nodes):
            return None
        return led_by(self.tables, src, candidate)

    @property
    def succession_width(self) -> float:
        """In the unit of time."""
        return self.clock.ticks(SUCCESSION_WIDTH * self.sigma)


def _needed(*ids: Ids) -> int:
    return 1 + max(int(part.max(initial=-1)) for part in ids)


def _frozen(
    *arrays: *tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]],
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Contiguous read-only views: of one kind, so that the loops are compiled once."""
    a, b, c = (np.ascontiguousarray(array).view() for array in arrays)
    for view in (a, b, c):
        view.flags.writeable = False
    return a, b, c
