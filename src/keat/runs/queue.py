"""Every event of a split with what a model made of it, the most telling first: a queue to work through."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from keat.datasets.dgraphfin import DGraphFin
from keat.errors import InputError
from keat.runs.answer import Answer
from keat.runs.moments import spoken_column
from keat.runs.node_names import NodeNames
from keat.runs.run_model import Data
from keat.runs.testing import SomeTask
from keat.tasks.graph_label import GraphLabel
from keat.tasks.link import LinkRanking
from keat.tasks.node_label import NodeLabel
from keat.training.evaluate import Evaluation


def require_scores(task: SomeTask) -> None:
    """Whether a task makes something of each event."""
    if not isinstance(task, GraphLabel | LinkRanking | NodeLabel):
        raise InputError(f"The events of {task.kind} have no score each; use a ranking or labels.")


def scored_events(task: SomeTask, data: Data, found: Evaluation) -> Answer:
    """Of a ranking the rank of what happened, worst first: what surprised the model. Of labels the score, the
    highest first, with the label that was given."""
    require_scores(task)
    outcomes = found.outcomes.double().cpu().numpy()
    if isinstance(task, GraphLabel):
        order = np.argsort(-outcomes, kind="stable")
        columns = {
            "node": task.nodes[order],
            "score": outcomes[order],
            "label": task.truth[order].astype(int),
        }
        return Answer(pa.table(columns), f"{len(order):,} nodes, the most suspect first.")
    assert not isinstance(data, DGraphFin)
    if isinstance(task, NodeLabel):
        order = np.argsort(-outcomes, kind="stable")
        rows, told = task.asked[order], {"score": outcomes[order], "label": task.truth[order].astype(int)}
    else:
        assert isinstance(task, LinkRanking)
        order = np.argsort(-outcomes, kind="stable")
        rows, told = task.asked[order], {"rank": outcomes[order]}
    events = task.positives if isinstance(task, LinkRanking) else task.events
    names = NodeNames.of(data.stream.ids)
    return Answer(
        pa.table(
            {
                "event": rows + events.offset,
                "source": names.labels_of(events.src[rows]),
                "destination": names.labels_of(events.dst[rows]),
                "time": spoken_column(events.t[rows], events.unit),
                **told,
            }
        ),
        f"{len(rows):,} events of {data.name}, the most telling first.",
    )
