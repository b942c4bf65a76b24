"""How quick are the heuristics, and does their cost stay flat as the stream grows?

    python -m benchmarks.heuristics --data wikipedia.parquet

Growth: simulated payments of 10⁴, 10⁵ and 10⁶ events. A heuristic observes the first 85 % in blocks of
200, then scores and ranks blocks of 200 later events against 1,000 merchants each; both are given per
second and should not fall with the size of the stream (but for the caches of the processor).

Loop: the test split of ``--data`` at refresh 200 by keat, beside EdgeBank as TGB's example runs it: a
dict from pairs, a Python loop over positives, one evaluator call each. The loop is timed on a sample of
blocks, keat on the same blocks; the two alternate, and ``ratio`` is the median of the pairwise ratios.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import keat
from benchmarks.benchmark_command import benchmark_parser
from keat.events import EventStream
from keat.models.contract import LinkModel, Queries
from keat.models.registry import LINK_MODELS
from keat.tasks.candidates import SharedCandidates
from keat.tasks.metrics import rank_of

HEURISTICS = [name for name, entry in LINK_MODELS.items() if entry.heuristic]
BLOCK = 200
CANDIDATES = 1000


def growth(name: str, stream: EventStream, scored_blocks: int) -> dict[str, float]:
    """Events observed and candidates scored per second, once everything is compiled."""
    end = int(0.85 * len(stream))
    model = keat.create_link_model(name, stream[:end])
    merchants = np.resize(np.unique(stream.dst), CANDIDATES)
    blocks = list(stream[end:].blocks(BLOCK))[:scored_blocks]
    _observe(model, stream[:end])
    _score(model, blocks[:1], merchants)
    model.reset()
    observing, scoring = _observe(model, stream[:end]), _score(model, blocks, merchants)
    scored = CANDIDATES * sum(map(len, blocks))
    return {"observed_per_second": end / observing, "scored_per_second": scored / scoring}


def _score(model: LinkModel, blocks: Sequence[EventStream], merchants: npt.NDArray[np.int32]) -> float:
    """Score and rank: some heuristics score a shared list once for all, and ranking reads it all."""
    started = time.perf_counter()
    for block in blocks:
        scores = model.score(Queries(block.src, block.t, merchants))
        rank_of(scores[:, 0], scores[:, 1:])
    return time.perf_counter() - started


def _observe(model: LinkModel, events: EventStream) -> float:
    started = time.perf_counter()
    for block in events.blocks(BLOCK):
        model.observe(block)
    return time.perf_counter() - started


class DictEdgeBank:
    """EdgeBank∞ with a dict of pairs, which are looked up one by one as they come out of the arrays."""

    def __init__(self, history: EventStream) -> None:
        self.memory: dict[tuple[int, int], int] = {}
        self.update(history)

    def update(self, events: EventStream) -> None:
        self.memory |= dict.fromkeys(zip(events.src.tolist(), events.dst.tolist(), strict=True), 1)

    def predict(self, src: int, candidates: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        pairs = zip(np.full(len(candidates), src), candidates, strict=True)
        return np.array([1.0 if pair in self.memory else 0.0 for pair in pairs])


def loop_reciprocal_ranks(data: keat.Dataset, first: int, last: int) -> tuple[float, list[float]]:
    """Seconds and 1/rank of test events ``first:last``, by TGB's way and its own evaluator."""
    from tgb.linkproppred.evaluate import Evaluator

    evaluator, catalogue, test = Evaluator(name="tgbl-wiki"), np.unique(data.stream.dst), data.test
    bank = DictEdgeBank(data.stream[: test.offset + first])
    negatives = [  # TGB looks them up in a file; not timed
        np.setdiff1d(catalogue, test.dst[(test.src == u) & (test.t == t)]).astype(np.int64)
        for u, t in zip(test.src[first:last], test.t[first:last], strict=True)
    ]
    found: list[float] = []
    started = time.perf_counter()
    for block in test[first:last].blocks(BLOCK):
        for u, v in zip(block.src.tolist(), block.dst.tolist(), strict=True):
            scores = bank.predict(u, np.append(v, negatives[len(found)]))
            asked = {"y_pred_pos": scores[:1], "y_pred_neg": scores[1:], "eval_metric": ["mrr"]}
            found.append(float(evaluator.eval(asked)["mrr"]))
        bank.update(block)
    return time.perf_counter() - started, found


