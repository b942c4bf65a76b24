"""Small random streams of DGraphFin's form, with self-loops, repeated edges and isolated nodes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keat.events import EventStream


def contact_stream(seed: int, nodes: int = 40, edges: int = 90) -> tuple[EventStream, npt.NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, nodes - 3, (edges, 2))  # the last three have no edge
    ends[:4] = [[1, 1], [2, 3], [2, 3], [3, 2]]
    stream = EventStream.from_arrays(
        ends[:, 0],
        ends[:, 1],
        np.sort(rng.integers(0, 30, edges)),
        rng.integers(1, 12, (edges, 1)).astype(np.float32),
        num_nodes=nodes,
        unit="day",
        node_features=rng.choice([-1.0, 0.5, 2.0, -3.0], (nodes, 17)).astype(np.float32),
        name=f"contacts-{seed}",
    )
    return stream, rng.integers(0, 4, nodes)
