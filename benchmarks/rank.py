"""How quick is keat-rank, in its first edition and in its second, and does its cost stay flat as the stream
grows?

    python -m benchmarks.rank

Simulated payments of 10⁵, 10⁶ and 10⁷ events, one thread: between the same people, and between ever more
people, where what is remembered grows out of the processor's caches. The model observes the first 85 % in
blocks of 200, then answers blocks of 200 later events among 1,000 merchants each, in turn: every question
with all strictly earlier events observed. ``read`` is the co-occurrence alone, ``scored`` with the network.
The same questions are timed several times and the median is given, in seconds of the processor, so that
other work on the machine counts little. Parameters are untrained, which does not change what is computed.
``bytes_per_pair`` is all that is remembered, over the pairs that have met.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import keat
from benchmarks.benchmark_command import benchmark_parser
from keat.cooccurrence.pair_columns import EDITIONS
from keat.events import EventStream
from keat.models.contract import Queries
from keat.models.rank import KeatRank, RankConfig
from keat.models.registry import build_model

BLOCK = 200
CANDIDATES = 1000
PEOPLE: dict[str, tuple[int | None, int | None]] = {
    "the same people": (2_500, 948),  # as many as the simulator gives 10⁵ events
    "ever more people": (None, None),
}


def growth(stream: EventStream, scored_blocks: int, rounds: int, edition: int) -> dict[str, float]:
    """Per second, once everything is compiled."""
    end = int(0.85 * len(stream))
    model = build_model(stream[:end], RankConfig(edition=edition))
    merchants = np.resize(np.unique(stream.dst), CANDIDATES)
    blocks = list(stream[end:].blocks(BLOCK))[:scored_blocks]
    _score(model, blocks[:1], merchants)
    observing = statistics.median(_observe(model, stream[:end]) for _ in range(rounds))
    state = model.stream_state()
    reading = statistics.median(_read(model, blocks, merchants) for _ in range(rounds))
    scoring = []
    for _ in range(rounds):
        model.load_stream_state(state)
        scoring.append(_score(model, blocks, merchants))
    asked = CANDIDATES * sum(map(len, blocks))
    size = sum(tensor.nbytes for tensor in state.values())
    return {
        "observed_per_second": end / observing,
        "read_per_second": asked / reading,
        "scored_per_second": asked / statistics.median(scoring),
        "nodes": stream.num_nodes,
        "pairs": len(state["pairs.key"]),
        "bytes_per_pair": size / len(state["pairs.key"]),
    }


def _observe(model: KeatRank, stream: EventStream) -> float:
    model.reset()
    started = time.process_time()
    for block in stream.blocks(BLOCK):
        model.observe(block)
    return time.process_time() - started


def _read(model: KeatRank, blocks: list[EventStream], merchants: npt.NDArray[np.int32]) -> float:
    started = time.process_time()
    for block in blocks:
        for row in range(0, len(block), 8):
            model.past.read(block.src[row : row + 8], block.t[row : row + 8], merchants)
    return time.process_time() - started


def _score(model: KeatRank, blocks: list[EventStream], merchants: npt.NDArray[np.int32]) -> float:
    started = time.process_time()
    with torch.no_grad():
        for block in blocks:
            model.score_in_turn([Queries(block.src, block.t, merchants)], block)
    return time.process_time() - started


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="10⁴ and 10⁵ events, few questions")
    options = parser.parse_args()
    torch.set_num_threads(1)
    sizes = [10**4, 10**5] if options.quick else [10**5, 10**6, 10**7]
    blocks, rounds = (5, 1) if options.quick else (20, 3)
    result: dict[str, Any] = {
        people: {
            size: {edition: growth(stream, blocks, rounds, edition) for edition in range(1, EDITIONS + 1)}
            for size in sizes
            for stream in [keat.simulate_payments(size, cardholders=cards, merchants=shops)]
        }
        for people, (cards, shops) in PEOPLE.items()
    }
    print(json.dumps(result)) if options.json else show(result)


def show(result: dict[str, Any]) -> None:
    for people, growing in result.items():
        print(people)
        print(
            f"{'events':>12}{'edition':>9}{'pairs':>12}{'observed/s':>14}{'read/s':>14}{'scored/s':>14}{'bytes/pair':>12}"
        )
        for size, editions in growing.items():
            for edition, told in editions.items():
                print(
                    f"{size:>12,}{edition:>9}{told['pairs']:>12,}{told['observed_per_second']:>14,.0f}"
                    f"{told['read_per_second']:>14,.0f}{told['scored_per_second']:>14,.0f}"
                    f"{told['bytes_per_pair']:>12,.0f}"
                )


if __name__ == "__main__":
    main()
