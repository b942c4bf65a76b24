"""A run on disk: safetensors and JSON, nothing that could execute.

    run/
      run.json                  what it is: model, configuration, σ, data fingerprint, version
      ids.parquet               what the user calls the nodes
      metrics.jsonl             one line for each finished epoch, which says that there is one; the line of
                                a best epoch also holds its calibration
      last-00003.safetensors    parameters and optimizer after the last finished epoch: for resuming
      best-00002.safetensors    parameters and state (memory, rings, the events they point to) of the best
                                epoch, after validation: for scoring what comes next
      .lock                     held by the process that trains

An epoch is written whole or not at all: its tensors come first, in files of its number, and the replacement
of ``metrics.jsonl`` is the one step that makes it a finished epoch. Files of the epoch before stay until the
next is written, for readers that are about to open them; all others are left over and are deleted then.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, TypeVar

import torch
from filelock import FileLock
from torch import Tensor, nn

from keat.disk import (
    LOCK,
    lock_folder,
    make_folder,
    new_file,
    remove_folders,
    remove_parts,
    write_text,
    writing,
)
from keat.errors import InputError, KeatError
from keat.events.ids import IdMap
from keat.runs.epochs import (
    METRICS,
    OTHERWISE,
    Kept,
    checking,
    damaged,
    kept_file,
    kept_tensors,
    load_tensors,
    numbered_file,
    numbered_files,
    read_history,
    require_tensors,
    standing,
    unnumbered_file,
    write_tensors,
)
from keat.runs.optimizer_state import load_training, optimizer_tensors
from keat.runs.run_file import DESCRIPTION, IDS, RunFile, read_run_file
from keat.state import check_state, like, parts_of
from keat.training.fit import EpochReport

KEPT: tuple[Kept, ...] = ("last", "best")
WAIT = 2.0  # seconds for a lock: a process that is being ended needs a moment


class Checkpointed(Protocol):
    """What a model must offer to be kept."""

    def state_dict(self) -> dict[str, Tensor]: ...
    def load_state_dict(self, state: Mapping[str, Tensor]) -> object: ...
    def stream_state(self) -> dict[str, Tensor]: ...
    def load_stream_state(self, state: dict[str, Tensor]) -> None: ...


M = TypeVar("M", bound=Checkpointed)


class RunFolder:
    """The folder of a training run, open for writing: ``with RunFolder(…) as run``. Nobody else can write to
    it until it is closed. If training fails before an epoch has finished, nothing is left behind."""

    def __init__(
        self, folder: Path, file: RunFile, ids: IdMap | None = None, *, resume: bool = False
    ) -> None:
        """Open ``folder`` for training. Finished epochs that are there already are continued only if asked
        to, and only if they are of the same run; how long to train may differ."""
        self.folder, self._file, self._ids = folder, file, ids
        _require_free(folder, file, resume)  # before anything is touched
        self._made = make_folder(folder, OTHERWISE)
        self._history: list[EpochReport] = []
        self._begun = False
        try:
            self._lock = lock_run(folder)
        except KeatError:
            remove_folders(self._made)
            raise
        try:
            _require_free(folder, file, resume)  # nobody else can write from here on
            self._history = read_history(folder)
            for path in self._kept().values():
                if path is not None:
                    require_tensors(path)
            self._begun = True
            remove_parts(folder)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let others write. A run without a finished epoch goes."""
        remove_parts(self.folder)
        if self._begun and not self._history:
            self._remove_leftovers()
            for name in (IDS, DESCRIPTION, METRICS, LOCK):
                (self.folder / name).unlink(missing_ok=True)
        self._lock.release()
        remove_folders(self._made)

    def resume(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, steps: Callable[[], int]
    ) -> list[EpochReport]:
        """Load the last finished epoch, if any, and return the reports so far. ``steps`` tells how many steps
        an epoch has, which is asked only where a file's name does not say of which epoch it is. Only now the
        run is described: one that cannot be gone on with stays as it was."""
        path = self._kept()["last"]
        if path is not None:
            taken = load_training(self.folder, load_tensors(path), model, optimizer)
            if path == unnumbered_file(self.folder, "last") and taken != steps() * len(self._history):
                raise damaged(
                    self.folder,
                    f"{path.name} is of another epoch than the last line of {METRICS}, because an older keat "
                    "was killed between the two, or cut the events into other steps",
                )
        if self._ids is not None:
            with new_file(self.folder / IDS, OTHERWISE) as part:
                self._ids.save(part)
        write_text(self.folder / DESCRIPTION, self._file.to_text(), OTHERWISE)
        return list(self._history)

    def standing(self, headline: str) -> tuple[float, int]:
        """The best validation value so far, and how many epochs ago it was."""
        return standing(self.folder, self._history, headline)

    def save_epoch(self, model: Checkpointed, optimizer: torch.optim.Optimizer, report: EpochReport) -> None:
        """Keep an epoch. The line of metrics comes last: with it, the epoch is finished."""
        self._remove_leftovers()
        parameters = {f"model.{name}": value for name, value in model.state_dict().items()}
        if not all(value.isfinite().all() for value in parameters.values() if value.is_floating_point()):
            raise KeatError(
                f"A parameter is no longer finite after epoch {report.epoch}; lower lr or set clip."
            )
        history = [*self._history, report]
        lines = [json.dumps(dataclasses.asdict(epoch)) + "\n" for epoch in history]
        try:
            if report.best:
                state = {f"state.{name}": value for name, value in model.stream_state().items()}
                write_tensors(numbered_file(self.folder, "best", report.epoch), parameters | state)
            training = parameters | optimizer_tensors(optimizer)
            write_tensors(numbered_file(self.folder, "last", report.epoch), training)
            write_text(self.folder / METRICS, "".join(lines), OTHERWISE)
        except BaseException:
            self._remove_leftovers()
            raise
        self._history = history

    def _kept(self) -> dict[Kept, Path | None]:
        return {which: kept_file(self.folder, which, self._history) for which in KEPT}

    def _remove_leftovers(self) -> None:
        """Files of epochs that are not the run's last or best."""
        remove_parts(self.folder)
        current = self._kept()
        over = [path for path in numbered_files(self.folder) if path not in current.values()]
        for which, path in current.items():
            before = unnumbered_file(self.folder, which)
            if path is not None and path != before:
                over.append(before)
        for path in over:
            with writing(path, OTHERWISE):
                path.unlink(missing_ok=True)


