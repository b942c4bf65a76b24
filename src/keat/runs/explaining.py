"""A run as the subject of explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from keat.errors import InputError
from keat.explain.asking import Asker
from keat.explain.scored import Scored
from keat.explain.subject import Subject
from keat.explain.wording import three_days
from keat.models.contract import LearnedLinkModel
from keat.models.node_head import NodeHead
from keat.runs.node_names import NodeNames
from keat.runs.run import Run, open_kept

if TYPE_CHECKING:
    from keat.runs.fitting import TrainedModel


def explain_pair(run: Run, source: str | int, destination: str | int, at: Any = None) -> Scored:
    """Why a pair scores as it does, with everything that the run has seen."""
    run.present.catch_up()
    t = run.moment(at)
    return Asker(subject_of_run(run)).pair(source, destination, t, three_days(run.unit))


@dataclass(frozen=True, slots=True)
class _KnownNodes:
    """What the nodes of a run are called. Of a stranger there is nothing to explain: a slip of the pen."""

    names: NodeNames

    def label(self, node: int, /) -> str | int:
        return self.names.label(node)

    def index_written(
        self, labels: Sequence[str | int], *, side: Literal["src", "dst"]
    ) -> npt.NDArray[np.int32]:
        return self.names.known_written(labels, side=side)


def subject_of(folder: Path) -> Subject:
    """Of the run in a folder."""
    return subject_of_run(open_kept(folder))


def subject_of_run(run: Run) -> Subject:
    """A run that scores links; of others it is said what they do."""
    spec, facts = run.spec, run.facts
    _require_links(run)

    def validated() -> LearnedLinkModel:
        return _link_model(run.validated_model())

    run.present.catch_up()
    return Subject(
        name=spec.model,
        where=str(run.folder),
        loss=spec.fitting.loss,
        kernel=getattr(spec.config, "kernel", "identity"),
        unit=facts.unit,
        feature_dim=facts.feature_dim,
        data=facts.data,
        names=_KnownNodes(run.names),
        validated=validated,
        present=_link_model(run.model),
    )


def _link_model(model: TrainedModel) -> LearnedLinkModel:
    assert isinstance(model, LearnedLinkModel)
    return model


def _require_links(run: Run) -> None:
    if run.spec.is_of_graph:
        what = "labels the nodes of a whole graph, and can be asked for the most suspect of them"
    elif not isinstance(run.model, NodeHead):
        return
    elif run.spec.task.kind == "node-property":
        what = "tells how a node will divide its next period, and can be asked for such shares"
    else:
        what = "labels events, and can be asked for their scores"
    raise InputError(f"{run.folder} {what}; explanations are of scores of links.")
