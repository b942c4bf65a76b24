"""How quick is TGN here, beside PyG's modules in TGB's loop and beside TGM, and how far from the arithmetic?

    python -m benchmarks.tgn --data ../shared/data/wikipedia.parquet --json
    python -m benchmarks.tgn --quick

The stream is tgbl-wiki's with 172 random features an event, the true width; simulated payments where the file
is not at hand. Sides take turns batch by batch, so that all see the same load of the machine, and ratios are
medians of the ratios within a batch. TGM takes part where it is installed.
"""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.benchmark_command import SHARED, benchmark_parser, say
from benchmarks.tgn_scale import alone, growth, peak_of_training
from benchmarks.tgn_sides import BATCH, KERNELS, Times, evaluation, gflop, kernels, peers, training
from benchmarks.tgn_tgm import why_not
from keat.datasets.payments import simulate_payments
from keat.events import EventStream, read_events
from keat.models.registry import build_model
from keat.models.tgn import TGNConfig

FEATURES = 172


def load(path: Path) -> EventStream:
    """The stream of a file or of the simulator, with random features."""
    stream = read_events(path) if path.exists() else simulate_payments(160_000)
    features = np.random.default_rng(0).standard_normal((len(stream), FEATURES), dtype=np.float32)
    return EventStream.from_arrays(
        stream.src, stream.dst, stream.t, features, num_nodes=stream.num_nodes, name=stream.name
    )


def measure(path: Path, quick: bool, threads: int) -> dict[str, Any]:
    torch.set_num_threads(threads)
    stream = load(path)
    skipped, measured = (40, 40) if quick else (50, 500)
    missing = why_not()
    say(f"training: batches of {BATCH} on {stream.name}, {threads} thread(s) …")
    trained = training(stream, peers(stream, with_tgm=missing is None), skipped, measured)
    by_kernel = training(stream, kernels(stream), skipped, measured)
    say("evaluation …")
    history = 40_000 if quick else 110_200
    models = {kernel: build_model(stream, TGNConfig(kernel=kernel)) for kernel in KERNELS}
    asked_by_kernel = evaluation(stream, models, history, rounds=21 if quick else 101)
    models = {
        "neighbor": build_model(stream, TGNConfig(kernel="laplacian")),
        "query": build_model(stream, TGNConfig(kernel="laplacian", delta="query")),
    }
    asked = evaluation(stream, models, history, rounds=7 if quick else 41, loop_over=10)
    result: dict[str, Any] = {
        "benchmark": "tgn",
        "dataset": stream.name if path.exists() else "simulated payments",
        "threads": threads,
        "train_ms_per_batch": {side: milliseconds(trained[side]) for side in sorted({*trained} - {"gemm"})},
        "train_seconds_per_epoch": float(np.median(trained["keat"])) * 0.7 * len(stream) / BATCH,
        "train_ratio_vs_pyg": ratio(trained, "pyg", "keat"),
        "train_ratio_vs_tgm": ratio(trained, "tgm", "keat") if missing is None else None,
        "train_ratio_vs_tgm_reason": missing,
        "kernel_overhead_train": ratio(by_kernel, "laplacian", "identity") - 1,
        "kernel_overhead_train_rbf": ratio(by_kernel, "rbf", "identity") - 1,
        "eval_ms_per_positive": {side: milliseconds(asked[side]) for side in asked},
        "eval_ratio_vs_tgb_loop": ratio(asked, "tgb loop", "neighbor"),
        "eval_query_ratio_vs_tgb_loop": ratio(asked, "tgb loop", "query"),
        "kernel_overhead_eval": ratio(asked_by_kernel, "laplacian", "identity") - 1,
        "kernel_overhead_eval_rbf": ratio(asked_by_kernel, "rbf", "identity") - 1,
        "query_over_neighbor_eval": ratio(asked, "query", "neighbor"),
    }
    say("operations and memory …")
    result["gflop_per_batch"] = gflop(stream, skipped)
    result["gemm_gflops"] = 2 * 1024**3 / np.median(trained["gemm"]) / 1e9
    result["train_ms_at_gemm_speed"] = 1000 * result["gflop_per_batch"] / result["gemm_gflops"]
    result["peak_mib"] = {
        side: alone(peak_of_training, side, partial(load, path), threads, 30) for side in ("keat", "pyg")
    }
    sizes = (10**5, 10**6) if quick else (10**5, 10**6, 10**7)
    say(f"scale: {', '.join(f'{events:,}' for events in sizes)} payments …")
    result["scale"] = alone(growth, sizes, True, threads)
    result["scale_ratio"] = result["scale"][-1]["relative"]
    result["scale_more_people"] = alone(growth, sizes, False, threads)
    return result


def ratio(times: Times, slow: str, fast: str) -> float:
    return float(np.median(times[slow] / times[fast]))


def milliseconds(seconds: npt.NDArray[np.float64]) -> float:
    return round(1000 * float(np.median(seconds)), 4)


def report(result: dict[str, Any]) -> None:
    train, ask = result["train_ms_per_batch"], result["eval_ms_per_positive"]
    print(f"{result['dataset']}, {FEATURES} features, batches of {BATCH}, {result['threads']} thread(s)")
    print("training, ms a batch: " + ", ".join(f"{side} {value:.1f}" for side, value in train.items()))
    print(f"  PyG / keat {result['train_ratio_vs_pyg']:.2f}")
    if result["train_ratio_vs_tgm"] is None:
        print(f"  TGM: {result['train_ratio_vs_tgm_reason']}")
    else:
        print(f"  TGM / keat {result['train_ratio_vs_tgm']:.2f}")
    print(
        f"  {result['gflop_per_batch']:.2f} GFLOP a batch at {result['gemm_gflops']:.0f} GFLOP/s would take "
        f"{result['train_ms_at_gemm_speed']:.1f} ms"
    )
    print("evaluation, ms a positive: " + ", ".join(f"{side} {value:.3f}" for side, value in ask.items()))
    print(f"  TGB's loop / keat {result['eval_ratio_vs_tgb_loop']:.0f}", end="; ")
    print(f"with --delta query {result['eval_query_ratio_vs_tgb_loop']:.1f}", end="; ")
    print(f"query / neighbor {result['query_over_neighbor_eval']:.1f}")
    for kind in ("train", "eval"):
        laplacian, rbf = result[f"kernel_overhead_{kind}"], result[f"kernel_overhead_{kind}_rbf"]
        print(f"cost of the kernel, {kind}: Laplacian {laplacian:+.1%}, RBF {rbf:+.1%}")
    print(
        "memory added by training, MiB: " + ", ".join(f"{k} {v:.0f}" for k, v in result["peak_mib"].items())
    )
    for row in result["scale"] + result["scale_more_people"]:
        print(
            f"{row['events']:>11,} payments of {row['nodes']:>7,} nodes: "
            f"{1e6 * row['seconds_per_event']:.0f} µs an event in training, "
            f"{row['relative']:.2f} of the first; {row['nodes_per_event']} nodes read and "
            f"{row['bytes_per_event']} bytes an event, {row['state_bytes_per_event']} of them state"
        )


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "wikipedia.parquet")
    parser.add_argument("--quick", action="store_true", help="fewer batches, and payments up to 10⁶")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()
    result = measure(options.data, options.quick, options.threads)
    if options.json:
        print(json.dumps(result))
    else:
        report(result)


if __name__ == "__main__":
    main()