def lock_run(folder: Path) -> FileLock:
    """The right to write to a run."""
    busy = f"{folder} is being trained by another process; wait for it or choose another folder."
    return lock_folder(folder, busy, OTHERWISE, seconds=WAIT)


def load_best(folder: Path, build: Callable[[], M]) -> M:
    """The model of the best epoch, with its parameters and its state. It is built once without memory, to see
    whether it is the one that was kept: a wrong size could ask for any amount."""
    tensors = kept_tensors(folder, "best")
    with checking(folder, "best"):
        parameters, state = parts_of(tensors, ("model.", "state."))
        with torch.device("meta"):
            expected = like(build().state_dict())
        check_state(parameters, expected)
        model = build()
        model.load_state_dict(parameters)
        model.load_stream_state(state)
    return model


def load_parameters(folder: Path, model: Checkpointed) -> None:
    """Parameters of the best epoch alone; the state stays empty."""
    tensors = kept_tensors(folder, "best")
    with checking(folder, "best"):
        parameters, _ = parts_of(tensors, ("model.", "state."))
        check_state(parameters, like(model.state_dict()))
    model.load_state_dict(parameters)


def _require_free(folder: Path, file: RunFile, resume: bool) -> None:
    """Whether a run may be trained into a folder: where no epoch has finished, there is nothing to lose."""
    with writing(folder, OTHERWISE):
        described = (folder / DESCRIPTION).exists()
    if not read_history(folder):
        return
    if not described:
        raise damaged(folder, f"there are finished epochs, but no {DESCRIPTION}")
    if not resume:
        raise InputError(f"{folder} already holds a run; resume it, or choose another folder.")
    different = file.differences(read_run_file(folder))
    if different:
        raise InputError(
            f"{folder} holds another run (different {', '.join(different)}); choose another folder."
        )
