"""``run.json`` and ``ids.parquet``: what a run is and what its nodes are called, checked before use."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import get_type_hints

from keat.disk import is_file, look_at, reading, reason_of, typed
from keat.errors import InputError, KeatError, unknown_name
from keat.events import IdMap
from keat.events.units import clock_of
from keat.models.registry import TRAINED
from keat.runs.epochs import damaged
from keat.runs.facts import RunFacts
from keat.runs.spec import RunSpec
from keat.runs.upgrade_format_1 import upgraded

FORMAT = 2
DESCRIPTION, IDS = "run.json", "ids.parquet"


@dataclass(frozen=True, slots=True)
class RunFile:
    """All that ``run.json`` holds: what was decided, and what was found."""

    spec: RunSpec
    facts: RunFacts

    def to_text(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1)

    def differences(self, other: RunFile) -> list[str]:
        """Names of the parts in which another run differs; none where one continues the other. How long to
        train may differ, and so may the names of files and columns of the same events."""
        mine, theirs = (
            {
                "model": file.spec.model,
                "config": file.spec.config,
                "fit": replace(file.spec.fitting, epochs=1, patience=1, budget=None),
                "epochs": file.spec.fitting.plan,
                "task": (replace(file.spec.task, sample=None, sample_seed=0), file.facts.asked),
                "labels": file.spec.source.labels,
                "split": file.spec.source.held_out,
                "encoder": file.spec.encoder,
                "head": file.facts.head,
                "data": (file.facts.data, file.facts.unit, file.facts.num_nodes, file.facts.feature_dim),
                "sigma": file.facts.sigma,
                "keat": file.facts.keat,
            }
            for file in (self._knowing_as_much_as(other), other._knowing_as_much_as(self))
        )
        return sorted(part for part in mine if mine[part] != theirs[part])

    def _knowing_as_much_as(self, other: RunFile) -> RunFile:
        """Runs of whole graphs of format 1 knew nothing of their graph but its edges: whether those are the
        same is seen by their number and their σ."""
        if other.facts.asked or not self.spec.is_of_graph:
            return self
        theirs = other.facts
        facts = replace(
            self.facts,
            data=replace(self.facts.data, fingerprint=theirs.data.fingerprint),
            num_nodes=theirs.num_nodes,
            feature_dim=theirs.feature_dim,
            asked=theirs.asked,
        )
        return replace(self, facts=facts)


def read_run_file(folder: Path) -> RunFile:
    """What a run is; a clear error where the folder is not one."""
    require_run(folder)
    path = folder / DESCRIPTION
    try:
        with reading(path):
            content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise damaged(folder, f"{DESCRIPTION} cannot be read ({error})") from error
    if not isinstance(content, dict):
        raise damaged(folder, f"{DESCRIPTION} does not describe a run")
    if type(content.get("format")) is not int or not 1 <= content["format"] <= FORMAT:
        raise InputError(
            f"{folder} was written by another version of keat (format {content.get('format')}, this one "
            f"reads up to {FORMAT}); train again."
        )
    try:
        return _typed(upgraded(content) if content["format"] == 1 else content)
    except ValueError as error:
        raise damaged(folder, f"{DESCRIPTION} is not sound: {error}") from error


def _typed(content: dict[str, object]) -> RunFile:
    """What the file says as typed values; the configuration has the type of its model."""
    spec = content.get("spec")
    if not isinstance(spec, dict) or "facts" not in content:
        raise ValueError("it has no 'spec' or no 'facts'")
    hints = get_type_hints(RunSpec)
    unknown = [*content.keys() - {"format", "spec", "facts"}, *spec.keys() - hints.keys()]
    if unknown:
        raise ValueError(f"'{unknown[0]}' is no entry of it")
    if "model" not in spec or "config" not in spec:
        raise ValueError("it has no 'model' or no 'config'")
    model = typed(str, spec["model"])
    if model not in TRAINED:
        raise unknown_name("model of the run", model, TRAINED)
    hints["config"] = type(TRAINED[model].config)
    decided = RunSpec(**{name: typed(hints[name], value) for name, value in spec.items()})
    try:
        clock_of("s", getattr(decided.config, "clock", "s"))
    except KeatError as error:
        raise ValueError(str(error).rstrip(".")) from error
    return RunFile(decided, typed(RunFacts, content["facts"]))


def whole_run_file(folder: Path) -> RunFile:
    """What a run is, once it is known that its nodes have names, and as many as it says."""
    file = read_run_file(folder)
    if not file.spec.is_of_graph:
        read_ids(folder, file.facts.num_nodes)
    return file


def require_run(folder: Path) -> None:
    """There is a run, and nothing that was taken for one by mistake."""
    if look_at(folder) == "file":
        raise InputError(f"{folder} is a file, and a run is a folder made by keat train; give that folder.")
    if look_at(folder / "stream.json") is not None:
        raise InputError(f"{folder} is a saved stream and not a run; give the folder made by keat train.")
    if not is_file(folder / DESCRIPTION):
        raise InputError(f"{folder} is not a keat run: it has no {DESCRIPTION}; make one with keat train.")


def is_run(name: str | Path) -> bool:
    """Whether this is the folder of a run."""
    return look_at(Path(name) / DESCRIPTION) is not None


def read_ids(folder: Path, num_nodes: int) -> IdMap:
    """What the user calls the nodes of a run."""
    path = folder / IDS
    if not is_file(path):
        raise damaged(folder, f"{IDS} is missing")
    with reading(path):
        path.open("rb").close()
    try:
        ids = IdMap.load(path)
    except InputError as error:
        reason = reason_of(error.__cause__ or error)
        raise damaged(folder, f"{IDS} does not hold ids ({reason})") from error
    if len(ids) != num_nodes:
        raise damaged(folder, f"{IDS} has {len(ids)} ids of {num_nodes} nodes")
    return ids
