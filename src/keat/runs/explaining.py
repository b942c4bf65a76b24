"""A run as the subject of explanations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from keat.errors import InputError
from keat.explain.asking import Asker
from keat.explain.scored import Scored
from keat.explain.subject import Subject
from keat.explain.wording import three_days
from keat.models.contract import LearnedLinkModel
from keat.models.node_head import NodeHead
from keat.runs.run import Run, open_kept

if TYPE_CHECKING:
    from keat.runs.fitting import TrainedModel


def explain_pair(run: Run, source: str | int, destination: str | int, at: Any = None) -> Scored:
    """Why a pair scores as it does, with everything that the run has seen."""
    run.present.catch_up()
    t = run.moment(at)
    return Asker(subject_of_run(run)).pair(source, destination, t, three_days(run.unit))


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
        names=run.names,
        validated=validated,
        present=_link_model(run.model),
    )


def _link_model(model: TrainedModel) -> LearnedLinkModel:
    assert isinstance(model, LearnedLinkModel)
    return model


def _require_links(run: Run) -> None:
    if run.spec.is_of_graph:
        what = "labels the nodes of a whole graph"
    elif isinstance(run.model, NodeHead):
        shares = run.spec.task.kind == "node-property"
        what = "tells how a node will divide its next period" if shares else "labels events"
    else:
        return
    raise InputError(f"{run.folder} {what}; explanations are of scores of links.")
