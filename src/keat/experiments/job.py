"""One run of one arm on one dataset with one seed, and the name it goes by."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any

import keat
from keat.models.registry import ARCHITECTURES
from keat.training.fit import FitConfig
from keat.training.runs import configuration


@dataclass(frozen=True, slots=True)
class Job:
    """What to train and how to score it. Equal jobs on equal data have equal keys."""

    data: str  # what the user calls the dataset
    source: str  # a name of the registry or a file
    model: str
    seed: int
    config: dict[str, Any] = field(default_factory=dict)  # of the model, where not its default
    fit: dict[str, Any] = field(default_factory=dict)
    task: str = "link-ranking"
    refresh: tuple[int, ...] = ()  # of the test split; none: the model's own
    sample: int | None = None  # positives of validation and test that are asked

    @property
    def is_heuristic(self) -> bool:
        return self.model not in ARCHITECTURES

    def fitting(self) -> FitConfig:
        return FitConfig(**self.fit, seed=self.seed)

    def training_key(self, fingerprint: str) -> str:
        """A name by content for what is trained: every choice, the data and the version of the code."""
        content: dict[str, Any] = {
            "keat": keat.__version__,
            "data": fingerprint,
            "model": _plain_name(self.model),
            "task": self.task,
            "sample": self.sample,
        }
        if not self.is_heuristic:
            content["config"] = _choices(configuration(self.model, **self.config))
            content["fit"] = _choices(self.fitting())
        return _digest(content)

    def key(self, fingerprint: str) -> str:
        """A name for the result: what was trained and how it was scored."""
        return _digest({"trained": self.training_key(fingerprint), "refresh": self.refresh})


def _plain_name(model: str) -> str:
    """`keat-tgn` is `tgn` with a kernel: one run serves tables that call it either."""
    if model not in ARCHITECTURES:
        return model
    return next(name for name, its in ARCHITECTURES.items() if its.kind is ARCHITECTURES[model].kind)


def _choices(settings: Any) -> dict[str, Any]:
    """What differs from the defaults, so that a setting added later renames nothing that was run before."""
    defaults = asdict(type(settings)())
    return {name: value for name, value in asdict(settings).items() if value != defaults[name]}


def _digest(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True).encode()
    return hashlib.blake2b(text, digest_size=8).hexdigest()
