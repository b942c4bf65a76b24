"""What training on node properties costs an event, beside training on links.

    python -m benchmarks.node_property --events 200000 --json

One epoch of TGN each on the same simulated payments, the sides in turn, one thread. Seconds are the process's
own (CPU time), so that a busy machine does not count; the better of the repeats is kept. Labels are made for
each period: how every cardholder active in it divides it over the merchants.
"""

from __future__ import annotations

import json
import time

import numpy as np
import torch

import keat
from benchmarks.benchmark_command import benchmark_parser
from keat.datasets.loading import Dataset
from keat.models.registry import build_model, build_node_model
from keat.runs.spec import configuration
from keat.tasks.derived_labels import label_by_period
from keat.tasks.node_property import NodeProperty
from keat.tasks.task_factory import training_labels
from keat.training.fit import FitConfig, train_epoch
from keat.training.lessons import Lessons, LinkLessons
from keat.training.node_lessons import NodePropertyLessons


def measure(events: int, period: str, repeats: int) -> dict[str, float | int | str]:
    plain = keat.load(f"payments:{events}")
    labelled = label_by_period(plain, period)
    links = LinkLessons(plain, 200)
    task = keat.make_task(labelled, "val", kind="node-property")
    assert isinstance(task, NodeProperty)
    nodes = NodePropertyLessons(training_labels(task), 200)
    seconds: dict[str, list[float]] = {"links": [], "nodes": []}
    for _ in range(repeats):
        for side, data, lessons in (("links", plain, links), ("nodes", labelled, nodes)):
            seconds[side].append(epoch_seconds(data, lessons, side == "nodes"))
    labels = labelled.stream.node_labels
    assert labels is not None
    per_event = {
        side: 1e6 * min(of) / len(links if side == "links" else nodes) for side, of in seconds.items()
    }
    return {
        "events": events,
        "period": period,
        "questions": int(np.isin(labels.t, list(nodes.taught)).sum()),
        "classes": labels.num_classes,
        "links_us_per_event": round(per_event["links"], 1),
        "nodes_us_per_event": round(per_event["nodes"], 1),
        "ratio": round(per_event["nodes"] / per_event["links"], 3),
    }


def epoch_seconds(data: Dataset, lessons: Lessons, about_nodes: bool) -> float:
    config, fitting = configuration("tgn"), FitConfig(lr=1e-3)
    model = (build_node_model if about_nodes else build_model)(data.train, config, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=fitting.lr, fused=True)
    model.reserve(len(lessons))
    started = time.process_time()
    train_epoch(model, optimizer, lessons, fitting, 1)
    return time.process_time() - started


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--periods", nargs="+", default=["week", "day"])
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    measure(5_000, "week", 1)  # what is compiled once is not counted
    for period in arguments.periods:
        result = measure(arguments.events, period, arguments.repeats)
        told = json.dumps(result) if arguments.json else "  ".join(f"{k} {v}" for k, v in result.items())
        print(told, flush=True)


if __name__ == "__main__":
    main()
