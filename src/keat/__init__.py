"""keat: kernelized edge attention and sound evaluation for streams of timestamped edges.

import keat

run = keat.train("keat-rank", "orders.csv", src="customer", dst="shop", time="when")
run.observe("today.csv")                           # rows since; new nodes join
print(run.rank("C-037", top=3))                    # an Arrow table
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keat.bandwidth import estimate_sigma
    from keat.datasets.loading import Dataset, load
    from keat.datasets.payments import simulate_payments
    from keat.errors import KeatError, Notice
    from keat.events import EventStream, IdMap, NodeLabels, read_events
    from keat.events.splitting import split
    from keat.models.contract import LinkModel, NodeModel, NodeQueries, Queries
    from keat.models.registry import create_link_model, create_node_model
    from keat.patching import patch, unpatch
    from keat.runs import Run, open, train  # noqa: A004
    from keat.tasks.making import make_task
    from keat.training.evaluate import Evaluation, evaluate

__version__ = "0.1.0"

# Loaded when first used, so that `import keat` and `keat --help` do not wait for torch.
_HOME = {
    "Dataset": "keat.datasets.loading",
    "Evaluation": "keat.training.evaluate",
    "EventStream": "keat.events",
    "IdMap": "keat.events",
    "KeatError": "keat.errors",
    "LinkModel": "keat.models.contract",
    "NodeLabels": "keat.events",
    "NodeModel": "keat.models.contract",
    "NodeQueries": "keat.models.contract",
    "Notice": "keat.errors",
    "Queries": "keat.models.contract",
    "create_link_model": "keat.models.registry",
    "create_node_model": "keat.models.registry",
    "estimate_sigma": "keat.bandwidth",
    "evaluate": "keat.training.evaluate",
    "load": "keat.datasets.loading",
    "make_task": "keat.tasks.making",
    "open": "keat.runs",
    "patch": "keat.patching",
    "read_events": "keat.events",
    "simulate_payments": "keat.datasets.payments",
    "Run": "keat.runs",
    "split": "keat.events.splitting",
    "train": "keat.runs",
    "unpatch": "keat.patching",
}

__all__ = [
    "Dataset",
    "Evaluation",
    "EventStream",
    "IdMap",
    "KeatError",
    "LinkModel",
    "NodeLabels",
    "NodeModel",
    "NodeQueries",
    "Notice",
    "Queries",
    "Run",
    "create_link_model",
    "create_node_model",
    "estimate_sigma",
    "evaluate",
    "load",
    "make_task",
    "open",
    "patch",
    "read_events",
    "simulate_payments",
    "split",
    "train",
    "unpatch",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'keat' has no attribute '{name}'")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
