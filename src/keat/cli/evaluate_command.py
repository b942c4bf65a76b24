"""`keat evaluate`: heuristics and trained runs on a split, by the benchmark's protocol."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keat.cli.console import print_json, print_line, print_table, progress_bar
from keat.cli.options import (
    DatasetArgument,
    EvalSample,
    Json,
    TaskOption,
    asks_of_nodes,
    at_least,
    held_out_split,
    reads_events,
    takes,
)
from keat.errors import InputError
from keat.events import Reading
from keat.tasks.label_source import LabelSource
from keat.tasks.task_spec import TaskSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from keat.cli.models_by_name import Askers
    from keat.report.sections.results import Result
    from keat.runs.run_evaluation import SomeTask
    from keat.runs.run_model import Data

# A test keeps these complete; asking the registry would bring torch, too slow for --help.
LINKS = (
    "edgebank, edgebank-tw, poptrack, global-recency, local-global, local-recency-popularity, "
    "windowed-popularity, base3"
)
NODES = "persistent-forecast, moving-average"
LABELS = "counts"


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """How a model is evaluated, apart from what only node tasks have."""

    split: Annotated[str, typer.Option(callback=held_out_split, help="Which part to score: val or test.")] = (
        "test"
    )
    refresh: Annotated[
        int,
        typer.Option(
            callback=at_least(1),
            help="Events scored before any of them is observed: 200 is TGB's protocol; at 1 every earlier "
            "time has been observed.",
        ),
    ] = 200
    task: TaskOption = None
    negatives: Annotated[
        str | None,
        typer.Option(
            help="Against whom. Ranking: all, hist-rnd, random, official. Classification: random, "
            "historical, inductive.",
            show_default="the dataset's own; for your file all, or hist-rnd beyond 12,000 destinations",
        ),
    ] = None
    num_negatives: Annotated[
        int | None,
        typer.Option(
            callback=at_least(1),
            help="How many to sample for each positive.",
            show_default="the dataset's, or 100",
        ),
    ] = None
    seed: Annotated[int, typer.Option(callback=at_least(0), help="Of the sampling.")] = 42
    eval_sample: EvalSample = None
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Open the official negatives, which TGB ships as a pickle.")
    ] = False
    workers: Annotated[
        int | None,
        typer.Option(
            callback=at_least(1, 1024),
            help="Processes, of one thread each, that share the questions of a run of links; the result is "
            "the same to the bit.",
            show_default="1; with ray as many as there are cores",
        ),
    ] = None
    engine: Annotated[
        str, typer.Option(help="Of the workers: local, or ray, here or on a cluster (keat\\[ray]).")
    ] = "local"

    @property
    def has_workers(self) -> bool:
        """Whether questions are shared by several processes."""
        return self.engine != "local" or (self.workers or 1) > 1

    def added_to(self, asked: TaskSpec) -> TaskSpec:
        return replace(
            asked,
            kind=self.task,  # type: ignore[arg-type]
            negatives=self.negatives,  # type: ignore[arg-type]
            number=self.num_negatives,
            seed=self.seed,
            sample=self.eval_sample,
            sample_seed=self.seed,
        )


@reads_events()
@asks_of_nodes
@takes(EvaluationOptions, "how")
def evaluate_command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help=f"The folder of a run (keat train); 'heuristics' for all side by side; or one of {LINKS}; "
            f"for node properties {NODES}; for labels of events {LABELS}.",
        ),
    ],
    dataset: DatasetArgument,
    *,
    how: EvaluationOptions,
    labels: LabelSource,
    asked: TaskSpec,
    scores: Annotated[
        Path | None,
        typer.Option(
            help="Also write every event of the split with its score or rank, the most telling first, to "
            "this CSV or Parquet file."
        ),
    ] = None,
    json: Json = False,
    reading: Reading,
) -> None:
    """Score a split of a dataset and print the metrics.

    Everything before the split is observed first; then events are scored and observed in turn.
    """
    from keat.cli import models_by_name as models  # brings torch: not for --help
    from keat.runs.answer import require_table_file
    from keat.runs.queue import require_scores, scored_events
    from keat.runs.run_evaluation import heuristics_for

    models.require_known(model)  # before a download, not after it
    if scores is not None:
        require_table_file(scores)
        if model == models.HEURISTICS:
            raise typer.BadParameter("Scores are those of one model; name it.", param_hint="--scores")
    data, task, askers = _opened(model, dataset, how, reading, labels, asked)
    if scores is not None:
        require_scores(task)  # before the work, not after it
    names = heuristics_for(task) if model == models.HEURISTICS else [model]
    found = [
        models.evaluate_by_name(name, data, task, how.split, how.refresh, how.seed, askers) for name in names
    ]
    if scores is not None:
        scored_events(task, data, found[0][1]).write(scores)
    results = [result for result, _ in found]
    if json:
        plain = [result.to_json() for result in results]
        print_json({"dataset": data.name, "results": plain} if model == models.HEURISTICS else plain[0])
        return
    show_results(results)
    if scores is not None:
        print_line(f"The scores: {scores}")


def _opened(
    model: str, dataset: str, how: EvaluationOptions, reading: Reading, labels: LabelSource, asked: TaskSpec
) -> tuple[Data, SomeTask, Askers | None]:
    """The data, what is asked of a split, and by whom, where workers share it."""
    from keat.cli import models_by_name as models
    from keat.experiments.sliced_evaluation import sliced

    file = models.run_file(model)
    of_graph = file is not None and file.spec.is_of_graph
    if how.has_workers and (file is None or of_graph):
        raise InputError("Only runs of links are shared by workers; leave --workers and --engine out.")
    if of_graph:
        return *models.graph_and_task(dataset, how.split), None
    source, spec = models.source_and_task(file, dataset, reading, labels, how.added_to(asked))
    with progress_bar(f"getting {dataset}", unit="bytes") as progress:
        data = source.open(spec, progress)
    task = spec.make(data, how.split, trust_pickle=how.trust_pickle)  # type: ignore[arg-type]
    if not how.has_workers:
        return data, task, None
    whole = sliced(Path(model), source, spec, how.split, how.refresh, trust_pickle=how.trust_pickle)
    return data, task, models.Askers.of(whole, task, how.engine, how.workers)


def show_results(results: Sequence[Result]) -> None:
    """Results of one task as a table, best first."""
    from keat.report.sections.results import results_table

    table = results_table(results)
    print_table(table.title, table.columns, table.rows, table.caption)
