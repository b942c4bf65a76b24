"""`train`: a model on a log, and a `Run` that has seen all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from keat.datasets.loading import Dataset, load
from keat.disk import safe_name
from keat.errors import unknown_name
from keat.models.registry import ARCHITECTURES
from keat.runs.run import Run, open_kept, seen_by_training
from keat.tasks.making import TaskKind, make_task
from keat.training.fit import FitConfig, Watcher
from keat.training.runs import train_run
from keat.training.usual import usual_fit


def train(
    model: str,
    source: Any,
    *,
    out: str | Path | None = None,
    src: str | None = None,
    dst: str | None = None,
    time: str | None = None,
    features: str | Path | Sequence[str] | None = None,
    label: str | None = None,
    unit: str | None = None,
    bipartite: bool = False,
    task: TaskKind = "link-ranking",
    resume: bool = False,
    device: str = "cpu",
    watchers: Sequence[Watcher] = (),
    **options: Any,
) -> Run:
    """Train ``model`` on a file, a frame, a stream or a dataset by name, and return the run.

    How to read a file or frame is said as in `keat.load`. Any other option is one of how the model is trained
    (``epochs``, ``lr``, ``negatives`` …: `FitConfig`) or of the model itself (``kernel``, ``neighbors`` …).
    The run is kept in ``out``, by default ``runs/MODEL-DATASET-SEED``; it has then seen all of the source.
    """
    given = {"src": src, "dst": dst, "time": time, "features": features, "label": label, "unit": unit}
    reading: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if bipartite:
        reading["bipartite"] = True
    config, fitting = choices(model, options)
    data = source if isinstance(source, Dataset) else load(_plain(source), **reading)
    folder = Path("runs") / f"{model}-{safe_name(data.name)}-{fitting.seed}" if out is None else Path(out)
    train_run(
        model,
        data,
        folder,
        config,
        fitting,
        task=make_task(data, "val", kind=task),
        resume=resume,
        device=device,
        watchers=watchers,
        reading=_written(reading),
    )
    return finish(folder, data, device)


def finish(folder: Path, data: Dataset, device: str = "cpu") -> Run:
    """The run of a finished training, which has then seen all of the data, kept in its folder."""
    run = open_kept(folder, device)
    seen_by_training(run, data)
    run.save()
    return run


def choices(model: str, options: dict[str, Any]) -> tuple[Any, FitConfig]:
    """The configuration of a model and of its training, with what was given in place of the defaults."""
    if model not in ARCHITECTURES:
        raise unknown_name("trainable model", model, ARCHITECTURES)
    entry = ARCHITECTURES[model]
    of_model = {setting.name for setting in fields(entry.config)}
    of_training = {setting.name for setting in fields(FitConfig)}
    for name in options:
        if name not in of_model | of_training:
            raise unknown_name(f"option of {model} or of training", name, sorted(of_model | of_training))
    config = replace(entry.config, **{name: options[name] for name in options.keys() & of_model})
    fitting = replace(usual_fit(model), **{name: options[name] for name in options.keys() & of_training})
    return config, fitting


def _written(reading: dict[str, Any]) -> dict[str, Any]:
    """As JSON has it."""
    plain = {name: str(value) if isinstance(value, Path) else value for name, value in reading.items()}
    return {name: value if isinstance(value, str | bool) else list(value) for name, value in plain.items()}


def _plain(source: Any) -> Any:
    return str(source) if isinstance(source, Path) else source
