"""`TaskSpec`: what a run is trained for and asked, and the task that it makes of a dataset."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from keat.datasets.loading import Dataset
from keat.errors import InputError, unknown_name
from keat.tasks.kinds import ENDS, PROTOCOLS, End, NegativesName, Protocol, TaskKind

if TYPE_CHECKING:
    from keat.tasks.task_factory import AnyTask

Kind = TaskKind | Literal["graph-label"]
SAMPLE_SEED = 0  # one sample for all models
Split = Literal["val", "test"]


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """A kind of task and how it is asked. What is None is for the dataset to say, see `make_task`."""

    kind: Kind | None = None
    negatives: NegativesName | None = None  # against whom a positive is ranked or told apart
    number: int | None = None  # of them, where they are sampled
    seed: int = 42  # of their sampling
    sample: int | None = None  # positives that are asked, of a link task
    sample_seed: int = SAMPLE_SEED
    protocol: Protocol = field(
        default="strict",
        metadata={"help": "Of node properties: strict, or legacy with TGB's look ahead of up to one batch."},
    )
    labelled: End = field(default="src", metadata={"help": "Whose labels they are: src or dst."})

    def __post_init__(self) -> None:
        for what, name, known in (
            ("protocol", self.protocol, PROTOCOLS),
            ("end of an event", self.labelled, ENDS),
        ):
            if name not in known:
                raise unknown_name(what, name, known)

    @property
    def is_of_nodes(self) -> bool:
        """Whether a head reads embeddings of nodes for it."""
        return self.kind is not None and self.kind.startswith(("node-", "edge-"))

    def make(self, data: Dataset, split: Split, *, trust_pickle: bool = False) -> AnyTask:
        """The task of a split, or of a sample of it."""
        from keat.tasks.link import LinkTask  # these bring torch
        from keat.tasks.task_factory import make_task

        task = make_task(
            data,
            split,
            kind=self.kind,  # type: ignore[arg-type]  # which is refused there
            negatives=self.negatives,
            number=self.number,
            seed=self.seed,
            trust_pickle=trust_pickle,
            protocol=self.protocol,
            end=self.labelled,
            sample=None if self.sample is None else (self.sample, self.sample_seed),
        )
        if self.sample is None:
            return task
        if isinstance(task, LinkTask):
            return task.sample(self.sample, self.sample_seed)
        raise InputError("Only link tasks are sampled; node tasks are quick to ask in full.")
