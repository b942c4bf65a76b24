"""Options of node tasks, and what they do to a dataset: they give it labels."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from keat.errors import InputError, unknown_name

if TYPE_CHECKING:
    from keat.datasets.loading import Dataset
    from keat.events import Reading

_PANEL = "Node tasks"
TaskOption = Annotated[
    str | None,
    typer.Option(
        "--task",
        help="link-ranking, link-classification, node-property or node-label.",
        show_default="what the data is made for",
    ),
]
Period = Annotated[
    str | None,
    typer.Option(
        help="Node properties of any stream: how a node will divide its next minute, hour, day, week, year "
        "or so many time units over its destinations.",
        rich_help_panel=_PANEL,
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        help="Column that says how much an event counts.", show_default="each 1", rich_help_panel=_PANEL
    ),
]
Undirected = Annotated[
    bool,
    typer.Option("--undirected", help="An event counts for both of its ends.", rich_help_panel=_PANEL),
]
ProtocolOption = Annotated[
    str,
    typer.Option(
        "--protocol",
        help="Of node properties: strict, or legacy with TGB's look ahead of up to one batch.",
        rich_help_panel=_PANEL,
    ),
]
NodeLabelFile = Annotated[
    str | None,
    typer.Option(
        "--node-labels", help="CSV of node and label, for the events of these nodes.", rich_help_panel=_PANEL
    ),
]
Positive = Annotated[float, typer.Option(help="The label of --node-labels to find.", rich_help_panel=_PANEL)]
Labelled = Annotated[str, typer.Option(help="Whose labels they are: src or dst.", rich_help_panel=_PANEL)]


@dataclass(frozen=True)
class LabelOptions:
    """Where the labels of a node task come from. Kept with a run, so that it can be evaluated again."""

    period: str | None = None
    weight: str | None = None
    undirected: bool = False
    protocol: str = "strict"
    node_labels: str | None = None
    positive: float = 1.0
    labelled: str = "src"

    def __post_init__(self) -> None:
        for what, name, known in (
            ("protocol", self.protocol, ("strict", "legacy")),
            ("end of an event", self.labelled, ("src", "dst")),
        ):
            if name not in known:
                raise unknown_name(what, name, known)

    def kept(self) -> dict[str, Any] | None:
        return None if self == LabelOptions() else asdict(self)

    def reading(self, given: Reading) -> Reading:
        """How to read the data: with the weight among its features."""
        if self.weight is not None and self.period is None:
            raise InputError("--weight says how much an event counts within a --period; give one.")
        return given if self.weight is None else replace(given, weight=self.weight)

    def apply(self, data: Dataset) -> Dataset:
        """The dataset with the labels that were asked for."""
        from keat.tasks.label_making import label_by_period, label_events_by_file

        if self.period is not None and self.node_labels is not None:
            raise InputError("--period makes node properties and --node-labels labels of events; give one.")
        if self.period is not None:
            weight = None
            if self.weight is not None and data.reading is not None:
                weight = data.reading.position(self.weight)
            return label_by_period(data, self.period, weight=weight, undirected=self.undirected)
        if self.node_labels is not None:
            file = Path(self.node_labels)
            return label_events_by_file(data, file, positive=self.positive, end=self.labelled)  # type: ignore[arg-type]
        return data

    def task(self, given: str | None, label: str | None) -> str | None:
        """The task that goes with the options; None where the dataset decides."""
        if given is not None:
            return given
        if self.period is not None:
            return "node-property"
        return "node-label" if self.node_labels is not None or label is not None else None


KINDS = get_type_hints(LabelOptions)


def options_of_run(options: LabelOptions, description: dict[str, Any]) -> LabelOptions:
    """Options for evaluating a run: its own labels, unless others are asked for."""
    if options.kept() is not None or description.get("labels") is None:
        return options
    for name, value in description["labels"].items():
        if not isinstance(value, KINDS.get(name, ())):
            raise InputError(f"The run is damaged: its labels have {value!r} as '{name}'; train it again.")
    return replace(options, **description["labels"])
