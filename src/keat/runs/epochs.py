"""The finished epochs of a run, and the files that belong to them.

``metrics.jsonl`` has a line for each finished epoch, and is the one place that says which there are. The
parameters and the optimizer after epoch 3 are in ``last-00003.safetensors``; if epoch 2 is the best so far,
its parameters and its state are in ``best-00002.safetensors``. Runs of earlier versions have
``last.safetensors`` and ``best.safetensors`` instead.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from keat.calibration.calibrations import read_calibration
from keat.disk import look_at, new_file, reading
from keat.errors import InputError
from keat.training.fit import EpochReport

Kept = Literal["last", "best"]
METRICS = "metrics.jsonl"
_NUMBERED = re.compile(r"(?:last|best)-(\d{5,})\.safetensors")
OTHERWISE = "choose another folder; training can be resumed from the epochs that have finished"
_NUMBERS = ("loss", "train_seconds", "val_seconds")
_LATER = "processor_seconds"  # which earlier versions did not write


def damaged(folder: Path, what: str) -> InputError:
    """Something in the folder of a run is not what keat writes."""
    return InputError(f"{folder}: the run is damaged: {what}; train it again.")


@contextmanager
def checking(folder: Path, which: Kept) -> Iterator[None]:
    """Tensors that are not as they should be are damage to a run."""
    try:
        yield
    except InputError as error:
        raise damaged(folder, f"of the {which} epoch, {str(error).rstrip('.')}") from error


def read_history(folder: Path) -> list[EpochReport]:
    """Reports of the finished epochs, in their order; none where no epoch has finished."""
    path = folder / METRICS
    try:
        with reading(path):
            lines = path.read_text(encoding="utf-8").splitlines() if look_at(path) is not None else []
    except FileNotFoundError:  # it has just gone
        lines = []
    except UnicodeDecodeError as error:
        raise damaged(folder, f"{METRICS} is no text ({error})") from error
    history = [_report(folder, number, line) for number, line in enumerate(lines, start=1)]
    if not history and any(number > 1 for number in numbered_files(folder).values()):
        raise damaged(folder, f"there are files of finished epochs, but {METRICS} has none")
    return history


def _report(folder: Path, number: int, line: str) -> EpochReport:
    """A line of metrics, once it is known to be one."""
    try:
        report = json.loads(line)
    except (ValueError, RecursionError):
        raise damaged(folder, f"line {number} of {METRICS} is not JSON") from None
    if not isinstance(report, dict):
        raise damaged(folder, f"line {number} of {METRICS} is no report of an epoch")
    val = report.get("val")
    right = {
        "epoch": report.get("epoch") == number,
        "val": isinstance(val, dict) and all(_is_number(value) for value in val.values()),
        "best": isinstance(report.get("best"), bool) and (not report["best"] or bool(val)),
        **{name: _is_number(report.get(name)) and not math.isnan(report[name]) for name in _NUMBERS},
        _LATER: report.get(_LATER) is None or (_is_number(report[_LATER]) and report[_LATER] >= 0),
    }
    calibration = None
    try:
        calibration = read_calibration(report.get("calibration"))
    except InputError:
        right["calibration"] = False
    wrong = [name for name, is_right in right.items() if not is_right]
    if wrong:
        raise damaged(folder, f"line {number} of {METRICS} has no sound '{wrong[0]}'")
    entries = {name: report[name] for name in ("epoch", "val", "best", *_NUMBERS)}
    return EpochReport(**entries, calibration=calibration, processor_seconds=report.get(_LATER))


def _is_number(value: object) -> bool:
    """NaN, which a metric may be, but nothing that is too large for a float."""
    return type(value) in (int, float) and not abs(value) > sys.float_info.max  # type: ignore[arg-type]


def standing(folder: Path, history: Sequence[EpochReport], headline: str) -> tuple[float, int]:
    """The best validation value so far, and how many epochs ago it was."""
    best = [report.val for report in history if report.best]
    if any(headline not in val for val in best):
        raise damaged(folder, f"{METRICS} has a best epoch without its {headline}")
    since = next((i for i, report in enumerate(reversed(history)) if report.best), len(history))
    return max((val[headline] for val in best), default=-math.inf), since


def best_epoch(folder: Path) -> EpochReport:
    """The epoch that was kept, with its validation metrics and what makes shares or probabilities of its
    scores."""
    best = [report for report in read_history(folder) if report.best]
    if not best:
        raise InputError(f"{folder}: no epoch of this run has been validated yet; go on with its training.")
    return best[-1]


# -- files -------------------------------------------------------------------------------------------


def numbered_file(folder: Path, which: Kept, epoch: int) -> Path:
    return folder / f"{which}-{epoch:05}.safetensors"


def numbered_files(folder: Path) -> dict[Path, int]:
    """The files of epochs there are, finished or not, each with its epoch."""
    if not folder.is_dir():
        return {}
    found = ((path, _NUMBERED.fullmatch(path.name)) for path in folder.iterdir())
    return {path: int(match[1]) for path, match in found if match}


def unnumbered_file(folder: Path, which: Kept) -> Path:
    """The file of an epoch as earlier versions called it."""
    return folder / f"{which}.safetensors"


def kept_file(folder: Path, which: Kept, history: Sequence[EpochReport]) -> Path | None:
    """The file of the last or the best of these epochs; none where there is no such epoch."""
    epochs = [report.epoch for report in history if which == "last" or report.best]
    if not epochs:
        return None
    path, before = numbered_file(folder, which, epochs[-1]), unnumbered_file(folder, which)
    return before if before.exists() and not path.exists() else path


def kept_tensors(folder: Path, which: Kept) -> dict[str, Tensor]:
    """What a run keeps of its last or its best epoch. It may be being trained: where the epoch it held has
    been replaced in the meantime, the new one is read."""
    missing: Path | None = None
    while True:
        history = read_history(folder)
        path = kept_file(folder, which, history)
        if path is None:
            done = "been validated" if history else "finished"
            raise InputError(f"{folder}: no epoch of this run has {done} yet; go on with its training.")
        try:
            return load_tensors(path)
        except FileNotFoundError:
            if path == missing:
                raise damaged(folder, f"{path.name} is missing") from None
            missing = path


def load_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file. That it is not there is for the caller to say."""
    with _opening(path):
        return load_file(path)


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    whole = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    with new_file(path, OTHERWISE) as part:
        try:
            save_file(whole, part)
        except SafetensorError as error:  # which has the system's number of an error in its text alone
            found = re.search(r"os error (\d+)", str(error))
            number = int(found[1]) if found else errno.EIO
            raise OSError(number, os.strerror(number)) from error


def require_tensors(path: Path) -> None:
    """There is a file of tensors, as far as its header and its length show."""
    try:
        with _opening(path), safe_open(path, "pt"):
            return
    except FileNotFoundError:
        raise damaged(path.parent, f"{path.name} is missing") from None


@contextmanager
def _opening(path: Path) -> Iterator[None]:
    """What is wrong with a file of tensors, said as damage to its run."""
    look_at(path)  # a pipe would be waited for
    with reading(path):
        path.open("rb").close()  # safetensors takes a file it may not read for one that is not there
    try:
        yield
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        reason = str(error).rstrip(".")
        raise damaged(path.parent, f"{path.name} is damaged or not a safetensors file ({reason})") from error
