"""A line of the ledger: what was run, what came of it, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from keat.disk import typed
from keat.experiments.code_fingerprint import Code

Settings = Mapping[str, Any]  # of a model or of its training, by name, as TOML and JSON have them
Metrics = dict[str, float]

ERRORS = "standard_errors"  # stand among the metrics, and so does
BLOCKS = "without_block"
COSTS = ("milliseconds", "parameters", "epochs", "train_seconds")  # what a result took
NULLS = ("sample", "commit")  # are written where they are None, too


@dataclass(frozen=True, slots=True)
class Score:
    """Metrics of the test split, with their standard errors where only a sample of it was asked, and with
    what they would be without each twentieth of the questions, from which the sampling error of a difference
    follows (`keat.experiments.statistics`)."""

    metrics: Metrics
    standard_errors: Metrics | None = None
    without_block: dict[str, list[float]] | None = None  # each metric without one of the blocks of questions


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One result. The order of the fields is that in which they are written."""

    key: str
    data: str = ""  # what the user called the dataset
    source: str = ""  # where it was, and how it was read
    model: str = ""
    seed: int = 1
    config: Settings = field(default_factory=dict)  # of the model, where not its default
    fit: Settings = field(default_factory=dict)
    task: str = "link-ranking"
    refresh: tuple[int, ...] = ()
    sample: int | None = None
    features: tuple[str, ...] | None = None  # columns of the events that the model read
    events: int | None = None
    config_full: Settings | None = None
    epoch: int | None = None  # that was kept
    loss: float | None = None  # of training, in that epoch
    val: Metrics
    val_refresh: int | None = None  # how fresh the state was in validation
    test: dict[str, Score]  # by refresh
    seconds: float | None = None  # by the clock on the wall, of all the work
    parameters: int | None = None  # that are learned
    epochs: int | None = None  # that were trained
    train_seconds: float | None = None  # of processor time, in all of them
    milliseconds: dict[str, float] | None = None  # of processor time a question of the test split, by refresh
    keat: str = ""
    code: Code | None = None  # that decided the numbers; older lines say their commit alone
    commit: str | None = None
    torch: str = ""
    machine: str = ""
    more: Settings = field(default_factory=dict)  # what another version of keat has written besides

    @classmethod
    def of(cls, content: object) -> Self:
        """Read a line of JSON that is already a value; a ValueError says what is wrong with it."""
        if not isinstance(content, dict):
            raise ValueError("it is no object")
        known = {each.name for each in fields(cls)} - {"more"}
        given = {name: value for name, value in content.items() if name in known}
        more = {name: value for name, value in content.items() if name not in known}
        if isinstance(given.get("test"), dict):
            given["test"] = {refresh: _as_score(metrics) for refresh, metrics in given["test"].items()}
        line = typed(cls, {**given, "more": more})
        if not line.test:
            raise ValueError("its 'test' is empty")
        return line

    def to_json(self) -> dict[str, object]:
        """What is written; `of` reads it."""
        content = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "more"}
        content["refresh"] = list(self.refresh)
        content["features"] = None if self.features is None else list(self.features)
        content["code"] = None if self.code is None else asdict(self.code)
        content["test"] = {refresh: _as_json(score) for refresh, score in self.test.items()}
        there = {name: value for name, value in content.items() if value is not None or name in NULLS}
        return {**there, **self.more}

    def cost(self, name: str) -> float | None:
        """One of `COSTS`; of several refreshes, that of the first. Older lines do not have it."""
        if name == "milliseconds":
            return None if self.milliseconds is None else next(iter(self.milliseconds.values()))
        value: float | None = getattr(self, name)
        return value

    def tested(self, refresh: str | None = None) -> Metrics:
        """Metrics of the test split; of several refreshes, those of the first."""
        return self.test[next(iter(self.test)) if refresh is None else refresh].metrics


def _as_score(metrics: object) -> object:
    if not isinstance(metrics, dict):
        return metrics
    numbers = {name: value for name, value in metrics.items() if name not in (ERRORS, BLOCKS)}
    return {"metrics": numbers, ERRORS: metrics.get(ERRORS), BLOCKS: metrics.get(BLOCKS)}


def _as_json(score: Score) -> Settings:
    besides = {ERRORS: score.standard_errors, BLOCKS: score.without_block}
    return score.metrics | {name: value for name, value in besides.items() if value is not None}
