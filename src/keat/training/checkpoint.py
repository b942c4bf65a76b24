"""A run on disk: safetensors and JSON, nothing that could execute.

    run/
      run.json            what it is: model, configuration, σ, data fingerprint, version
      metrics.jsonl       one line an epoch
      last.safetensors    parameters and optimizer after the last finished epoch: for resuming
      best.safetensors    parameters and state (memory, rings, the events they point to) of the best epoch,
                          after validation: for scoring what comes next
      ids.parquet         what the user calls the nodes

Every file is written beside its place and moved in, so a killed process leaves the previous one whole.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from keat.disk import is_file, look_at
from keat.errors import CacheError, InputError
from keat.events.ids import IdMap

FORMAT = 1


class Checkpointed(Protocol):
    """What a model must offer to be kept."""

    def state_dict(self) -> dict[str, Tensor]: ...
    def load_state_dict(self, state: Mapping[str, Any]) -> Any: ...
    def stream_state(self) -> dict[str, Tensor]: ...
    def load_stream_state(self, state: dict[str, Tensor]) -> None: ...


class Run:
    """One training run in a folder."""

    def __init__(
        self,
        folder: Path,
        description: dict[str, Any],
        ids: IdMap | None = None,
        *,
        resume: bool = False,
        defaults: Mapping[str, dict[str, Any]] | None = None,
    ) -> None:
        """Open ``folder`` for training. A run that is there already is continued only if asked to, and
        only if it is the same one; how long to train (``limits``) may differ. A setting it does not know,
        because it is older than the setting, had its default, by the name of its entry in ``defaults``."""
        self.folder = folder
        wanted = {"format": FORMAT, **json.loads(json.dumps(description))}
        if look_at(folder / "run.json") is not None:
            if not resume:
                raise InputError(
                    f"{folder} already holds a run; continue it with --resume, or choose another --out."
                )
            there = read_description(folder)
            for entry, settings in (defaults or {}).items():
                known = json.loads(json.dumps(settings))
                there[entry] = {name: known.get(name) for name in wanted[entry]} | there.get(entry, {})
            different = sorted(
                key for key in {*there, *wanted} - {"limits"} if there.get(key) != wanted.get(key)
            )
            if different:
                raise InputError(
                    f"{folder} holds another run (different {', '.join(different)}); choose another --out."
                )
        else:
            _make_folder(folder)
            if ids is not None:
                _write(folder / "ids.parquet", ids.save)
        _write_text(folder / "run.json", json.dumps(wanted, indent=1))

    def resume(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> list[dict[str, Any]]:
        """Load the last finished epoch, if any, and return the reports so far."""
        history = self.history()
        if history:
            tensors = load_tensors(self.folder / "last.safetensors")
            model.load_state_dict(_part(tensors, "model."))
            _load_optimizer(optimizer, _part(tensors, "optimizer."))
        return history

    def history(self) -> list[dict[str, Any]]:
        """Reports of the finished epochs. A line that was cut off by a crash does not count."""
        path = self.folder / "metrics.jsonl"
        finished: list[dict[str, Any]] = []
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                finished.append(json.loads(line))
            except json.JSONDecodeError:
                break
        return finished

    def save_epoch(self, model: Checkpointed, optimizer: torch.optim.Optimizer, report: Any) -> None:
        """Keep an epoch. The line of metrics comes last: with it, the epoch is finished."""
        parameters = {f"model.{name}": value for name, value in model.state_dict().items()}
        if report.best:
            state = {f"state.{name}": value for name, value in model.stream_state().items()}
            _save_tensors(self.folder / "best.safetensors", parameters | state)
        _save_tensors(self.folder / "last.safetensors", parameters | _optimizer_tensors(optimizer))
        lines = [*self.history(), dataclasses.asdict(report)]
        _write_text(self.folder / "metrics.jsonl", "".join(json.dumps(line) + "\n" for line in lines))


def load_best(folder: Path, model: Checkpointed) -> None:
    """Parameters and state of the best epoch."""
    tensors = load_tensors(folder / "best.safetensors")
    model.load_state_dict(_part(tensors, "model."))
    model.load_stream_state(_part(tensors, "state."))


def load_parameters(folder: Path, model: Checkpointed) -> None:
    """Parameters of the best epoch alone; the state stays empty."""
    model.load_state_dict(_part(load_tensors(folder / "best.safetensors"), "model."))


def read_description(folder: Path) -> dict[str, Any]:
    """What a run is; a clear error where the folder is not one."""
    require_run(folder)
    try:
        description: dict[str, Any] = json.loads((folder / "run.json").read_text())
    except FileNotFoundError as error:
        raise InputError(f"{folder} is not a keat run: it has no run.json.") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{folder / 'run.json'} cannot be read ({error}); the run is damaged.") from error
    if description.get("format") != FORMAT:
        raise InputError(
            f"{folder} was written by another version of keat (format {description.get('format')}, this one "
            f"reads {FORMAT}); train again."
        )
    return description


def require_run(folder: Path) -> None:
    """There is a run, and nothing that was taken for one by mistake."""
    if look_at(folder) == "file":
        raise InputError(f"{folder} is a file, and a run is a folder made by keat train; give that folder.")
    if look_at(folder / "stream.json") is not None:
        raise InputError(f"{folder} is a saved stream and not a run; give the folder made by keat train.")
    if not is_file(folder / "run.json"):
        raise InputError(f"{folder} is not a keat run: it has no run.json.")


def load_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except FileNotFoundError as error:
        raise InputError(f"{path} is missing: no epoch of this run has finished.") from error
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(f"{path} is damaged or not a safetensors file ({error}); train again.") from error


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    state = optimizer.state_dict()["state"]
    return {f"optimizer.{i}.{name}": value for i, entry in state.items() for name, value in entry.items()}


def _load_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        position, name = key.split(".", 1)
        state.setdefault(int(position), {})[name] = value
    optimizer.load_state_dict(optimizer.state_dict() | {"state": state})


def _save_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    whole = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    _write(path, lambda part: save_file(whole, part))


def _write_text(path: Path, text: str) -> None:
    _write(path, lambda part: part.write_text(text))


def _write(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside ``path`` and move in, so that ``path`` is always whole."""
    part = path.with_name(path.name + ".part")
    try:
        write(part)
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise CacheError(
            f"Cannot write {path} ({error.strerror or error}); free space or choose another --out."
        ) from error
    finally:
        part.unlink(missing_ok=True)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CacheError(
            f"Cannot create {folder} ({error.strerror or error}); choose another --out."
        ) from error
