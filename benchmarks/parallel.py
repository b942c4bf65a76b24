"""Evaluation and training by one worker and by two: seconds of the wall, and whether the bits are the same.

    python -m benchmarks.parallel --quick
    python -m benchmarks.parallel --data payments:200000 --engine ray

Every worker has one thread. Times of evaluation include the start of workers and the reading of the data;
those of training are of the epochs alone. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.benchmark_command import benchmark_parser, say
from keat.datasets.loading import Dataset
from keat.experiments.engines import Engine
from keat.experiments.sliced_evaluation import evaluate_in_slices, sliced
from keat.runs.epochs import read_history
from keat.runs.parallel_training import train_in_parallel
from keat.runs.run_evaluation import evaluate_run, usual_refresh_of
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec, SourceSpec
from keat.tasks.link import LinkTask
from keat.tasks.task_spec import TaskSpec

EVALUATED = ("keat-rank", "keat-tgn")
TRAINED = ("keat-rank", "graphmixer")
TASK = TaskSpec(kind="link-ranking")


def evaluation(model: str, source: SourceSpec, data: Dataset, engine: Engine, folder: Path) -> dict[str, Any]:
    """A run of one epoch, asked in a row and by workers."""
    spec = _spec(model, source, 1)
    run = folder / f"evaluated-{model}"
    train_run(spec, data, run)
    task, refresh = TASK.make(data, "test"), usual_refresh_of(spec, data)
    assert isinstance(task, LinkTask)
    started = time.perf_counter()
    whole = evaluate_run(run, data, task, "test", refresh=refresh)
    seconds = {"in a row": time.perf_counter() - started}
    equal = True
    for workers in (1, 2):
        started = time.perf_counter()
        asked = sliced(run, source, TASK, "test", refresh)
        found = evaluate_in_slices(asked, data, task, workers=workers, engine=engine)
        seconds[f"{workers} workers"] = time.perf_counter() - started
        equal = equal and torch.equal(found.outcomes, whole.outcomes) and found.metrics == whole.metrics
    mrr = whole.metrics["mrr"]
    return {"model": model, "does": "evaluation", "seconds": seconds, "equal": equal, "mrr": mrr}


def training(model: str, source: SourceSpec, data: Dataset, epochs: int, folder: Path) -> dict[str, Any]:
    """The same epochs by one worker and by two; the best validation beside."""
    seconds, mrr = {}, {}
    for workers in (1, 2):
        run = folder / f"trained-{model}-{workers}"
        spec = _spec(model, source, epochs)
        if workers == 1:
            train_run(spec, data, run)
        else:
            train_in_parallel(spec, data, run, workers=workers)
        history = read_history(run)
        name = f"{workers} workers"
        seconds[name] = sum(report.train_seconds + report.val_seconds for report in history)
        mrr[name] = max(report.val.get("mrr", 0.0) for report in history)
    return {"model": model, "does": "training", "seconds": seconds, "mrr": mrr}


def _spec(model: str, source: SourceSpec, epochs: int) -> RunSpec:
    return RunSpec.of(model, fitting={"epochs": epochs, "patience": epochs}, task=TASK, source=source)


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--data", default="payments:50000", help="a name or a file")
    parser.add_argument("--epochs", type=int, default=3, help="of training")
    parser.add_argument("--engine", choices=("local", "ray"), default="local", help="of evaluation")
    parser.add_argument("--quick", action="store_true", help="few events and one epoch: does it run?")
    given = parser.parse_args()
    torch.set_num_threads(1)
    source = SourceSpec("payments:2000" if given.quick else given.data)
    epochs = 1 if given.quick else given.epochs
    data = source.open(TASK)
    source = replace(source, name=data.origin)
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        work: list[tuple[Any, str, Any]] = [(evaluation, model, given.engine) for model in EVALUATED]
        work += [(training, model, epochs) for model in TRAINED]
        for measure, model, how in work:
            found.append(measure(model, source, data, how, Path(scratch)))
            times = found[-1]["seconds"]
            ratio = times["1 workers"] / times["2 workers"]
            beside = {name: found[-1][name] for name in ("equal", "mrr") if name in found[-1]}
            told = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in times.items())
            say(f"{model} {found[-1]['does']}: {told}; two workers {ratio:.2f}x; {beside}")
    if given.json:
        print(json.dumps({"data": source.name, "results": found}))


if __name__ == "__main__":
    main()
