"""`keat train`: a model into a folder, with a bar, resumable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from keat.cli import whole_graph
from keat.cli.console import err, out, print_json, print_line
from keat.cli.node_options import (
    Labelled,
    LabelOptions,
    NodeLabelFile,
    Period,
    Positive,
    ProtocolOption,
    TaskOption,
    Undirected,
    Weight,
)
from keat.cli.options import (
    DatasetArgument,
    EvalSample,
    Json,
    open_dataset,
    reads_events,
)
from keat.cli.training_bar import TrainingBar
from keat.cli.training_options import (
    Counts,
    Device,
    Encoder,
    Threads,
    command_for,
    model_among,
    takes_settings,
)
from keat.disk import safe_name
from keat.errors import InputError
from keat.events import Reading, humanize

MODELS = "tgn, dygformer, tgat, graphmixer, each also as keat-…; keat-rank; gearsage, keat-gearsage."


@takes_settings
@reads_events()
def train_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=MODELS)],
    dataset: DatasetArgument,
    *,
    folder: Annotated[
        Path | None, typer.Option("--out", help="Where the run goes; by default runs/MODEL-DATASET-SEED.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run that is there.")] = False,
    settings: Mapping[str, object],
    fitting: Mapping[str, object],
    task: TaskOption = None,
    period: Period = None,
    weight: Weight = None,
    undirected: Undirected = False,
    protocol: ProtocolOption = "strict",
    node_labels: NodeLabelFile = None,
    positive: Positive = 1.0,
    labelled: Labelled = "src",
    encoder: Encoder = None,
    counts: Counts = True,
    eval_sample: EvalSample = None,
    threads: Threads = None,
    device: Device = "cpu",
    json: Json = False,
    reading: Reading,
) -> None:
    """Train a model, keep the best epoch by validation, and score the test split.

    What can be chosen depends on the model: keat train MODEL --help shows its own options with its defaults.
    """
    from keat.calibration.fitting import judge_of
    from keat.cli.reporting import train_report
    from keat.cli.running import heuristics_beside, intervals_of, task_of  # these bring torch: not for --help
    from keat.models.node_features import with_node_features
    from keat.models.registry import trains_in_turn
    from keat.runs.kept import kept_number
    from keat.runs.training import finish
    from keat.training.epochs import kept_calibration
    from keat.training.lessons import usual_refresh
    from keat.training.runs import (
        best_epoch,
        configuration,
        evaluate_run,
        set_threads,
        train_run,
    )
    from keat.training.tensorboard import tensorboard_watchers
    from keat.training.usual import usual_fit

    set_threads(threads)
    _require_device(device)
    if model in whole_graph.NAMES:
        whole_graph.train_whole_graph(
            model,
            dataset,
            folder,
            resume=resume,
            settings=settings,
            fitting=fitting,
            device=device,
            json=json,
        )
        return
    config = configuration(model, **settings)
    labels = LabelOptions(period, weight, undirected, protocol, node_labels, positive, labelled)
    task = labels.task(task, reading.label)
    data = labels.apply(open_dataset(dataset, labels.reading(reading)))
    if reading.node_features is not None:
        config = with_node_features(model, config, data.stream)
    seed = fitting.get("seed", usual_fit(model).seed)
    assert isinstance(seed, int)
    validation = task_of(data, "val", task, labels, eval_sample, seed)
    about_nodes = validation.kind in ("node-property", "node-label")
    if encoder is not None and not about_nodes:
        raise InputError("--encoder is for node tasks; give --task node-label or node-property.")
    fit: Any = usual_fit(model, validation.kind)
    fit = replace(fit, **fitting)
    folder = folder or Path("runs") / f"{model}-{safe_name(data.name)}-{seed}"
    kept_number(folder)  # before the work: what was seen is damaged, or can be replaced
    sigma = data.sigma()
    err.print(
        f"σ = {sigma:,.1f} {data.stream.unit} ({humanize(sigma, data.stream.unit)}), from the training split"
    )
    try:
        with TrainingBar(fit.epochs, validation.headline) as bar:
            watchers = [bar, *tensorboard_watchers(folder / "tensorboard")]
            reports = train_run(
                model,
                data,
                folder,
                config,
                fit,
                task=validation,
                resume=resume,
                device=device,
                watchers=watchers,
                encoder=encoder,
                labels=labels.kept(),
                counts=counts,
            )
    except KeyboardInterrupt:
        print_line(
            f"stopped; finished epochs are in {folder}. Continue with the same command and --resume.", err
        )
        raise typer.Exit(130) from None
    finish(folder, data, device)
    asked = task_of(data, "test", task, labels, eval_sample, seed)
    refresh = usual_refresh(asked.kind, data.train, trains_in_turn(config))
    judge = judge_of(asked, kept_calibration(folder))
    test = evaluate_run(folder, data, asked, "test", refresh=refresh, device=device, collector=judge)
    judged = None if judge is None else judge.judgement()
    result = best_epoch(folder) | {
        "test": test.metrics,
        "standard_errors": test.standard_errors,
        "refresh": refresh,
        "run": str(folder),
        "epochs_now": len(reports),
        "beside": heuristics_beside(data, asked, refresh),
        "calibration": None if judged is None else judged.told(),
    }
    intervals = intervals_of(asked, test)
    if intervals is not None:
        result["intervals"] = intervals
    result["report"] = str(train_report(folder, data, asked.kind, test.events, result, device, judged))
    if json:
        print_json({"model": model, "dataset": data.name, "seed": seed, "sigma": sigma, **result})
    else:
        _print_result(result, validation.headline, len(asked))


class TrainCommand(TyperCommand):
    """`keat train` with the options of the model that is named. They are made when the verb is called, since
    what they are made of brings torch, for which no other verb's help should wait."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        command = command_for(train_command, model_among(args))
        return command.make_context(info_name, args, parent, **extra)


def _print_result(result: dict[str, Any], headline: str, asked: int) -> None:
    """The kept epoch, its metrics, how sure they are, and the heuristics beside it."""
    print_line(f"best epoch {result['epoch']} by validation {headline}; kept in {result['run']}")
    for part in ("val", "test"):
        told = "  ".join(f"{name} {value:.4f}" for name, value in result[part].items())
        out.print(f"  {part:<4}  {told}")
    if result["standard_errors"] is not None:
        out.print(
            f"  a sample of {asked:,} positives; standard error of the test {headline} "
            f"{result['standard_errors'][headline]:.4f}"
        )
    for name, interval in result.get("intervals", {}).items():
        out.print(f"  95 % of the test {name}: {interval[0]:.4f} to {interval[1]:.4f} (bootstrap over nodes)")
    for name, found in ((result["calibration"] or {}).get("ece") or {}).items():
        out.print(
            f"  test calibration error of {name}: {found['value']:.4f}, uncalibrated {found['before']:.4f}"
        )
    for name, metrics in result["beside"].items():
        told = "  ".join(f"{metric} {value:.4f}" for metric, value in metrics.items())
        out.print(f"  test of {name}, beside it: {told}")
    print_line(f"The report: {result['report']}")


def _require_device(device: str) -> None:
    """Said before anything is written, not by torch in the middle of it."""
    import torch

    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:  # a torch without CUDA asserts
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(
            f"The device '{device}' cannot be used here ({reason}); try --device cpu."
        ) from error
