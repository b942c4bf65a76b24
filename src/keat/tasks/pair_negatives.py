"""One negative pair a positive, for classification: random, historical and inductive as DyGLib defines
them. The latter two replace source and destination both."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from keat.errors import unknown_name
from keat.events import EventStream
from keat.tasks.kinds import NEGATIVES, PairNegatives
from keat.tasks.sampling import sample_distinct
from keat.tasks.script import TGB_BATCH

PAIR_STRATEGIES = NEGATIVES["link-classification"]
Ids = npt.NDArray[np.int32]


def pair_negatives(
    strategy: PairNegatives,
    train: EventStream,
    positives: EventStream,
    whole: EventStream,
    seed: int = 0,
    catalogue: Ids | None = None,
) -> tuple[Ids, Ids]:
    """(src, dst) of one negative for each positive, batch by batch of 200.

    - ``random``: the positive's source with a destination drawn from ``catalogue``, by default every
      destination of the stream;
    - ``historical``: an edge first seen before the batch and not present in it;
    - ``inductive``: an edge first seen after training and before the batch, and not present in it.

    Where history has too few edges, the rest are random pairs that are not in the batch.
    """
    if strategy not in PAIR_STRATEGIES:
        raise unknown_name("kind of negatives", strategy, PAIR_STRATEGIES)
    rng = np.random.default_rng(seed)
    if strategy == "random":
        destinations = np.unique(whole.dst) if catalogue is None else catalogue
        return positives.src, rng.choice(destinations, len(positives)).astype(np.int32)

    width = whole.num_nodes
    edges = whole.src.astype(np.int64) * width + whole.dst
    _, first = np.unique(edges, return_index=True)
    first.sort()
    known, since = edges[first], whole.t[first]  # distinct edges, in order of first appearance
    by_edge = np.argsort(known)
    start_at = 0 if strategy == "historical" else int(np.searchsorted(since, train.t[-1], side="right"))
    sources, destinations = np.unique(whole.src), np.unique(whole.dst)

    drawn: list[npt.NDArray[np.int64]] = []
    for low, high in pairwise([*range(0, len(positives), TGB_BATCH), len(positives)]):
        size = high - low
        begin, end = positives.t[low], positives.t[high - 1]
        inside = slice(*np.searchsorted(whole.t, [begin, end + 1]))  # every event of the batch's times
        current = np.unique(edges[inside])
        limit = int(np.searchsorted(since, begin)) - start_at
        place = by_edge[np.searchsorted(known, current, sorter=by_edge)] - start_at
        banned = place[(place >= 0) & (place < limit)]
        want = min(size, max(limit, 0) - len(banned))
        picks = sample_distinct(
            rng, np.array([max(limit, 0)]), np.array([want]), np.zeros_like(banned), banned
        )[0]
        pairs = known[start_at + picks]
        if want < size:
            extra = _random_pairs(rng, sources, destinations, current, width, size - want)
            pairs = np.concatenate((extra, pairs))
        drawn.append(pairs)
    chosen = np.concatenate(drawn)
    return (chosen // width).astype(np.int32), (chosen % width).astype(np.int32)


def _random_pairs(
    rng: np.random.Generator,
    sources: Ids,
    destinations: Ids,
    current: npt.NDArray[np.int64],
    width: int,
    number: int,
) -> npt.NDArray[np.int64]:
    """Pairs of any source with any destination that are not edges of the batch."""
    if len(current) >= len(sources) * len(destinations):  # a toy graph: the batch has every pair
        current = current[:0]
    pairs = np.empty(0, dtype=np.int64)
    while len(pairs) < number:
        need = number - len(pairs)
        fresh = rng.choice(sources, need).astype(np.int64) * width + rng.choice(destinations, need)
        pairs = np.concatenate((pairs, fresh[~np.isin(fresh, current)]))
    return pairs
