"""The one driver of models of snapshots: bins end as events are observed, and the latest is read.

Nothing is asked of a snapshot before its bin has ended, and it has ended only when a later event was
observed. So the state is a function of the events observed, and the embeddings are one table until the next
bin ends.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from keat.clock import Clock
from keat.events import EventStream
from keat.kernels import create_kernel
from keat.models.contract import EmbedsNodes, KeepsEvents, Queries
from keat.models.snapshots.snapshot_config import BINS_IN_SIGMA, SnapshotConfig
from keat.models.snapshots.snapshot_decoders import TableDecoder
from keat.models.snapshots.snapshot_graph import SnapshotGraph
from keat.models.snapshots.snapshot_memory import Memory, SnapshotMemory
from keat.ops import dropout
from keat.state import SnapshotEvents, as_tensor, check_state, parts_of

Ids = npt.NDArray[np.integer]
NOBODY = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What a network is shown of m nodes: those that have room, and at the end those that nobody knows."""

    x: Tensor  # (m, ·) what tells nodes apart
    seen: Tensor  # (m,) whether a node had an event in a bin that has ended
    graph: SnapshotGraph
    memory: Memory  # as it was before this snapshot


class SnapshotModel(KeepsEvents, EmbedsNodes):
    """z = network(latest snapshot, memory before it);  memory ← what the network leaves, once the next bin
    ends; logit(u, v) = decoder(z_u, z_v).

    **Gradient.** In training the latest snapshot is read anew for every lesson, from a memory without
    gradient: back-propagation is cut after one snapshot, and each lesson teaches how the latest is to be
    read.

    **Nodes that join.** The memory of a node starts with its first snapshot. One without any is read from its
    own input alone, without edges and with an empty memory, whether or not there is room for it.
    """

    trains_in_turn = True
    state: SnapshotEvents
    decoder: TableDecoder

    def __init__(
        self,
        num_nodes: int,
        feature_dim: int,
        sigma: float,
        config: SnapshotConfig,
        clock: Clock,
        *,
        first_only: bool = False,
    ) -> None:
        super().__init__()
        self.sigma, self.clock, self.dropped = sigma, clock, config.dropout
        self.kernel = create_kernel(config.kernel, sigma, config.width)
        self.state = SnapshotEvents(
            num_nodes,
            feature_dim,
            config.bin_width or sigma / BINS_IN_SIGMA,
            clock,
            history=config.history,
            repeats=config.repeats,
            first_only=first_only,
        )
        self.memory = SnapshotMemory()
        self._read: tuple[object, Tensor, Memory] | None = None
        self._projected: tuple[object, Tensor] | None = None

    # -- what a model is ---------------------------------------------------------------------------------

    @abstractmethod
    def inputs(self, nodes: Tensor) -> Tensor:
        """x (n, ·) of any nodes (n,)."""

    @abstractmethod
    def step(self, view: View, asked: Tensor | None) -> tuple[Tensor, Memory]:
        """Embeddings of the rows ``asked`` (n,), or of all, and what is remembered of them afterwards."""

    def taught(self, z: Tensor, asked: Tensor, view: View) -> Tensor:  # noqa: ARG002
        """The embeddings as a lesson has them; to be overridden where more than scores is to be taught."""
        return dropout(z, self.dropped, self.training)

    # -- state -------------------------------------------------------------------------------------------

    def observe(self, events: EventStream) -> None:
        for _ in self.state.ending(events):
            if self.state.latest >= 0:
                self.memory.keep(self._after(), self.state.seen)

    def reset(self) -> None:
        super().reset()
        self.memory.clear()

    def stream_state(self) -> dict[str, Tensor]:
        self.memory.grow(len(self.state.seen))
        return self.state.save() | {f"memory.{name}": table for name, table in self.memory.tables().items()}

    def load_stream_state(self, state: dict[str, Tensor]) -> None:
        kept = {f"memory.{name}": expected for name, expected in self.memory.expected().items()}
        check_state(state, self.state.expected() | kept)
        self.state.load({name: value for name, value in state.items() if name not in kept})
        (memory,) = parts_of({name: state[name] for name in kept}, ("memory.",))
        self.memory.load(
            {name: table.to(self.device) for name, table in memory.items()}, len(self.state.seen)
        )

    def _after(self) -> Memory:
        """What is remembered once the latest snapshot has been read, of all nodes that have room."""
        with torch.no_grad():
            return self.step(self._view(), None)[1] if self.training else self._read_all()[1]

    # -- embeddings --------------------------------------------------------------------------------------

    def embeddings(self, nodes: Tensor, t: Tensor) -> Tensor:  # noqa: ARG002  (the same until a bin ends)
        distinct, place = np.unique(nodes.cpu().numpy(), return_inverse=True)
        if self.training:
            z = self._learning(distinct)
        else:
            with torch.no_grad():
                known = int(np.searchsorted(distinct, len(self.state.seen)))
                z, _ = self._read_all()
                z = torch.cat((z[as_tensor(distinct[:known], z.device)], self._strangers(distinct[known:])))
        return z.index_select(0, as_tensor(place, z.device))

    def _view(self, strangers: Ids = NOBODY) -> View:
        """Of the nodes that have room, and of some that have none."""
        seen = self.state.seen
        self.memory.grow(len(seen))
        nodes = torch.arange(len(seen), device=self.device)
        x = self.inputs(torch.cat((nodes, as_tensor(strangers, self.device).long())))
        graph = SnapshotGraph.of(self.state.edges(), self.kernel, len(strangers))
        seen = torch.cat((seen, seen.new_zeros(len(strangers))))
        return View(x, seen, graph, self.memory.tables(len(strangers)))

    def _learning(self, nodes: Ids) -> Tensor:
        """z of distinct nodes in order, with a gradient."""
        size = len(self.state.seen)
        known = int(np.searchsorted(nodes, size))
        rows = np.concatenate((nodes[:known], np.arange(size, size + len(nodes) - known)))
        asked, view = as_tensor(rows, self.device).long(), self._view(nodes[known:])
        return self.taught(self.step(view, asked)[0], asked, view)

    def _read_all(self) -> tuple[Tensor, Memory]:
        """z of all nodes that have room, and what is remembered afterwards; made once a snapshot."""
        key = self._key()
        if self._read is None or self._read[0] != key:
            self._read = (key, *self.step(self._view(), None))
        return self._read[1:]

    def _strangers(self, nodes: Ids) -> Tensor:
        """z of nodes that have no room. Asking about them makes none."""
        size = len(self.state.seen)
        if len(nodes) == 0:
            return self._read_all()[0][:0]
        rows = torch.arange(size, size + len(nodes), device=self.device)
        return self.step(self._view(nodes), rows)[0]

    def _key(self) -> object:
        """What a table that is kept depends on: the snapshot, the parameters, and where they are."""
        versions = sum(parameter._version for parameter in self.parameters())
        return self.state.changes, versions, self.device

    # -- scores ------------------------------------------------------------------------------------------

    def score(self, queries: Queries) -> Tensor:
        if self.training:
            return self._score_learning(queries)
        with torch.no_grad():
            return self._score(queries)

    def score_in_turn(self, queries: Sequence[Queries], events: EventStream) -> list[Tensor]:
        """Scores change only where a bin ends, so that all queries in between are asked at once."""
        scores: list[list[Tensor]] = [[] for _ in queries]
        asked, seen = [0] * len(queries), 0
        for first in self.state.beginnings(events.t).tolist():
            for number, part in enumerate(queries):
                until = int(np.searchsorted(part.t, events.t[first], side="right"))
                scores[number].append(self.score(part.rows(asked[number], until)))
                asked[number] = until
            self.observe(events[seen : first + 1])
            seen = first + 1
        for number, part in enumerate(queries):
            scores[number].append(self.score(part.rows(asked[number], len(part.t))))
        self.observe(events[seen:])
        return [torch.cat(parts) for parts in scores]

    def _score_learning(self, queries: Queries) -> Tensor:
        candidates = np.broadcast_to(queries.candidates, queries.shape)
        nodes, place = np.unique(np.concatenate((queries.src, candidates.ravel())), return_inverse=True)
        rows = as_tensor(place, self.device)
        src, dst = torch.tensor_split(rows, [len(queries.src)])
        return self.decoder.pairs(self._learning(nodes), src, dst.view(queries.shape))

    def _score(self, queries: Queries) -> Tensor:
        """The decoder over one table. Of a source that asks repeatedly about one list, the scores are the
        same."""
        size = len(self.state.seen)
        src, place = np.unique(queries.src, return_inverse=True) if queries.shared else (queries.src, None)
        table, candidates = self._table(), queries.candidates
        if max(int(src.max(initial=0)), int(candidates.max(initial=0))) >= size:
            both = np.unique(np.concatenate((src, candidates.ravel())))
            strangers = both[np.searchsorted(both, size) :]
            table = torch.cat((table, self.decoder.project(self._strangers(strangers))))
            src, candidates = (
                np.where(ids < size, ids, size + np.searchsorted(strangers, ids)) for ids in (src, candidates)
            )
        rows, columns = (as_tensor(ids, self.device).long() for ids in (src, candidates))
        if rows.shape[0] == 0 or columns.shape[-1] == 0:
            return table.new_zeros(queries.shape)
        logits = self.decoder.rank(table, rows, columns)
        return logits if place is None else logits.index_select(0, as_tensor(place, self.device))

    def _table(self) -> Tensor:
        key = self._key()
        if self._projected is None or self._projected[0] != key:
            self._projected = key, self.decoder.project(self._read_all()[0])
        return self._projected[1]

    @property
    @abstractmethod
    def last_layer(self) -> nn.Linear: ...
