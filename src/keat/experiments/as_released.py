"""What the authors' `test.py` measures: a trained TGN evaluated with its neighbour table emptied.

The released script fills the table of past events, then resets it, then loads the checkpoint, whose memory is
the one after validation, and scores validation and test from there (spec 9.1). So at the first question

- no node has a neighbour, and every neighbour it gets is one of the events being evaluated;
- those events are numbered from 0 again, so their times and features are looked up among the first events of
  the *training* split: the ages are about the length of the data, and ψ of them is nearly 0;
- memory went through one GRU step with an empty message, and every last update is 0.

`AsReleased` puts a model into that state. It is here to see how much of a published gain remains without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from keat.datasets.loading import Dataset
from keat.errors import InputError
from keat.events import EventStream
from keat.experiments.job import Job
from keat.experiments.line import Line, Score
from keat.experiments.work import Found, measure, refresh_of, task_of, trained_run
from keat.models.contract import LinkModel, Queries
from keat.models.tgn import TGN
from keat.ops import update_without_message
from keat.runs.run_file import read_run_file
from keat.runs.run_model import Data, open_model
from keat.tasks.link import LinkTask
from keat.training.evaluate import continue_evaluation

SUFFIX = "-released"  # of the names of such lines in a ledger


class AsReleased(LinkModel):
    """A TGN as the released script evaluates it."""

    name = "tgn as released"

    def __init__(self, model: TGN, train: EventStream) -> None:
        self.model, self.train_events, self.observed = model.eval(), train, 0
        self.reset()

    def reset(self) -> None:
        """Into the state the script starts from; the memory stays."""
        state, gru = self.model.state, self.model.memory.gru
        kept = state.save()
        nothing = {name: column[:0] for name, column in kept.items() if name.startswith("log.")}
        with torch.no_grad():
            memory = update_without_message(gru, kept["memory"])
        none = {name: torch.full_like(kept[name], -1) for name in ("ring", "pending")}
        zero = {name: torch.zeros_like(kept[name]) for name in ("inserted", "last_update")}
        state.load(nothing | none | zero | {"memory": memory})
        self.observed = 0

    def score(self, queries: Queries) -> Tensor:
        return self.model.score(queries)

    def observe(self, events: EventStream) -> None:
        """Events are what they are to the memory; attention looks their times and features up elsewhere."""
        first = self.observed
        self.model.observe(events)
        self.observed += len(events)
        if self.observed > len(self.train_events):
            raise InputError("There are more events to evaluate than the training split has.")
        self.model.state.replace_events(first, self.train_events[first : self.observed])


def evaluate_as_released(folder: Path, data: Dataset, tasks: Sequence[LinkTask]) -> list[dict[str, float]]:
    """Metrics of a TGN run as released, task after task without a reset: validation first, then test."""
    released = AsReleased(_opened(folder), data.train)
    return [continue_evaluation(released, task).metrics for task in tasks]


def run_released(job: Job, key: str, scratch: str) -> Line:
    """Work for the runner: validation, then test, from the state the released script starts from."""

    def find(data: Data) -> Found:
        assert isinstance(data, Dataset)
        folder = trained_run(job, data, Path(scratch))
        tasks = [task_of(job, data, "val"), task_of(job, data, "test")]
        links = [task for task in tasks if isinstance(task, LinkTask)]
        val, test = evaluate_as_released(folder, data, links)
        fresh = refresh_of(job, data)
        return Found(len(data.stream), val, {str(fresh): Score(test)}, val_refresh=fresh)

    return measure(job, key, find)


def _opened(folder: Path) -> TGN:
    model = open_model(folder, read_run_file(folder))
    if not isinstance(model, TGN):
        raise InputError(f"{folder} holds a {model.name}; the released script evaluates TGN.")
    return model
