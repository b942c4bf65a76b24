"""`WalkMatrices`: how many walks lead from one node to another, fading with the ages of their steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from keat.clock import Clock
from keat.errors import InputError
from keat.models.tpnet.walk_loops import (
    EVENTS,
    NOW,
    TOUCHED,
    WalkTables,
    let_go,
    read_in_turn,
    refresh,
    take_in,
)
from keat.ops import Integers, frozen
from keat.state import Expected, check_state, check_that, whole

Ids = npt.NDArray[np.int32]
MOST_NODES = 12_000  # that walks are kept of exactly: 1.2 GB a step and width
DRAWN_TOGETHER = 1 << 10  # rows of the projection, so that it does not depend on when nodes join
BYTES_AT_ONCE = 1 << 26  # of rows as they were before a time


class WalkMatrices:
    """A walk of l steps from u to v goes along l events, each earlier than the one before it, in either
    direction of an event. With ages Δ_i of its steps it counts Π exp(-Δ_i/width):

        A⁽⁰⁾ = I,    A⁽ˡ⁾_uv = Σ over walks of l steps from u to v

    Kept is H⁽ˡ⁾ = A⁽ˡ⁾ P, where P has rows of independent N(0, 1/d), so that products of rows of H are
    products of rows of A but for noise; or exactly, with P = I. An event (u, v) at t fades both rows to t and
    adds H⁽ˡ⁻¹⁾_v to H⁽ˡ⁾_u and the other way round, as they were before t: O(l·d), whatever the number of
    nodes. Rows fade when they are touched or read.

    Read are Gram matrices of a pair, ⟨H⁽ⁱ⁾_u, H⁽ʲ⁾_v⟩ for i, j = 0 … steps, for each width.
    """

    def __init__(
        self,
        num_nodes: int,
        steps: int,
        widths: Sequence[float],  # in the unit of the clock
        clock: Clock,
        *,
        dim: int | None,  # of the projection; none if exact
        draw: int = 0,
        batched: bool = False,  # whether walks within one call of `observe` are left out
    ) -> None:
        self.num_nodes, self.steps, self.clock, self.dim, self.draw = num_nodes, steps, clock, dim, draw
        self.rates, self.batched = 1.0 / np.array(widths, dtype=np.float64), batched
        self.clear()

    @property
    def exact(self) -> bool:
        return self.dim is None

    def clear(self) -> None:
        shape = (len(self.rates), self.steps)
        self.tables = WalkTables(
            rates=self.rates,
            multiply=self.clock.multiply,
            divide=self.clock.divide,
            projection=np.zeros((0, self.dim or 0), dtype=np.float32),
            rows=np.zeros((0, *shape, self.dim or 0), dtype=np.float32),
            as_of=np.zeros(0, dtype=np.int64),
            before=np.zeros((0, *shape, self.dim or 0), dtype=np.float32),
            touched=np.zeros(0, dtype=np.int64),
            place=np.zeros(0, dtype=np.int64),
            roles=np.zeros((0, 2), dtype=np.int64),
            grams=np.zeros((0, len(self.rates), self.steps + 1, self.steps + 1), dtype=np.float32),
            stale=np.zeros(0, dtype=np.bool_),
            clock=np.zeros(3, dtype=np.int64),
        )
        self.make_room(max(self.num_nodes, 1))

    def make_room(self, nodes: int) -> None:
        """For nodes up to this many."""
        old, tables = len(self.tables.as_of), self.tables
        if nodes <= old:
            return
        if self.exact and nodes > MOST_NODES:
            raise InputError(
                f"Walks between {nodes:,} nodes cannot be kept exactly ({MOST_NODES:,} at most); use "
                "projection 'random'."
            )
        size = max(nodes, old * 3 // 2)
        size = min(size, MOST_NODES) if self.exact else size
        width = size if self.dim is None else self.dim

        shape = tables.rows.shape[1:3]
        self.tables = tables._replace(
            projection=self._projection(size),
            rows=_grown(tables.rows, (size, *shape, width)),
            as_of=_grown(tables.as_of, (size,)),
            before=_grown(tables.before, (len(tables.before), *shape, width)),
            place=_grown(tables.place, (size,), -1),
            roles=_grown(tables.roles, (size, 2)),
            grams=_grown(tables.grams, (size, *tables.grams.shape[1:])),
            stale=_grown(tables.stale, (size,), 1),
        )

    def _projection(self, nodes: int) -> npt.NDArray[np.float32]:
        if self.dim is None:
            return np.eye(nodes, dtype=np.float32)
        blocks = [
            np.random.default_rng([self.draw, block]).standard_normal(
                (DRAWN_TOGETHER, self.dim), dtype=np.float32
            )
            for block in range(-(-nodes // DRAWN_TOGETHER))
        ]
        drawn: npt.NDArray[np.float32] = np.concatenate(blocks)[:nodes] / np.sqrt(np.float32(self.dim))
        return drawn

    @property
    def last_time(self) -> int:
        return int(self.tables.clock[NOW])

    def nodes_of(self, role: int) -> Ids:
        """Nodes that have been sources (0) or destinations (1)."""
        return np.flatnonzero(self.tables.roles[:, role]).astype(np.int32)

    # -- events ----------------------------------------------------------------------------------------

    def observe(self, src: Ids, dst: Ids, t: Integers) -> None:
        """Consecutive events, never older than those before."""
        if len(t) == 0:
            return
        src, dst, t = frozen(src), frozen(dst), frozen(t)
        self.make_room(1 + int(max(src.max(), dst.max())))
        if self.batched:
            let_go(self.tables)
        for first in range(0, len(t), self._at_once()):
            last = min(first + self._at_once(), len(t))
            self._make_room_for_events(last - first)
            take_in(self.tables, src, dst, t, first, last, int(t[-1]), self.batched)

    def _at_once(self) -> int:
        return max(1, BYTES_AT_ONCE // (8 * max(1, int(self.tables.rows[0].size))))

    def _make_room_for_events(self, events: int) -> None:
        """Of rows as they were before their time."""
        tables = self.tables
        needed = min(int(tables.clock[TOUCHED]) + 2 * events, len(tables.as_of))
        if needed <= len(tables.before):
            return
        before = _grown(tables.before, (needed, *tables.rows.shape[1:]))
        self.tables = tables._replace(before=before, touched=_grown(tables.touched, (needed,)))

    # -- reading ---------------------------------------------------------------------------------------

    def read_in_turn(
        self,
        left: Ids,
        right: Ids,
        t: Integers,
        src: Ids,
        dst: Ids,
        happened: Integers,
        *,
        until_query: bool = True,
    ) -> tuple[Tensor, Tensor, Tensor, int]:
        """Gram matrices (B, n, widths, steps + 1, steps + 1) of pairs (left, right), (B, n) each: of the left
        with itself, of left with right, and of the right with itself, at times (B,), each question with those
        events taken in that are strictly earlier; and how many those were. Times do not fall where there are
        events. ``until_query`` walks fade until the question's time, else until the last event."""
        self.make_room(1 + int(max(part.max(initial=-1) for part in (left, right, src, dst))))
        self._make_room_for_events(len(happened))
        shape = (*left.shape, *self.tables.grams.shape[1:])
        grams = np.empty((3, *shape), dtype=np.float32)
        left, right, src, dst = frozen(left), frozen(right), frozen(src), frozen(dst)
        t, happened = frozen(t), frozen(happened)
        done = read_in_turn(self.tables, left, right, t, src, dst, happened, until_query, grams)
        own, cross, other = torch.from_numpy(grams)
        return own, cross, other, done

    def all_pairs(
        self, src: Ids, candidates: Ids, t: Integers, *, until_query: bool = True
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The same of every source (B,) with every candidate (C,), as one product of matrices for each width:
        (B, 1, …), (B, C, …) and (B, C, …), the last without a copy for each source where times agree."""
        self.make_room(1 + int(max(src.max(initial=-1), candidates.max(initial=-1))))
        nodes = np.concatenate((src, candidates))
        refresh(self.tables, frozen(nodes))
        left, right = self._rows_now(src), self._rows_now(candidates)  # (B, M, K, d), (C, M, K, d)
        products = [
            (left[:, m].flatten(0, 1) @ right[:, m].flatten(0, 1).T).view(
                len(src), left.shape[2], len(candidates), right.shape[2]
            )
            for m in range(len(self.rates))
        ]
        cross = torch.stack(products, dim=3).permute(0, 2, 3, 1, 4)  # (B, C, M, K, K)
        faded = self._faded_since_now(t if until_query else np.full_like(t, self.tables.clock[NOW]))
        own, other = self._grams_now(src), self._grams_now(candidates)
        return own[:, None] * faded[:, None], cross * faded[:, None], other[None] * faded[:, None]

    def _fading(
        self, ages: npt.NDArray[np.float64], powers: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float32]:
        """exp(-power · age/width), (n, M, *powers)."""
        exponent = np.multiply.outer(np.multiply.outer(ages, self.rates), powers)
        return np.exp(-exponent).astype(np.float32)

    def _ages_now(self, nodes: Ids) -> npt.NDArray[np.float64]:
        since = self.tables.clock[NOW] - self.tables.as_of[nodes]
        return np.where(self.tables.roles[nodes].any(axis=1), self.clock.measure(since), 0).astype(np.float64)

    def _rows_now(self, nodes: Ids) -> Tensor:
        """H⁽⁰⁾ … of nodes as of the last event, (n, M, K, d)."""
        rows = self.tables.rows[nodes] * self._fading(self._ages_now(nodes), self._powers()[1:])[..., None]
        first = np.broadcast_to(
            self.tables.projection[nodes][:, None, None], (*rows.shape[:2], 1, rows.shape[3])
        )
        return torch.from_numpy(np.concatenate((first, rows), axis=2))

    def _grams_now(self, nodes: Ids) -> Tensor:
        powers = self._powers()
        both = powers[:, None] + powers
        return torch.from_numpy(self.tables.grams[nodes] * self._fading(self._ages_now(nodes), both))

    def _faded_since_now(self, t: Integers) -> Tensor:
        since = np.maximum(t - self.tables.clock[NOW], 0) * (self.tables.clock[EVENTS] > 0)
        powers = self._powers()
        return torch.from_numpy(
            self._fading(self.clock.measure(since).astype(np.float64), powers[:, None] + powers)
        )

    def _powers(self) -> npt.NDArray[np.int64]:
        return np.arange(self.steps + 1)

    # -- state -----------------------------------------------------------------------------------------

    def save(self) -> dict[str, Tensor]:
        """The projection follows from the configuration, and products from the rows."""
        tables = self.tables
        nodes = 1 + int(np.flatnonzero(tables.roles.any(axis=1)).max(initial=-1))
        touched = int(tables.clock[TOUCHED])
        width = nodes if self.dim is None else self.dim
        arrays = {
            "rows": tables.rows[:nodes, ..., :width],
            "as_of": tables.as_of[:nodes],
            "roles": tables.roles[:nodes],
            "touched": tables.touched[:touched],
            "before": tables.before[:touched, ..., :width],
            "clock": tables.clock,
        }
        return {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}

    def load(self, state: dict[str, Tensor]) -> None:
        shape = (len(self.rates), self.steps, "nodes" if self.dim is None else self.dim)
        expected = {
            "rows": Expected(torch.float32, ("nodes", *shape)),
            "as_of": whole("nodes"),
            "roles": whole("nodes", 2, lowest=0),
            "touched": whole("touched", lowest=0, below="nodes"),
            "before": Expected(torch.float32, ("touched", *shape)),
            "clock": whole(3),
        }
        lengths = check_state(state, expected)
        nodes, touched = lengths["nodes"], lengths["touched"]
        check_that(int(state["clock"][TOUCHED]) == touched, f"'clock' speaks of other than {touched} nodes")
        check_that(len(torch.unique(state["touched"])) == touched, "'touched' holds a node twice")
        self.clear()
        self.make_room(nodes)
        self._make_room_for_events(touched)
        for name in expected:
            held, into = state[name].cpu().numpy(), getattr(self.tables, name)
            into[tuple(slice(0, length) for length in held.shape)] = held
        self.tables.place[self.tables.touched[:touched]] = np.arange(touched)


def _grown(array: npt.NDArray[Any], shape: tuple[int, ...], fill: int = 0) -> npt.NDArray[Any]:
    """An array of a larger shape that begins with this one."""
    grown = np.full(shape, fill, dtype=array.dtype)
    grown[tuple(slice(0, length) for length in array.shape)] = array
    return grown
