"""`train`: a model on a log, and a `Run` that has seen all of it."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from keat.datasets.dgraphfin import DGraphFin
from keat.datasets.labelled_graph import open_labelled_graph
from keat.datasets.loading import Dataset, load
from keat.disk import safe_name
from keat.errors import InputError
from keat.events import Reading
from keat.events.splitting import HELD_OUT
from keat.models.registry import GRAPH_ARCHITECTURES
from keat.models.settings import with_node_features
from keat.runs.parallel_training import train_in_parallel
from keat.runs.presets import Preset
from keat.runs.run import Run, has_seen_all, open_trained
from keat.runs.run_model import Data, train_run
from keat.runs.seen_files import read_version
from keat.runs.spec import Choice, Progress, RunSpec, SourceSpec, latest_of
from keat.tasks.label_source import LabelSource
from keat.tasks.task_factory import usual_task
from keat.tasks.task_spec import Kind, TaskSpec
from keat.training.bar import TrainingBar
from keat.training.fit import Watcher


def train(
    model: str,
    source: Any,
    *,
    out: str | Path | None = None,
    task: Kind | None = None,
    held_out: tuple[float, float] = HELD_OUT,
    latest: int | None = None,
    preset: Preset = "usual",
    encoder: str | Path | None = None,
    counts: bool = True,
    resume: bool = False,
    device: str = "cpu",
    workers: int = 1,
    watchers: Sequence[Watcher] | None = None,
    **options: Any,
) -> Run:
    """Train ``model`` on a file, a frame, a stream or a dataset by name, and return the run.

    An option says how to read a file or frame (``src``, ``dst``, ``time``, ``features`` …: `read_events`),
    where labels of a node task come from (``period``, ``node_labels`` …), how the model is trained
    (``epochs``, ``lr``, ``negatives`` …), or what it is (``kernel``, ``neighbors`` …). What is not said is
    the best we know for that model; ``preset="paper"`` is the setting of the paper, ``"tgb"`` that of TGB's
    examples.

    ``task`` is what it is trained for, by default what the data are made for; ``held_out`` are the shares of
    events that validation and test have, of the ``latest`` so many events where that is said. For node tasks,
    ``encoder`` may be the folder of a run whose model is used as it is, so that only a head is trained;
    ``counts`` shows plain counts and recencies to the head for labels of events. Several ``workers``
    (processes) share the questions of a model of links. The run is kept in ``out``, by default
    ``runs/MODEL-DATASET-SEED``; it has then seen all of the source.
    """
    named = None if encoder is None else str(encoder)
    others = {"held_out": held_out, "latest": latest, "preset": preset, "encoder": named, "counts": counts}
    choice = Choice.of(model, task, options, **others)
    spec, data = prepare(model, source, choice)
    if watchers is not None:
        return train_spec(spec, data, out, resume=resume, device=device, workers=workers, watchers=watchers)
    with TrainingBar(spec.fitting.epochs) as bar:
        return train_spec(spec, data, out, resume=resume, device=device, workers=workers, watchers=[bar])


def prepare(
    model: str, source: Any, choice: Choice, progress: Progress | None = None
) -> tuple[RunSpec, Data]:
    """The spec of a run, and its data opened and labelled: all that is decided before training."""
    reading, labels, task = choice.reading, choice.labels, choice.task
    spec = partial(RunSpec.of, model, settings=choice.settings, fitting=choice.fitting, preset=choice.preset)
    spec()  # or an error, before any reading
    spec = partial(spec, encoder=choice.encoder, counts=choice.counts)
    if model in GRAPH_ARCHITECTURES:
        if (reading, labels, task) != (Reading(), LabelSource(), TaskSpec()):
            raise InputError(
                f"{model} reads a whole graph with its labels, so there are no columns, labels or tasks to "
                "choose; leave them out."
            )
        graph = source if isinstance(source, DGraphFin) else open_labelled_graph(source)
        name = None if isinstance(source, DGraphFin) else str(source)
        return spec(task=TaskSpec(kind="graph-label"), source=SourceSpec(name)), graph
    data = _opened(source, labels.reading(reading), choice.held_out, progress)
    if choice.latest is not None:
        data = latest_of(data, choice.latest)
    data = labels.label(data, task.labelled)
    kind = task.kind or labels.task or ("node-label" if reading.label is not None else usual_task(data))
    source_of = replace(SourceSpec.of(data, labels), latest=choice.latest)
    made = spec(task=replace(task, kind=kind), source=source_of, data=data.name)
    if reading.node_features is not None:
        made = replace(made, config=with_node_features(model, made.config, data.stream))
    return made, data


def train_spec(
    spec: RunSpec,
    data: Data,
    out: str | Path | None = None,
    *,
    resume: bool = False,
    device: str = "cpu",
    workers: int = 1,
    watchers: Sequence[Watcher] = (),
) -> Run:
    """Train what a spec says; the run has then seen all of the data, and is kept in its folder."""
    folder = usual_folder(spec, data) if out is None else Path(out)
    read_version(folder)  # before the work: what was seen is damaged, or can be replaced
    play = train_run if workers == 1 else partial(train_in_parallel, workers=workers)
    trained = play(spec, data, folder, resume=resume, device=device, watchers=watchers)
    gc.collect()  # the model that was trained has seen as much as the one that is opened now
    run = open_trained(folder, trained.file, device)
    run.epochs_now = len(trained.reports)
    if isinstance(data, Dataset):
        has_seen_all(run, data)
        run.save()
    return run


def usual_folder(spec: RunSpec, data: Data) -> Path:
    """Where a run goes if nobody says."""
    name = data.name if isinstance(data, Dataset) else data.stream.name
    return Path("runs") / f"{spec.model}-{safe_name(name)}-{spec.fitting.seed}"


def _opened(
    source: Any, reading: Reading, held_out: tuple[float, float], progress: Progress | None
) -> Dataset:
    if not isinstance(source, Dataset):
        named = str(source) if isinstance(source, Path) else source
        return load(named, reading=reading, held_out=held_out, progress=progress)
    if reading != Reading() or held_out not in (HELD_OUT, source.held_out):
        raise InputError(f"{source.name} is read already, so its columns are settled; give only that.")
    return source
