"""What an event will look at is fetched while those before it happen.

Once there is more to remember than the caches hold, an event takes as long as it waits for memory: for the
slot and the record of its pair, for both nodes, for where the source was before and who followed from there.
Each of these is known only from the one before, so they are fetched in three steps, some events ahead of the
loop. Nothing is changed, and what is looked at may be out of date by then: it is a guess of where to look.
"""

from __future__ import annotations

import numpy as np

from keat.cooccurrence.pair_index import likely_row, likely_slot, pair_key
from keat.cooccurrence.pair_records import NONE, OUT, Array, Tables
from keat.cooccurrence.successors import shelf_of
from keat.ops import compiled_into, prefetch

NODES, RECORDS, SHELVES = 12, 8, 4  # how many events ahead


@compiled_into
def look_ahead(tables: Tables, src: Array, dst: Array, event: int, last: int) -> None:
    """Before an event of ``src[:last]`` and ``dst[:last]`` happens."""
    if event + NODES < last:
        u, v = src[event + NODES], dst[event + NODES]
        prefetch(tables.places, likely_slot(tables.layout, pair_key(u, v)), 0, 1)
        prefetch(tables.nodes, np.int64(u), 0, 8)
        prefetch(tables.nodes, np.int64(v), 0, 10)
    if event + RECORDS < last:
        u, v = src[event + RECORDS], dst[event + RECORDS]
        source = tables.nodes[u]
        prefetch(tables.pairs, likely_row(tables.places, tables.layout, pair_key(u, v)), 0, 2)
        prefetch(tables.pairs, source.last_pair, 60, 1)
        prefetch(tables.nodes, np.int64(source.partner[OUT]), 0, 2)
        for k in range(1, min(tables.followed, source.ring.shape[1])):
            prefetch(tables.nodes, np.int64(source.ring[OUT, k]), 0, 2)
    if tables.edition > 1 and event + SHELVES < last:
        u, v = src[event + SHELVES], dst[event + SHELVES]
        source = tables.nodes[u]
        for k in range(min(tables.followed, source.ring.shape[1])):
            d = source.ring[OUT, k]
            if d == NONE:
                break
            left = tables.nodes[d]
            prefetch(tables.shelves, np.int64(left.shelf) + shelf_of(v, max(1, left.number_of_shelves)), 0, 2)
