"""A run as the subject of explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keat.calibration.temperature import Temperature
from keat.datasets.loading import SIMULATED, Dataset
from keat.datasets.payments import FEATURES
from keat.errors import InputError, unknown_name
from keat.events import Reading
from keat.events.feature_columns import read_features
from keat.events.feature_encoding import ColumnEncoding, encode_columns
from keat.events.file_column import Column
from keat.explain.asker import Asker
from keat.explain.explained import Explained
from keat.explain.label_asker import LabelAsker
from keat.explain.phrases import three_days
from keat.explain.subject import LabelSubject, Subject
from keat.models.contract import LearnedLinkModel
from keat.models.node_head import EventHead, NodeHead
from keat.runs.node_names import NodeNames
from keat.runs.run import Run, open_kept
from keat.runs.spec import Progress, SourceSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from keat.runs.run_model import TrainedModel


def explain_pair(
    run: Run,
    source: str | int,
    destination: str | int,
    at: Any = None,
    features: Mapping[str, Any] | None = None,
    against: str | int | None = None,
) -> Explained:
    """Why a pair, or an event with these features, scores as it does, with everything that the run has
    seen."""
    asker = asker_of(run)
    t = run.moment(at)
    if isinstance(asker, LabelAsker):
        if against is not None:
            raise InputError(
                f"{run.folder} labels events, which have no other candidates; leave against out."
            )
        columns = asker.subject.columns
        said = None if features is None else _encoded_features(columns, features)
        return asker.pair(source, destination, t, said)
    if features is not None:
        raise InputError(f"{run.folder} scores pairs, which have no features; leave them out.")
    return asker.pair(source, destination, t, three_days(run.unit), against)


def asker_of(run: Run, data: Dataset | None = None) -> Asker | LabelAsker:
    """Who explains the scores of a run: of links, or of events that it labels."""
    _require_explained(run)
    if isinstance(run.model, EventHead):
        return LabelAsker(label_subject_of(run, run.model), data)
    return Asker(subject_of_run(run), data)


def data_for(run: Run, name: str, given: Reading, progress: Progress | None = None) -> Dataset:
    """A dataset that a run is to explain, read, split and labelled as that of training."""
    _require_explained(run)  # before a download
    return run.spec.source.like(name, given).open(run.spec.task, progress)


@dataclass(frozen=True, slots=True)
class _KnownNodes:
    """What the nodes of a run are called. Of a stranger there is nothing to explain: a slip of the pen."""

    names: NodeNames

    def __len__(self) -> int:
        return len(self.names)

    def label(self, node: int, /) -> str | int:
        return self.names.label(node)

    def index_written(
        self, labels: Sequence[str | int], *, side: Literal["src", "dst"]
    ) -> npt.NDArray[np.int32]:
        return self.names.known_written(labels, side=side)


def subject_of(folder: Path) -> Subject:
    """The subject of explanations that the run in a folder is."""
    return subject_of_run(open_kept(folder))


def subject_of_run(run: Run) -> Subject:
    """A run that scores links; of others it is said what they do."""
    _require_links(run)

    def validated() -> LearnedLinkModel:
        return _link_model(run.validated_model())

    run.present.catch_up()
    names = _KnownNodes(run.names)
    return Subject(**_about(run), names=names, validated=validated, present=_link_model(run.model))


def label_subject_of(run: Run, model: EventHead) -> LabelSubject:
    """A run that labels events, and its model."""

    def validated() -> EventHead:
        opened = run.validated_model()
        assert isinstance(opened, EventHead)
        return opened

    run.present.catch_up()
    source = run.spec.source
    return LabelSubject(
        **_about(run),
        names=run.names,  # a card that was never seen is one of the things to explain
        validated=validated,
        present=model,
        label="fraud" if _is_simulated(source) else source.reading.label,
        columns=feature_columns(source, run.facts.feature_dim),
        probability=_probability(run),
    )


def _about(run: Run) -> dict[str, Any]:
    spec, facts = run.spec, run.facts
    return {
        "name": spec.model,
        "where": str(run.folder),
        "loss": spec.fitting.loss,
        "kernel": getattr(spec.config, "kernel", "identity"),
        "unit": facts.unit,
        "feature_dim": facts.feature_dim,
        "data": facts.data,
    }


def _probability(run: Run) -> Callable[[float], float] | None:
    calibration = run.calibration
    if calibration is None or isinstance(calibration, Temperature):
        return None

    def probability(score: float) -> float:
        return float(calibration.probabilities(np.array([score]))[0])

    return probability


def _link_model(model: TrainedModel) -> LearnedLinkModel:
    assert isinstance(model, LearnedLinkModel)
    return model


def _require_links(run: Run) -> None:
    _require_explained(run)
    if isinstance(run.model, NodeHead):
        raise InputError(
            f"{run.folder} labels events, and can be asked for their scores; this is for runs of links."
        )


def _require_explained(run: Run) -> None:
    if run.spec.is_of_graph:
        what = "labels the nodes of a whole graph, and can be asked for the most suspect of them"
    elif run.spec.task.kind == "node-property":
        what = "tells how a node will divide its next period, and can be asked for such shares"
    else:
        return
    raise InputError(
        f"{run.folder} {what}; explanations are of scores of links and of events that are labelled."
    )


# -- the features of one event as the user writes them --------------------------------------------------


def feature_columns(source: SourceSpec, feature_dim: int) -> tuple[ColumnEncoding, ...]:
    """What the features of a run are called and how they are encoded. A stream in memory, and most sets that
    are known by name, have no names for them."""
    if source.reading.encoding is not None:
        return source.reading.encoding.events
    names = FEATURES if _is_simulated(source) else [f"feature {k + 1}" for k in range(feature_dim)]
    return tuple(ColumnEncoding(name, 1) for name in names)


def _is_simulated(source: SourceSpec) -> bool:
    """Whether the data are the simulated payments, whose columns are known though no file names them."""
    return source.name is not None and source.name.partition(":")[0] == SIMULATED


def _encoded_features(
    columns: tuple[ColumnEncoding, ...], given: Mapping[str, Any]
) -> npt.NDArray[np.float32] | None:
    """Values by the name of their column → (d,); None where the run has no features."""
    names = [column.name for column in columns]
    for name in given:
        if name not in names:
            raise unknown_name("feature of this run", name, names)
    missing = [name for name in names if name not in given]
    if missing:
        raise InputError(f"An event of this run also has {', '.join(missing)}; give all of its features.")
    if not columns:
        return None
    kinds = [column.name for column in columns if column.categories is not None]
    read, raw = read_features(
        [Column("The event", name, pa.chunked_array([pa.array([given[name]])])) for name in names], kinds
    )
    encoded: npt.NDArray[np.float32] = encode_columns(columns, read, raw, "The event")[0]
    return encoded
