"""Training a named model into a folder, and getting it back out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

import keat
from keat.datasets.loading import Dataset
from keat.disk import look_at
from keat.errors import InputError, KeatError, unknown_name
from keat.events import IdMap
from keat.events.fingerprint import fingerprint
from keat.events.units import clock_of
from keat.models.registry import ARCHITECTURES, assemble, build_model
from keat.tasks.link import LinkTask
from keat.tasks.making import make_task
from keat.tasks.script import TGB_BATCH
from keat.training.bfloat16 import require_bfloat16
from keat.training.checkpoint import RunFolder, load_best
from keat.training.description import (
    DESCRIPTION,
    config_of,
    read_description,
    read_ids,
    read_stream_description,
)
from keat.training.epochs import read_history
from keat.training.evaluate import Collector, Evaluation, Progress, continue_evaluation, evaluate
from keat.training.fit import EpochReport, FitConfig, Watcher, fit
from keat.training.lessons import Lessons, LinkLessons
from keat.training.node_runs import NodeTask, node_lessons, node_model, open_head


def configuration(name: str, **changes: Any) -> Any:
    """The configuration of a trainable model, with what was given in place of its defaults."""
    if name not in ARCHITECTURES:
        raise unknown_name("trainable model", name, ARCHITECTURES)
    config = ARCHITECTURES[name].config
    given = {key: value for key, value in changes.items() if value is not None}
    for key in given:
        if not hasattr(config, key):
            raise InputError(f"{name} has no setting '{key}'; leave it out.")
    return replace(config, **given)


def train_run(
    name: str,
    data: Dataset,
    folder: Path,
    config: Any,
    fitting: FitConfig,
    *,
    task: LinkTask | NodeTask | None = None,
    resume: bool = False,
    device: str = "cpu",
    watchers: Sequence[Watcher] = (),
    encoder: Path | None = None,
    labels: dict[str, Any] | None = None,
    counts: bool = True,
) -> list[EpochReport]:
    """Train ``name`` on the training split, choose the epoch by ``task``, keep all in ``folder``. The task
    is of the validation split; unless another is given, ranking.

    For node tasks, ``encoder`` may be a run whose model is used as it is, so that only a head is trained;
    ``labels`` says how the labels were made, and is kept with the run; ``counts`` shows plain counts and
    recencies to the head for labels of events."""
    if fitting.bf16:
        require_bfloat16(device)
    if task is None:
        task = make_task(data, "val", kind="link-ranking")
        assert isinstance(task, LinkTask)
    with _enough_memory():
        model: Any = build_model(data.train, config, fitting.seed)
    if isinstance(task, LinkTask):
        about: dict[str, Any] = {"task": {"kind": task.kind, "negatives": task.strategy, "asked": len(task)}}
    else:
        model, about = node_model(model, task, config, fitting.seed, encoder, counts)
        about["labels"] = labels
    model = model.to(device)
    limits = {key: getattr(fitting, key) for key in ("epochs", "patience")}
    description = {
        "keat": keat.__version__,
        "model": name,
        "config": asdict(config),
        "fit": {key: value for key, value in asdict(fitting).items() if key not in limits},
        "limits": limits,
        **about,
        "reading": {} if data.reading is None else data.reading.to_json(),
        "sigma": model.sigma,
        "unit": data.stream.unit,
        "num_nodes": data.stream.num_nodes,
        "feature_dim": data.stream.feature_dim,
        "data": {"name": data.name, "events": len(data.stream), "fingerprint": fingerprint(data.stream)},
    }
    defaults = {"config": asdict(type(config)()), "fit": asdict(FitConfig())}
    lessons: Lessons
    if isinstance(task, LinkTask):
        lessons = LinkLessons(
            data,
            fitting.batch_size,
            in_turn=model.trains_in_turn,
            recipe=fitting.recipe,
            loss=fitting.loss,
            negatives=fitting.negatives,
            historical=fitting.historical,
        )
    else:
        lessons = node_lessons(task, data, fitting.batch_size)
    kept_in = RunFolder(folder, description, data.stream.ids, resume=resume, defaults=defaults)
    with _enough_memory(), kept_in as run:
        return fit(model, lessons, task, fitting, run, watchers)


def open_run(folder: Path, device: str = "cpu") -> tuple[Any, dict[str, Any], IdMap]:
    """The best model of a run with the state it had after validation, what the run was, and its ids. It is a
    `LearnedLinkModel`, or a `NodeHead` where the run's description has a ``head``."""
    description = read_description(folder)
    if description["model"] not in ARCHITECTURES:
        raise unknown_name("model of the run", description["model"], ARCHITECTURES)
    description = read_stream_description(folder)
    config = config_of(folder, type(ARCHITECTURES[description["model"]].config), description["config"])
    ids = read_ids(folder, description["num_nodes"])
    clock = clock_of(description["unit"], config.clock)

    def build() -> Any:
        model = assemble(
            config, description["num_nodes"], description["feature_dim"], description["sigma"], clock
        ).eval()
        return open_head(model, description["head"]) if "head" in description else model

    with _enough_memory():
        return load_best(folder, build).to(device), description, ids


def evaluate_run(
    folder: Path,
    data: Dataset,
    task: LinkTask | NodeTask,
    split: str,
    *,
    refresh: int = TGB_BATCH,
    device: str = "cpu",
    progress: Progress | None = None,
    collector: Collector | None = None,
) -> Evaluation:
    """A run on a split. The test split of the data it was trained on continues from the state kept after
    validation; anything else is replayed from the first event."""
    model, description, _ = open_run(folder, device)
    if description["feature_dim"] != data.stream.feature_dim:
        raise InputError(
            f"{folder} was trained on {description['feature_dim']} features an event; "
            f"{data.name} has {data.stream.feature_dim}."
        )
    if split == "test" and description["data"]["fingerprint"] == fingerprint(data.stream):
        return continue_evaluation(model, task, refresh=refresh, progress=progress, collector=collector)
    return evaluate(model, task, refresh=refresh, progress=progress, collector=collector)


def best_epoch(folder: Path) -> dict[str, Any]:
    """Number, loss and validation metrics of the best epoch of a run."""
    best = [report for report in read_history(folder) if report["best"]]
    if not best:
        raise InputError(f"{folder}: no epoch of this run has been validated yet; go on with --resume.")
    return {key: best[-1][key] for key in ("epoch", "loss", "val")}


def is_run(name: str) -> bool:
    """Whether a command's MODEL argument is the folder of a run."""
    return look_at(Path(name) / DESCRIPTION) is not None


@contextmanager
def _enough_memory() -> Iterator[None]:
    """Torch and numpy each have their own way to say that there is not."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):
            raise
        raise KeatError(
            "There is not enough memory for a model of this size; choose smaller settings or a smaller "
            "batch_size."
        ) from error


def set_threads(threads: int | None) -> None:
    if threads is not None:
        torch.set_num_threads(threads)
