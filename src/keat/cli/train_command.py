"""`keat train`: a model into a folder, with a bar, resumable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from keat.cli.console import err, out, print_json, print_line, progress_bar
from keat.cli.evaluate_command import show_results
from keat.cli.options import DatasetArgument, Json, asks_of_nodes, reads_events, takes
from keat.cli.train_options import HowTrained, Machine, command_for, model_among, takes_settings
from keat.datasets.loading import Dataset
from keat.events import Reading, humanize
from keat.tasks.label_source import LabelSource
from keat.tasks.task_spec import TaskSpec

if TYPE_CHECKING:
    from keat.report.html.report_page import Page
    from keat.runs import Run
    from keat.runs.run_evaluation import Tested
    from keat.runs.run_model import Data
    from keat.runs.spec import RunSpec

MODELS = (
    "keat-rank, the one to begin with; tgn, dyrep, ctan, tncn, tgat, graphmixer, dygformer, tcl, cawn, nat, "
    "tpnet, craft, utg-gcn, utg-gclstm, utg-evolvegcn, utg-htgn, each also as keat-…; jodie, slm, craft-r; "
    "of whole graphs, gearsage and keat-gearsage."
)


@takes_settings
@reads_events()
@asks_of_nodes
@takes(HowTrained, "how")
@takes(Machine, "machine")
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
    how: HowTrained,
    labels: LabelSource,
    asked: TaskSpec,
    machine: Machine,
    json: Json = False,
    reading: Reading,
) -> None:
    """Train a model, keep the best epoch by validation, and score the test split.

    What can be chosen depends on the model: keat train MODEL --help shows its own options with its defaults.
    """
    from keat.runs.run_model import task_of
    from keat.runs.trainer import prepare, usual_folder  # these bring torch: not for --help

    machine.use()
    choice = how.choice(asked, reading=reading, labels=labels, settings=settings, fitting=fitting)
    with progress_bar(f"getting {dataset}", unit="bytes") as progress:
        spec, data = prepare(model, dataset, choice, progress)
    if how.eval_sample is not None:
        spec = replace(spec, task=replace(spec.task, sample_seed=spec.fitting.seed))
    folder = folder or usual_folder(spec, data)
    job = task_of(spec, data, "test")  # before the work: there may be nothing to ask
    if isinstance(data, Dataset):
        sigma, unit = data.sigma(), data.stream.unit
        err.print(f"σ = {sigma:,.1f} {unit} ({humanize(sigma, unit)}), from the training split")
    run = _trained(spec, data, folder, resume, machine)
    tested = run.test(data, job)
    report = run.report(data, tested)
    if json:
        sigma = data.sigma() if isinstance(data, Dataset) else run.facts.sigma
        print_json({**_in_json(run, tested, report), "sigma": sigma})
    else:
        _print(run, tested, report)


def _trained(spec: RunSpec, data: Data, folder: Path, resume: bool, machine: Machine) -> Run:
    """The training itself, with its bar; Ctrl-C leaves what is finished."""
    from keat.runs.trainer import train_spec
    from keat.training.bar import TrainingBar
    from keat.training.tensorboard import tensorboard_watchers

    try:
        with TrainingBar(spec.fitting.epochs) as bar:
            watchers = [bar, *tensorboard_watchers(folder / "tensorboard")]
            return train_spec(
                spec,
                data,
                folder,
                resume=resume,
                device=machine.device,
                workers=machine.workers,
                watchers=watchers,
            )
    except KeyboardInterrupt:
        print_line(
            f"stopped; finished epochs are in {folder}. Continue with the same command and --resume.", err
        )
        raise typer.Exit(130) from None


class TrainCommand(TyperCommand):
    """`keat train` with the options of the model that is named. They are made when the verb is called, since
    what they are made of brings torch, for which no other verb's help should wait."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        command = command_for(train_command, model_among(args))
        return command.make_context(info_name, args, parent, **extra)


def _in_json(run: Run, tested: Tested, report: Page) -> dict[str, object]:
    found: dict[str, object] = {
        "model": run.spec.model,
        "dataset": run.facts.data.name,
        "seed": run.spec.fitting.seed,
        "epoch": run.best.epoch,
        "loss": run.best.loss,
        "val": run.metrics,
        "test": tested.evaluation.metrics,
        "standard_errors": tested.evaluation.standard_errors,
        "refresh": tested.refresh,
        "run": str(run.folder),
        "epochs_now": run.epochs_now,
        "beside": tested.beside,
        "calibration": None if tested.judged is None else tested.judged.to_json(),
        "report": str(report),
    }
    if run.memory is not None:
        found["state_memory"] = run.memory._asdict()
    return found if tested.intervals is None else found | {"intervals": tested.intervals}


def _print(run: Run, tested: Tested, report: Page) -> None:
    """The kept epoch, its metrics beside those of the heuristics, and how sure they are."""
    from keat.runs.run_report import results

    test, headline = tested.evaluation, next(iter(run.metrics))
    print_line(f"best epoch {run.best.epoch} by validation {headline}; kept in {run.folder}")
    print_line(f"validation: {_in_words(run.metrics)}")
    show_results(results(run, tested))
    if test.standard_errors is not None:
        out.print(
            f"A sample of {len(tested.task):,} positives; standard error of the test {headline} "
            f"{test.standard_errors[headline]:.4f}"
        )
    for name, interval in (tested.intervals or {}).items():
        out.print(f"95 % of the test {name}: {interval[0]:.4f} to {interval[1]:.4f} (bootstrap over nodes)")
    if tested.judged is not None:
        for before, after in zip(tested.judged.before, tested.judged.after, strict=True):
            out.print(f"test calibration error of {after.of}: {after.ece:.4f}, uncalibrated {before.ece:.4f}")
    if run.memory is not None:
        print_line(str(run.memory))
    print_line(f"The report: {report}")


def _in_words(metrics: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:.4f}" for name, value in metrics.items())
