"""How quick is DyGFormer here, beside a reference organized as DyGLib is, and what does the kernel cost?

    python -m benchmarks.dygformer --json
    python -m benchmarks.dygformer --quick --data ../shared/data/wikipedia.parquet --features 172

The stream is UCI's messages, without features, or any other with as many random ones as asked for; simulated
payments where the file is not at hand. Sides take turns, so that all see the same load of the machine, and
ratios are medians of the ratios within a turn. Positives are taken from the last 15 %; one-vs-all is one
positive against 1,000 destinations.
"""

from __future__ import annotations

import copy
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from benchmarks.benchmark_command import SHARED, benchmark_parser, say
from benchmarks.dygformer_reference import Reference
from keat.bandwidth import estimate_sigma
from keat.datasets.payments import simulate_payments
from keat.events import EventStream, read_events
from keat.models.contract import Queries
from keat.models.dygformer import READINGS, DyGFormer, DyGFormerConfig
from keat.models.dygformer.sequences import pair_up, sample
from keat.training.losses import link_loss

BATCH, CANDIDATES = 200, 1000

Seconds = dict[str, list[float]]


def load(path: Path, features: int) -> EventStream:
    """The stream of a file or of the simulator, with random features."""
    stream = read_events(path) if path.exists() else simulate_payments(60_000)
    values = np.random.default_rng(0).standard_normal((len(stream), features), dtype=np.float32)
    return EventStream.from_arrays(
        stream.src, stream.dst, stream.t, values, num_nodes=stream.num_nodes, name=stream.name
    )


class Sides:
    """keat's model and the reference, from the same parameters, knowing the same events."""

    def __init__(self, stream: EventStream) -> None:
        self.stream = stream
        self.first = int(0.85 * len(stream))
        self.catalogue = np.unique(stream.dst)
        past = stream[: self.first]
        self.sigma = estimate_sigma(past.src, past.dst, past.t)
        self.rng = np.random.default_rng(0)
        torch.manual_seed(0)
        self.keat = self.model(DyGFormerConfig())
        self.reference = Reference(copy.deepcopy(self.keat), stream)

    def model(self, config: DyGFormerConfig) -> DyGFormer:
        model = DyGFormer(self.stream.num_nodes, self.stream.feature_dim, self.sigma, config)
        model.reserve(len(self.stream))
        model.observe(self.stream)
        return model

    def batch(self) -> tuple[EventStream, Queries]:
        """Positives, each with one negative."""
        start = int(self.rng.integers(self.first, len(self.stream) - BATCH))
        block = self.stream[start : start + BATCH]
        negative = self.rng.choice(self.catalogue, BATCH)
        return block, Queries(block.src, block.t, np.stack((block.dst, negative), axis=1))

    def one_vs_all(self) -> Queries:
        row = int(self.rng.integers(self.first, len(self.stream)))
        some = self.rng.permutation(self.catalogue)[:CANDIDATES]
        return Queries(self.stream.src[row : row + 1], self.stream.t[row : row + 1], some)


def passes(queries: Queries) -> list[tuple[npt.NDArray[np.int64], ...]]:
    """Source, destination and time of the reference's passes over own candidates."""
    src, t = queries.src.astype(np.int64), queries.t
    return [(src, column.astype(np.int64), t) for column in queries.candidates.T]


def sampling(sides: Sides, turns: int) -> Seconds:
    """Neighbours, padding and co-occurrence of a training batch."""
    config, history = sides.keat.config, sides.keat.state

    def keat(queries: Queries) -> None:
        mine = sample(history, queries.src, queries.t, config.length, 1)
        others = sample(history, queries.candidates.ravel(), queries.t.repeat(2), config.length, 1)
        pair_up(mine.followed_by(others), np.arange(BATCH).repeat(2), BATCH + np.arange(2 * BATCH), 1)

    def reference(queries: Queries) -> None:
        for one in passes(queries):
            sides.reference.sample(*one)

    return take_turns({"keat": keat, "reference": reference}, lambda: sides.batch()[1], turns)


def training(sides: Sides, turns: int) -> Seconds:
    """A step: scores, loss, gradient, Adam; of both sides and of every reading."""
    models = {"keat": sides.keat} | {
        reading: sides.model(DyGFormerConfig(kernel="laplacian", reading=reading)) for reading in READINGS
    }

    def step_of(scores: Callable[[Queries], Tensor], module: torch.nn.Module) -> Callable[[Queries], None]:
        optimizer = torch.optim.Adam(module.parameters(), lr=1e-4)
        module.train()

        def step(queries: Queries) -> None:
            loss = link_loss(scores(queries))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()

        return step

    reference = sides.reference
    steps = {name: step_of(model.score, model) for name, model in models.items()}
    steps["reference"] = step_of(
        lambda queries: torch.stack([reference(*one) for one in passes(queries)], dim=1), reference
    )
    return take_turns(steps, lambda: sides.batch()[1], turns)


