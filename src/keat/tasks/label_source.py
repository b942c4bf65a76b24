"""`LabelSource`: where the labels of a node task come from, and the dataset that has them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from keat.datasets.loading import Dataset
from keat.errors import InputError
from keat.events import Reading
from keat.tasks.kinds import End, TaskKind


@dataclass(frozen=True, slots=True)
class LabelSource:
    """Periods of the stream itself, or a file; by default the labels are the dataset's own, if it has any."""

    period: str | None = field(
        default=None,
        metadata={
            "help": "Node properties of any stream: how a node will divide its next minute, hour, day, week, "
            "year or so many time units over its destinations."
        },
    )
    weight: str | None = field(
        default=None, metadata={"help": "Column that says how much an event counts, if not each 1."}
    )
    undirected: bool = field(default=False, metadata={"help": "An event counts for both of its ends."})
    node_labels: str | None = field(
        default=None, metadata={"help": "CSV of node and label, for the events of these nodes."}
    )
    target: str | None = field(
        default=None,
        metadata={"help": "Column of the coming event to predict, or 'delay>15', whether it is more."},
    )
    known_after: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "Columns that become known late: COLUMN=TIME, or COLUMN=COLUMN of how long it takes."
        },
    )
    positive: float = field(default=1.0, metadata={"help": "The label of that CSV to find."})

    def __post_init__(self) -> None:
        if self.weight is not None and self.period is None:
            raise InputError("A weight says how much an event counts within a period; give a period, too.")
        if self.known_after and self.target is None:
            raise InputError("What is known late matters for an attribute of events; give its target, too.")
        if self.target is not None and (self.period or self.node_labels):
            raise InputError("A target is a column of the events; leave the period and labels of nodes out.")
        if self.period is not None and self.node_labels is not None:
            raise InputError("A period makes node properties and a file labels of events; give one of them.")

    @property
    def task(self) -> TaskKind | None:
        """The task that goes with such labels; None where the dataset decides."""
        if self.period is not None:
            return "node-property"
        if self.target is not None:
            return "edge-attribute"
        return "node-label" if self.node_labels is not None else None

    def reading(self, given: Reading) -> Reading:
        """How to read the data: with the weight, the target and what is late among its features."""
        if self.target is not None:
            from keat.tasks.attribute_source import columns_read

            more = [
                each for each in columns_read(self.target, self.known_after) if each not in given.features
            ]
            return replace(given, features=(*given.features, *more))
        return given if self.weight is None else replace(given, weight=self.weight)

    def label(self, data: Dataset, end: End) -> Dataset:
        """The dataset with these labels."""
        from keat.tasks.attribute_source import with_attribute
        from keat.tasks.derived_labels import label_by_period, label_events_by_file  # brings torch

        if self.target is not None:
            return with_attribute(data, self.target, self.known_after)

        if self.period is not None:
            weight = None
            if self.weight is not None and data.reading is not None:
                weight = data.reading.position(self.weight)
            return label_by_period(data, self.period, weight=weight, undirected=self.undirected)
        if self.node_labels is not None:
            return label_events_by_file(data, Path(self.node_labels), positive=self.positive, end=end)
        return data
