"""Does a model that is serving ever stop to make room? Longest pauses while ever-new nodes come.

    python -m benchmarks.growth
    python -m benchmarks.growth --model keat-rank tgn --events 1000000

Events arrive in micro-batches of 256, as a service takes them. Every tenth source and every twentieth
destination has never been seen, the others are drawn from those that have, and hardly any pair meets twice:
whatever can grow grows all the time. The model is made for the nodes of the first thousand events.

By the number of events so far: the longest micro-batch since the line before, on the clock and in time of
the processor (other work on the machine lengthens the first alone), the median and the 99th percentile, and
events a second. ``bytes`` are what each table has room for, over the pairs that have met (over nodes for
models without pairs); ``resident`` is what the process holds, over the same.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.benchmark_command import benchmark_parser, say
from keat.cooccurrence.pair_records import PAIRS
from keat.events import EventStream
from keat.models.contract import LearnedLinkModel
from keat.models.rank import KeatRank, RankConfig
from keat.models.registry import build_model
from keat.models.tgn_config import TGNConfig

BATCH = 256
KNOWN = 1000  # events whose nodes the model is made for
SIGMA = 3600.0  # an event a second
NEW_SOURCES, NEW_DESTINATIONS = 0.1, 0.05  # shares of events
CONFIGS = {"keat-rank": RankConfig(edition=2), "tgn": TGNConfig(dim=32)}


def ever_new(events: int, seed: int = 0) -> EventStream:
    """Nodes are numbered as they come."""
    draw = np.random.default_rng(seed)
    fresh = draw.random((events, 2)) < (NEW_SOURCES, NEW_DESTINATIONS)
    fresh[0] = True
    number = np.cumsum(fresh.ravel()).reshape(events, 2)  # nodes so far, of both roles
    ends = []
    for role in (0, 1):
        firsts = number[fresh[:, role], role] - 1  # ids of the nodes of this role, in the order they came
        known = np.cumsum(fresh[:, role])
        old = firsts[(draw.random(events) * known).astype(np.int64)]
        ends.append(np.where(fresh[:, role], number[:, role] - 1, old).astype(np.int32))
    src, dst = ends
    return EventStream.from_arrays(src, dst, np.arange(events))


def grow(name: str, stream: EventStream, lines: list[int]) -> Iterator[dict[str, Any]]:
    """Observe everything; what was measured up to each of the ``lines``."""
    known = EventStream.from_arrays(stream.src[:KNOWN], stream.dst[:KNOWN], stream.t[:KNOWN])
    model = build_model(known, CONFIGS[name], sigma=SIGMA)
    model.observe(known)  # what is compiled, is compiled now
    model.reset()
    before, first = _resident(), 0
    for last in lines:
        took = np.array([_observe(model, batch) for batch in stream[first:last].blocks(BATCH)])
        parts, unit = _parts(model)
        number = parts.pop(unit)
        yield {
            "model": name,
            "events": last,
            unit: number,
            "longest_ms": 1e3 * took[:, 0].max(),
            "longest_processor_ms": 1e3 * took[:, 1].max(),
            "median_ms": 1e3 * float(np.median(took[:, 0])),
            "p99_ms": 1e3 * float(np.quantile(took[:, 0], 0.99)),
            "events_per_second": (last - first) / took[:, 1].sum(),
            "bytes": {part: size / number for part, size in parts.items()},
            "resident": (_resident() - before) / number,
        }
        first = last


def _observe(model: LearnedLinkModel, batch: EventStream) -> tuple[float, float]:
    started, processor = time.perf_counter(), time.process_time()
    with torch.no_grad():
        model.observe(batch)
    return time.perf_counter() - started, time.process_time() - processor


def _parts(model: LearnedLinkModel) -> tuple[dict[str, int], str]:
    """The bytes of every table, and the number of pairs or of nodes under its name."""
    if isinstance(model, KeatRank):
        tables = model.past.tables
        arrays: dict[str, npt.NDArray[Any]] = {
            name: value for name, value in tables._asdict().items() if isinstance(value, np.ndarray)
        }
        sizes = {name: array.nbytes for name, array in arrays.items()}
        return sizes | {"pairs met": int(tables.clock[PAIRS])}, "pairs met"
    state = {name: buffer for name, buffer in model.named_buffers() if name.startswith("state.")}
    sizes = {name.removeprefix("state."): buffer.nbytes for name, buffer in state.items()}
    return sizes | {"nodes": len(state["state._memory.memory"])}, "nodes"


def _resident() -> int:
    """Bytes of memory that the process holds."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096


def _line(told: dict[str, Any]) -> str:
    unit = "nodes" if "nodes" in told else "pairs met"
    sizes = ", ".join(f"{part} {size:.0f}" for part, size in told["bytes"].items() if size >= 1)
    return (
        f"{told['model']:>10}{told['events']:>12,}{told[unit]:>11,} {unit:<10}"
        f"{told['longest_ms']:>9.1f}{told['longest_processor_ms']:>9.1f}"
        f"{told['median_ms']:>9.2f}{told['p99_ms']:>9.2f}{told['events_per_second']:>12,.0f}"
        f"{told['resident']:>10,.0f}  {sizes}"
    )


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--model", nargs="+", choices=CONFIGS, default=list(CONFIGS))
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--quick", action="store_true", help="10⁵ events")
    options = parser.parse_args()
    torch.set_num_threads(1)
    events = 100_000 if options.quick else options.events
    lines = [*(line for line in (10_000, 100_000, 1_000_000) if line < events), events]
    stream, found = ever_new(events), []
    tell = say if options.json else print
    tell(
        f"{'model':>10}{'events':>12}{'':>22}{'longest':>9}{'of cpu':>9}{'p50 ms':>9}{'p99 ms':>9}"
        f"{'events/s':>12}{'resident':>10}  bytes of tables"
    )
    for name in options.model:
        for line in grow(name, stream, lines):
            tell(_line(line))
            found.append(line)
    if options.json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
