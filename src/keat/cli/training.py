"""`keat train`: a model into a folder, with a bar, resumable."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from keat.cli import whole_graph
from keat.cli.console import err, out, print_json
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
    Bipartite,
    DatasetArgument,
    Dst,
    EvalSample,
    Features,
    Json,
    Label,
    Src,
    Time,
    Unit,
    at_least,
    open_dataset,
)
from keat.errors import InputError
from keat.events import humanize

if TYPE_CHECKING:
    from keat.training.fit import EpochReport

MODELS = "tgn, dygformer, tgat, graphmixer, each also as keat-…; keat-rank; gearsage, keat-gearsage."
_MODEL = "The model"
_FIT = "Training"


def train_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=MODELS)],
    dataset: DatasetArgument,
    folder: Annotated[
        Path | None, typer.Option("--out", help="Where the run goes; by default runs/MODEL-DATASET-SEED.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run that is there.")] = False,
    kernel: Annotated[
        str | None,
        typer.Option(
            help="ψ: identity, laplacian, rbf, mlp, learnable, mixture, monotone, gated.",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(help="Of the kernel, in multiples of σ; inf for none.", rich_help_panel=_MODEL),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(
            help="Age of an event: 'neighbor' (released code) or 'query' (paper).", rich_help_panel=_MODEL
        ),
    ] = None,
    time_encoder: Annotated[
        str | None,
        typer.Option(
            help="φ: cosine, cosine-geometric, fixed, lete, lete-fourier, lete-spline.",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    modulate: Annotated[
        str | None, typer.Option(help="What ψ scales: edge, node, both or none.", rich_help_panel=_MODEL)
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any other setting of the model, for example neighbors=20 or length=64; repeat for more.",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    messages: Annotated[
        str | None,
        typer.Option(
            help="What TGN's memory is told: v1, or v2 with who met whom; matters for node properties.",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    pair_term: Annotated[
        str | None,
        typer.Option(
            help="kernel: add what source and destination have been to each other to the score of TGN or "
            "TGAT; none: do not.",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    cooccurrence: Annotated[
        str | None,
        typer.Option(
            help="What DyGFormer is told of who occurs in both pasts: counts, kernel (sums that fade with "
            "age) or both.",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    task: TaskOption = None,
    period: Period = None,
    weight: Weight = None,
    undirected: Undirected = False,
    protocol: ProtocolOption = "strict",
    node_labels: NodeLabelFile = None,
    positive: Positive = 1.0,
    labelled: Labelled = "src",
    encoder: Annotated[
        Path | None,
        typer.Option(
            help="A run of links whose model is used as it is; only a head is trained for the node task.",
            rich_help_panel="Node tasks",
        ),
    ] = None,
    counts: Annotated[
        bool,
        typer.Option(
            help="Whether labels of events are read from plain counts and recencies, too.",
            rich_help_panel="Node tasks",
        ),
    ] = True,
    eval_sample: EvalSample = None,
    loss: Annotated[
        str,
        typer.Option(
            help="pairwise (binary cross-entropy) or listwise (softmax over a positive and its negatives).",
            rich_help_panel=_FIT,
        ),
    ] = "pairwise",
    train_negatives: Annotated[
        int,
        typer.Option(callback=at_least(1), help="A positive is taught against.", rich_help_panel=_FIT),
    ] = 1,
    historical: Annotated[
        float,
        typer.Option(help="Share of them that are earlier destinations of the source.", rich_help_panel=_FIT),
    ] = 0.0,
    recipe: Annotated[
        str, typer.Option(help="sound, or tgb-parity with its second sigmoid.", rich_help_panel=_FIT)
    ] = "sound",
    epochs: Annotated[
        int | None,
        typer.Option(
            callback=at_least(1), help="At most.", show_default="30; gearsage 500", rich_help_panel=_FIT
        ),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            callback=at_least(1),
            help="Epochs without a better validation metric before stopping.",
            show_default="5; gearsage 500",
            rich_help_panel=_FIT,
        ),
    ] = None,
    batch_size: Annotated[
        int, typer.Option(callback=at_least(1), help="Events between two updates.", rich_help_panel=_FIT)
    ] = 200,
    lr: Annotated[
        float | None,
        typer.Option(
            help="Learning rate of Adam.", show_default="1e-4; 1e-3 for node tasks", rich_help_panel=_FIT
        ),
    ] = None,
    clip: Annotated[
        float | None, typer.Option(help="Largest norm of the gradient.", rich_help_panel=_FIT)
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            callback=at_least(0), help="Of parameters, dropout and negatives.", rich_help_panel=_FIT
        ),
    ] = 1,
    threads: Annotated[
        int | None, typer.Option(callback=at_least(1), help="CPU threads.", rich_help_panel=_FIT)
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1 …", rich_help_panel=_FIT)] = "cpu",
    bf16: Annotated[
        bool, typer.Option("--bf16", help="Train in bfloat16; scores stay float32.", rich_help_panel=_FIT)
    ] = False,
    json: Json = False,
    src: Src = None,
    dst: Dst = None,
    time: Time = None,
    features: Features = None,
    label: Label = None,
    unit: Unit = None,
    bipartite: Bipartite = False,
) -> None:
    """Train a model, keep the best epoch by validation, and score the test split."""
    from keat.cli.reporting import train_report
    from keat.cli.running import heuristics_beside, intervals_of, task_of  # these bring torch: not for --help
    from keat.models.registry import trains_in_turn
    from keat.tasks.script import TGB_BATCH
    from keat.training.fit import FitConfig
    from keat.training.runs import (
        best_epoch,
        configuration,
        evaluate_run,
        set_threads,
        settings_of,
        train_run,
    )
    from keat.training.tensorboard import tensorboard_watchers

    set_threads(threads)
    _require_device(device)
    if model in whole_graph.NAMES:
        chosen = {"kernel": kernel, "width": width, "delta": delta}
        fit_chosen = {"epochs": epochs, "patience": patience, "lr": lr, "clip": clip, "seed": seed}
        with TrainingBar(epochs or 500, "auc") as bar:
            whole_graph.train_whole_graph(
                model,
                dataset,
                folder,
                resume=resume,
                settings=_given(chosen),
                fitting=_given(fit_chosen),
                device=device,
                watcher=bar,
                json=json,
            )
        return
    epochs, patience = epochs or 30, patience or 5
    config = configuration(
        model,
        kernel=kernel,
        width=width,
        delta=delta,
        time_encoder=time_encoder,
        modulate=modulate,
        messages=messages,
        pair_term=pair_term,
        cooccurrence=cooccurrence,
        **settings_of(model, settings or []),
    )
    labels = LabelOptions(period, weight, undirected, protocol, node_labels, positive, labelled)
    features, task = labels.features(features), labels.task(task, label)
    data = labels.apply(open_dataset(dataset, src, dst, time, features, label, unit, bipartite), features)
    validation = task_of(data, "val", task, labels, eval_sample, seed)
    about_nodes = validation.kind in ("node-property", "node-label")
    if encoder is not None and not about_nodes:
        raise InputError("--encoder is for node tasks; give --task node-label or node-property.")
    fitting = FitConfig(
        epochs=epochs,
        patience=patience,
        batch_size=batch_size,
        lr=lr if lr is not None else 1e-3 if about_nodes else 1e-4,
        clip=clip,
        recipe=recipe,  # type: ignore[arg-type]
        loss=loss,  # type: ignore[arg-type]
        negatives=train_negatives,
        historical=historical,
        bf16=bf16,
        seed=seed,
    )
    folder = folder or Path("runs") / f"{model}-{data.name}-{seed}"
    sigma = data.sigma()
    err.print(
        f"σ = {sigma:,.1f} {data.stream.unit} ({humanize(sigma, data.stream.unit)}), from the training split"
    )
    try:
        with TrainingBar(epochs, validation.headline) as bar:
            watchers = [bar, *tensorboard_watchers(folder / "tensorboard")]
            reports = train_run(
                model,
                data,
                folder,
                config,
                fitting,
                task=validation,
                resume=resume,
                device=device,
                watchers=watchers,
                encoder=encoder,
                labels=labels.kept(),
                counts=counts,
            )
    except KeyboardInterrupt:
        err.print(f"stopped; finished epochs are in {folder}. Continue with the same command and --resume.")
        raise typer.Exit(130) from None
    asked = task_of(data, "test", task, labels, eval_sample, seed)
    refresh = 1 if trains_in_turn(config) and not about_nodes else TGB_BATCH
    test = evaluate_run(folder, data, asked, "test", refresh=refresh, device=device)
    result = best_epoch(folder) | {
        "test": test.metrics,
        "standard_errors": test.standard_errors,
        "refresh": refresh,
        "run": str(folder),
        "epochs_now": len(reports),
        "beside": heuristics_beside(data, asked, refresh),
    }
    if about_nodes:
        result["intervals"] = intervals_of(asked, test)
    result["report"] = str(train_report(folder, data, asked.kind, test.events, result, device))
    if json:
        print_json({"model": model, "dataset": data.name, "seed": seed, "sigma": sigma, **result})
    else:
        val = result["val"]
        out.print(f"best epoch {result['epoch']} by validation {validation.headline}; kept in {folder}")
        for part, metrics in (("val", val), ("test", test.metrics)):
            out.print(f"  {part:<4}  " + "  ".join(f"{name} {value:.4f}" for name, value in metrics.items()))
        if test.standard_errors is not None:
            out.print(
                f"  a sample of {len(asked):,} positives; standard error of the test {asked.headline} "
                f"{test.standard_errors[asked.headline]:.4f}"
            )
        for name, interval in (result.get("intervals") or {}).items():
            out.print(
                f"  95 % of the test {name}: {interval[0]:.4f} to {interval[1]:.4f} (bootstrap over nodes)"
            )
        for name, metrics in result["beside"].items():
            told = "  ".join(f"{metric} {value:.4f}" for metric, value in metrics.items())
            out.print(f"  test of {name}, beside it: {told}")
        out.print(f"The report: {result['report']}", soft_wrap=True, markup=False)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


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


class TrainingBar:
    """A bar for the epoch under way and a line for each that is done."""

    def __init__(self, epochs: int, headline: str = "mrr") -> None:
        self.epochs, self.headline = epochs, headline
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("loss {task.fields[loss]:.4f}  {task.fields[speed]:,.0f} events/s"),
            TimeRemainingColumn(),
            console=err,
            transient=True,
            disable=not err.is_terminal,
        )
        self.task = self.bar.add_task("epoch 1", total=1, loss=0.0, speed=0.0)
        self.started = 0.0
        self.current = 0

    def __enter__(self) -> TrainingBar:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def batch(self, epoch: int, done: int, total: int, loss: float) -> None:
        if epoch != self.current:
            self.current, self.started = epoch, time.perf_counter()
            self.bar.reset(
                self.task, total=total, description=f"epoch {epoch} of {self.epochs}", loss=loss, speed=0.0
            )
        speed = done / max(time.perf_counter() - self.started, 1e-9)
        self.bar.update(self.task, completed=done, loss=loss, speed=speed)

    def epoch(self, report: EpochReport) -> None:
        val = "not validated"
        if report.val:
            val = f"val {self.headline} {report.val[self.headline]:.4f}{' *' if report.best else ''}"
        err.print(
            f"epoch {report.epoch:>3}  loss {report.loss:.4f}  {val}  "
            f"({report.train_seconds:.1f} s training, {report.val_seconds:.1f} s validation)"
        )
