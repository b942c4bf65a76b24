"""`train`: a model on a log, and a `Run` that has seen all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from keat.datasets.loading import Dataset, load
from keat.disk import safe_name
from keat.errors import InputError, unknown_name
from keat.events import Reading
from keat.models.registry import ARCHITECTURES
from keat.runs.kept import kept_number
from keat.runs.run import Run, open_trained, seen_by_training
from keat.tasks.making import TaskKind, make_task
from keat.training.fit import FitConfig, Watcher
from keat.training.runs import train_run
from keat.training.usual import usual_fit


def train(
    model: str,
    source: Any,
    *,
    out: str | Path | None = None,
    task: TaskKind = "link-ranking",
    resume: bool = False,
    device: str = "cpu",
    watchers: Sequence[Watcher] = (),
    **options: Any,
) -> Run:
    """Train ``model`` on a file, a frame, a stream or a dataset by name, and return the run.

    An option says how to read a file or frame (``src``, ``dst``, ``time``, ``features`` …: `read_events`),
    how the model is trained (``epochs``, ``lr``, ``negatives`` …: `FitConfig`), or what it is (``kernel``,
    ``neighbors`` …). The run is kept in ``out``, by default ``runs/MODEL-DATASET-SEED``; it has then seen all
    of the source.
    """
    reading, config, fitting = choices(model, options)
    if not isinstance(source, Dataset):
        data = load(str(source) if isinstance(source, Path) else source, reading=reading)
    elif reading == Reading():
        data = source
    else:
        raise InputError(f"{source.name} is read already, so its columns are settled; give only that.")
    folder = Path("runs") / f"{model}-{safe_name(data.name)}-{fitting.seed}" if out is None else Path(out)
    validation = make_task(data, "val", kind=task)
    kept_number(folder)  # before the work: what was seen is damaged, or can be replaced
    train_run(
        model,
        data,
        folder,
        config,
        fitting,
        task=validation,
        resume=resume,
        device=device,
        watchers=watchers,
    )
    return finish(folder, data, device)


def finish(folder: Path, data: Dataset, device: str = "cpu") -> Run:
    """The run of a finished training, which has then seen all of the data, kept in its folder."""
    run = open_trained(folder, device)
    seen_by_training(run, data)
    run.save()
    return run


def choices(model: str, options: dict[str, Any]) -> tuple[Reading, Any, FitConfig]:
    """How to read, what the model is and how it is trained, with what was given in place of the defaults."""
    if model not in ARCHITECTURES:
        raise unknown_name("trainable model", model, ARCHITECTURES)
    config, fitting = ARCHITECTURES[model].config, usual_fit(model)
    known = [{setting.name for setting in fields(kind)} for kind in (Reading, config, fitting)]
    for name in options:
        if not any(name in names for names in known):
            raise unknown_name(f"option of {model}", name, sorted(set().union(*known)))
    of_reading, of_model, of_training = (
        {name: value for name, value in options.items() if name in names} for names in known
    )
    return Reading.of(**of_reading), replace(config, **of_model), replace(fitting, **of_training)