def evaluation(sides: Sides, turns: int) -> Seconds:
    """One positive against all; of the reference also the network alone, its inputs being made before."""
    reference = sides.reference.eval()
    models = {"keat": sides.keat} | {
        reading: sides.model(DyGFormerConfig(kernel="laplacian", reading=reading)) for reading in READINGS
    }
    sides_of: dict[str, Callable[[Queries], object]] = {
        name: model.eval().score for name, model in models.items()
    }

    def all_pairs(queries: Queries) -> tuple[npt.NDArray[np.int64], ...]:
        src, t = (column.repeat(CANDIDATES).astype(np.int64) for column in (queries.src, queries.t))
        return src, queries.candidates.astype(np.int64), t

    @torch.no_grad()
    def whole(queries: Queries) -> None:
        reference(*all_pairs(queries))

    sides_of["reference"] = whole
    times = take_turns(sides_of, sides.one_vs_all, turns)
    times["network"] = []
    for _ in range(turns):
        src, nodes, t = all_pairs(sides.one_vs_all())
        with torch.no_grad():
            inputs = reference.sample(src, nodes, t)
            times["network"].append(seconds(reference.network, *inputs, t))
    return times


def take_turns(
    sides: Mapping[str, Callable[[Queries], object]], ask: Callable[[], Queries], turns: int
) -> Seconds:
    times: Seconds = {name: [] for name in sides}
    for turn in range(turns + 1):
        queries = ask()
        for name, side in sides.items():
            taken = seconds(side, queries)
            if turn > 0:  # the first compiles
                times[name].append(taken)
    return times


def seconds(work: Callable[..., object], *given: Any) -> float:
    began = time.perf_counter()
    work(*given)
    return time.perf_counter() - began


def tokens(sides: Sides, queries: list[Queries]) -> dict[str, int]:
    """Tokens there are, and tokens there would be if all pairs of a call were padded to the longest."""
    real = padded = 0
    for one in queries:
        nodes = np.broadcast_to(one.candidates, one.shape)
        length = sides.keat.config.length
        left = sample(sides.keat.state, one.src, one.t, length, 1).patches
        right = sample(sides.keat.state, nodes.ravel(), one.t.repeat(one.shape[1]), length, 1).patches
        real += int(left.sum()) * one.shape[1] + int(right.sum())
        columns = right.reshape(one.shape) if len(one.src) > 1 else right[:, None]
        padded += sum(len(column) * int(left.max() + column.max()) for column in columns.T)
    return {"processed": real, "padded": padded, "avoided": padded - real}


def measure(path: Path, features: int, quick: bool, threads: int) -> dict[str, Any]:
    torch.set_num_threads(threads)
    sides = Sides(load(path, features))
    say(f"sampling: batches of {BATCH} on {sides.stream.name}, {threads} thread(s) …")
    sampled = sampling(sides, 5 if quick else 20)
    say("training …")
    trained = training(sides, 3 if quick else 15)
    say("evaluation …")
    asked = evaluation(sides, 2 if quick else 10)
    overhead = {reading: ratio(trained, reading, "keat") - 1 for reading in READINGS}
    asked_overhead = {reading: ratio(asked, reading, "keat") - 1 for reading in READINGS}
    default = DyGFormerConfig().reading
    return {
        "benchmark": "dygformer",
        "dataset": sides.stream.name if path.exists() else "simulated payments",
        "features": features,
        "threads": threads,
        "sampling_ratio": ratio(sampled, "reference", "keat"),
        "sampling_ms_per_batch": {side: 1000 * float(np.median(times)) for side, times in sampled.items()},
        "train_ratio": ratio(trained, "reference", "keat"),
        "train_pairs_per_second": {side: per_second(trained[side], 2 * BATCH) for side in trained},
        "eval_ratio": ratio(asked, "reference", "keat"),
        "eval_ratio_network_alone": ratio(asked, "network", "keat"),
        "eval_candidates_per_second": {side: per_second(asked[side], CANDIDATES) for side in asked},
        "kernel_overhead": overhead[default],
        "kernel_overhead_eval": asked_overhead[default],
        "kernel_overhead_by_reading": overhead,
        "kernel_overhead_eval_by_reading": asked_overhead,
        "train_tokens": tokens(sides, [sides.batch()[1] for _ in range(10)]),
        "eval_tokens": tokens(sides, [sides.one_vs_all() for _ in range(20)]),
    }


def ratio(times: Seconds, slow: str, fast: str) -> float:
    return float(np.median(np.array(times[slow]) / np.array(times[fast])))


def per_second(times: list[float], count: int) -> float:
    return count / float(np.median(times))


def report(result: dict[str, Any]) -> None:
    print(f"{result['dataset']}, {result['features']} features, {result['threads']} thread(s)")
    print(f"sampling and co-occurrence: {result['sampling_ratio']:.0f} × the loop style")
    for kind, unit in (("train", "pairs"), ("eval", "candidates")):
        rates = ", ".join(f"{side} {rate:,.0f}" for side, rate in result[f"{kind}_{unit}_per_second"].items())
        print(f"{kind}: {result[f'{kind}_ratio']:.2f} × the reference; {unit} a second: {rates}")
        counts = result[f"{kind}_tokens"]
        print(f"  {counts['processed']:,} tokens, {counts['avoided']:,} of padding avoided")
    print(f"  {result['eval_ratio_network_alone']:.2f} × its network alone")
    for kind in ("", "_eval"):
        by = result[f"kernel_overhead{kind}_by_reading"]
        print(
            f"cost of the kernel{kind.replace('_', ', ')}: "
            + ", ".join(f"{k} {v:+.1%}" for k, v in by.items())
        )


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "uci.parquet")
    parser.add_argument("--features", type=int, default=0, help="random ones an event")
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()
    result = measure(options.data, options.features, options.quick, options.threads)
    if options.json:
        print(json.dumps(result))
    else:
        report(result)


if __name__ == "__main__":
    main()
