"""Every event of a split with what a model made of it, the most telling first: a queue to work through."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from keat.datasets.loading import Dataset
from keat.errors import InputError
from keat.events.written_times import spoken_column
from keat.runs.answer import Answer
from keat.runs.node_names import NodeNames
from keat.runs.run_evaluation import SomeTask
from keat.runs.run_model import Data
from keat.tasks.graph_label import GraphLabel
from keat.tasks.link import LinkRanking
from keat.tasks.node_label import NodeLabel
from keat.training.evaluate import Evaluation


def require_scores(task: SomeTask) -> None:
    """Refuse a task that does not make something of each event."""
    if not isinstance(task, GraphLabel | LinkRanking | NodeLabel):
        raise InputError(f"The events of {task.kind} have no score each; use a ranking or labels.")


def scored_events(task: SomeTask, data: Data, found: Evaluation) -> Answer:
    """A ranking gives the rank of what happened, the worst first, which is what surprised the model. Labels
    give the score, the highest first, and the label that is true."""
    require_scores(task)
    outcomes = found.outcomes.double().cpu().numpy()
    order = np.argsort(-outcomes, kind="stable")
    said = {"rank" if isinstance(task, LinkRanking) else "score": outcomes[order]}
    if isinstance(task, GraphLabel | NodeLabel):
        said["label"] = task.truth[order].astype(int)
    if isinstance(task, GraphLabel):
        nodes = {"node": task.nodes[order]}
        return Answer(pa.table(nodes | said), f"{len(order):,} nodes, the most suspect first.")
    assert isinstance(data, Dataset)
    assert isinstance(task, LinkRanking | NodeLabel)
    rows, events = task.asked[order], task.positives if isinstance(task, LinkRanking) else task.events
    names = NodeNames.of(data.stream.ids)
    return Answer(
        pa.table(
            {
                "event": rows + events.offset,
                "source": names.labels_of(events.src[rows]),
                "destination": names.labels_of(events.dst[rows]),
                "time": spoken_column(events.t[rows], events.unit),
                **said,
            }
        ),
        f"{len(rows):,} events of {data.name}, the most telling first.",
    )