def keat_reciprocal_ranks(data: keat.Dataset, first: int, last: int) -> tuple[float, list[float]]:
    """The same by keat's parts: one call a block."""
    test = data.test
    model = keat.create_link_model("edgebank", data.train)
    model.observe(data.stream[: test.offset + first])
    candidates = SharedCandidates(test, data.stream.dst)
    ranks = []
    started = time.perf_counter()
    for start in range(first, last, BLOCK):
        stop = min(start + BLOCK, last)
        ranks.append(
            candidates.ranks(slice(start, stop), model.score(candidates.queries(slice(start, stop))))
        )
        model.observe(test[start:stop])
    seconds = time.perf_counter() - started
    return seconds, (1.0 / torch.cat(ranks)).tolist()


def beside_the_loop(data: keat.Dataset, rounds: int) -> dict[str, Any]:
    """keat and the loop in turn, each round on another 1,000 test events."""
    keat_reciprocal_ranks(data, 0, BLOCK)  # compiled before it is timed
    pairs = []
    for k in range(rounds):
        first = BLOCK * (k * (len(data.test) - 1000) // (BLOCK * rounds))
        last = min(first + 1000, len(data.test))
        (slow, theirs), (quick, ours) = (
            loop_reciprocal_ranks(data, first, last),
            keat_reciprocal_ranks(data, first, last),
        )
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)  # the same answers, or the race means nothing
        pairs.append((slow / (last - first), quick / (last - first)))
    return {
        "positives_compared": 1000 * rounds,
        "loop_ms_per_positive": 1e3 * statistics.median(slow for slow, _ in pairs),
        "keat_ms_per_positive": 1e3 * statistics.median(quick for _, quick in pairs),
        "ratio": statistics.median(slow / quick for slow, quick in pairs),
    }


def whole_split(data: keat.Dataset, name: str, refresh: int) -> dict[str, Any]:
    result = keat.evaluate(keat.create_link_model(name, data.train), keat.make_task(data), refresh=refresh)
    return {"model": name, "refresh": refresh, "seconds": result.seconds, "mrr": result.metrics["mrr"]}


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="10⁴ and 10⁵ events, one round beside the loop")
    parser.add_argument("--data", help="a dataset to run beside the loop, such as wikipedia.parquet")
    options = parser.parse_args()
    torch.set_num_threads(1)
    sizes = [10**4, 10**5] if options.quick else [10**4, 10**5, 10**6]
    result: dict[str, Any] = {"growth": {name: {} for name in HEURISTICS}}
    for size in sizes:
        stream = keat.simulate_payments(size)
        for name in HEURISTICS:
            result["growth"][name][size] = growth(name, stream, scored_blocks=7 if options.quick else 50)
    if options.data:
        data = keat.load(options.data)
        refreshes = (200,) if options.quick else (200, 1)
        result["dataset"] = data.name
        result["splits"] = [whole_split(data, name, r) for r in refreshes for name in HEURISTICS]
        result["loop"] = beside_the_loop(data, rounds=1 if options.quick else 7)
    print(json.dumps(result)) if options.json else show(result)


def show(result: dict[str, Any]) -> None:
    print(f"{'':16}{'events':>10}{'observed/s':>14}{'scored/s':>14}")
    for name, sizes in result["growth"].items():
        for size, speed in sizes.items():
            print(
                f"{name:16}{size:>10,}{speed['observed_per_second']:>14,.0f}{speed['scored_per_second']:>14,.0f}"
            )
    for split in result.get("splits", ()):
        told = f"{split['seconds']:.2f} s, MRR {split['mrr']:.4f}"
        print(f"{split['model']:16} test split of {result['dataset']} at refresh {split['refresh']}: {told}")
    if "loop" in result:
        loop = result["loop"]
        print(
            f"EdgeBank, one positive at a time: {loop['loop_ms_per_positive']:.3f} ms a positive; "
            f"keat: {loop['keat_ms_per_positive']:.4f} ms; {loop['ratio']:.0f} times quicker"
        )


if __name__ == "__main__":
    main()
