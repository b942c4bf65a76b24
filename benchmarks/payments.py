"""How quick and how large is the payments simulator?

    python -m benchmarks.payments --json           # 10⁵, 10⁶ and 10⁷ events
    python -m benchmarks.payments --events 100000000

Every run has a process of its own, so that its peak memory is its own; the speed is that of the best of
three runs (one from 5·10⁷ events on), on one core, the stream complete and in time order.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import time
from concurrent.futures import ProcessPoolExecutor

from benchmarks.benchmark_command import benchmark_parser
from keat.datasets.payments import simulate_payments


def measure(events: int) -> dict[str, float]:
    simulate_payments(1_000)  # what is paid once is not counted
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = []
    for _ in range(3 if events < 50_000_000 else 1):
        start = time.perf_counter()
        simulate_payments(events)
        seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "events": events,
        "seconds": round(min(seconds), 3),
        "events_per_second": round(events / min(seconds)),
        "peak_mib": round(peak / 1024),
        "bytes_per_event": round((peak - before) * 1024 / events),
    }


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--events", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--quick", action="store_true", help="10⁵ and 10⁶ events only")
    arguments = parser.parse_args()
    sizes = [10**5, 10**6] if arguments.quick else arguments.events
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as pool:
        results = list(pool.map(measure, sizes))
    if arguments.json:
        print(json.dumps({"benchmark": "payments", "runs": results}))
    else:
        for run in results:
            speed = f"{run['seconds']:>8.2f} s  {run['events_per_second']:>11,} events/s"
            memory = f"peak {run['peak_mib']:>6,} MiB  {run['bytes_per_event']:>4} bytes/event"
            print(f"{run['events']:>11,} events  {speed}  {memory}")


if __name__ == "__main__":
    main()
