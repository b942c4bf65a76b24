"""Options of `keat train`: those of the model that is trained and of its training, which are generated from
their settings, and a few of the command's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.main

from keat.cli.generated_options import (
    Options,
    field_of,
    given_settings,
    hidden,
    offered,
    options_of,
    read_settings,
)
from keat.cli.options import (
    NODE_TASKS,
    EvalSample,
    TaskOption,
    at_least,
    keyword_parameter,
    with_parameters,
)
from keat.errors import InputError, unknown_name
from keat.tasks.task_spec import TaskSpec

if TYPE_CHECKING:
    from keat.runs.spec import Choice

_MODEL, _FIT = "The model", "Training"  # panels of the help
OF_MODEL, OF_FIT = "model_", "fit_"  # how parameters of generated options begin
OF_GRAPHS = ("model", "dataset", "folder", "resume", "threads", "device", "json")  # of models of whole graphs
SET = keyword_parameter(
    "set",
    Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any setting of the model by its name in Python, as in neighbors=20; repeat for more.",
            rich_help_panel=_MODEL,
        ),
    ],
    None,
)


@dataclass(frozen=True, slots=True)
class HowTrained:
    """How a model is trained and asked, apart from the settings that are generated."""

    preset: Annotated[
        str,
        typer.Option(
            help="How it is trained where nothing else is said: usual, the best we know for the model; "
            "paper, the setting of the KEAT paper; tgb, that of TGB's examples.",
            rich_help_panel=_FIT,
        ),
    ] = "usual"
    task: TaskOption = None
    encoder: Annotated[
        Path | None,
        typer.Option(
            help="A run of links whose model is used as it is; only a head is trained for the node task.",
            rich_help_panel=NODE_TASKS,
        ),
    ] = None
    counts: Annotated[
        bool,
        typer.Option(
            help="Whether labels of events are read from plain counts and recencies, too.",
            rich_help_panel=NODE_TASKS,
        ),
    ] = True
    eval_sample: EvalSample = None
    latest: Annotated[
        int | None,
        typer.Option(
            callback=at_least(1),
            help="Take only the last so many events, and split these.",
            show_default="all",
            rich_help_panel=_FIT,
        ),
    ] = None

    def choice(self, asked: TaskSpec, **others: Any) -> Choice:
        """All that was chosen. ``others`` are what the command takes besides."""
        from keat.runs.spec import Choice

        return Choice(
            task=replace(asked, kind=self.task, sample=self.eval_sample),  # type: ignore[arg-type]
            preset=self.preset,  # type: ignore[arg-type]
            encoder=None if self.encoder is None else str(self.encoder),
            counts=self.counts,
            latest=self.latest,
            **others,
        )


@dataclass(frozen=True, slots=True)
class Machine:
    """What it is trained on."""

    threads: Annotated[
        int | None, typer.Option(callback=at_least(1, 1024), help="CPU threads.", rich_help_panel=_FIT)
    ] = None
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1 …", rich_help_panel=_FIT)] = "cpu"
    workers: Annotated[
        int,
        typer.Option(
            callback=at_least(1, 1024),
            help="Processes that share the threads and the questions of a model of links.",
            rich_help_panel=_FIT,
        ),
    ] = 1

    def use(self) -> None:
        """A device that cannot be used is refused before anything is written, not by torch in the middle."""
        import torch

        if self.threads is not None:
            torch.set_num_threads(self.threads)
        try:
            torch.empty(1, device=self.device)
        except (RuntimeError, AssertionError) as error:  # a torch without CUDA asserts
            reason = str(error).splitlines()[0].rstrip(".")
            raise InputError(
                f"The device '{self.device}' cannot be used here ({reason}); try --device cpu."
            ) from error


@dataclass(frozen=True, slots=True)
class Trainable:
    """What can be chosen of a model, each a dataclass of settings that holds the defaults."""

    config: Any
    fit: Any
    fit_of_nodes: Any = None  # where the model has node tasks
    of_streams: bool = True  # and not of whole graphs


@cache
def trainable() -> dict[str, Trainable]:
    """What can be chosen of each model, by its name. Asking brings torch."""
    from keat.models.architectures import Architecture
    from keat.models.registry import TRAINED, embeds_nodes
    from keat.runs.presets import usual_fit

    found = {}
    for name, entry in TRAINED.items():
        has_node_tasks = isinstance(entry, Architecture) and embeds_nodes(entry)
        of_nodes = usual_fit(name, "node-property") if has_node_tasks else None
        found[name] = Trainable(entry.config, usual_fit(name), of_nodes, isinstance(entry, Architecture))
    return found


def takes_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command that takes ``settings`` and ``fitting`` those settings of its model and of the training
    that were typed. `command_for` makes the options of them."""

    @wraps(command)
    def settled_command(context: typer.Context, **given: Any) -> None:
        model = given["model"]
        if model not in trainable():
            raise unknown_name("trainable model", model, trainable())
        typed = {name: value for name, value in given.items() if _was_typed(context, name)}
        for option in context.command.params:
            if option.name in typed and not _takes(model, option.name):
                words = option.secondary_opts if typed[option.name] is False else option.opts
                raise InputError(f"{model} has no {(words or option.opts)[0]}; leave it out.")
        chosen = trainable()[model]
        settings = given_settings(typed, OF_MODEL)
        for name, value in read_settings(model, chosen.config, given["set"] or []).items():
            if name in settings:
                raise InputError(f"{name} is given as an option and with --set; give it once.")
            settings[name] = value
        fitting = given_settings(typed, OF_FIT)
        for defaults, changes in ((chosen.config, settings), (chosen.fit, fitting)):
            replace(defaults, **changes)  # before any work: they check themselves
        own = {name: value for name, value in given.items() if not _is_generated(name)}
        command(**own, settings=settings, fitting=fitting)

    signature = inspect.signature(command, eval_str=True)
    own = [each for each in signature.parameters.values() if each.name not in ("settings", "fitting")]
    context = keyword_parameter("context", typer.Context, inspect.Parameter.empty)
    return with_parameters(settled_command, [*own, context])


@cache
def command_for(command: Callable[..., None], model: str | None) -> Any:
    """A `takes_settings` command as Typer runs it, whose help shows the options of a model; those of all
    models where none is named. What can be typed is the same for each, since which word is the model is known
    for sure only when all are read."""
    own = [*inspect.signature(command).parameters.values()]
    of_model, of_fit = _options(model)
    if model is not None and not trainable()[model].of_streams:
        own = [each if each.name in (*OF_GRAPHS, "context") else hidden(each) for each in own]
    place = next(k for k, each in enumerate(own) if each.name == "resume") + 1
    generated = [*of_model.values(), SET, *of_fit.values()]
    app = typer.Typer(add_completion=False)
    app.command()(with_parameters(command, [*own[:place], *generated, *own[place:]]))
    return typer.main.get_command(app)


def model_among(words: Sequence[str]) -> str | None:
    """The first word that is the name of a model."""
    return next((word for word in words if word in trainable()), None)


def _options(model: str | None) -> list[Options]:
    """Options of the model, and of its training. Those of other models are hidden: who types one is refused
    by a sentence."""
    graphs = [name for name, each in trainable().items() if not each.of_streams]
    made = []
    for part, prefix, panel in (("config", OF_MODEL, _MODEL), ("fit", OF_FIT, _FIT)):
        settings = {name: getattr(each, part) for name, each in trainable().items()}
        every = options_of(settings, prefix, panel, of_graphs=graphs)
        if model is None:
            made.append(every)
            continue
        of_nodes = trainable()[model].fit_of_nodes if part == "fit" else None
        own = options_of({model: settings[model]}, prefix, panel, of_graphs=graphs, of_nodes=of_nodes)
        made.append(own | {name: hidden(option) for name, option in every.items() if name not in own})
    return made


def _takes(model: str, option: str) -> bool:
    """Whether a model has any use for an option, by the name of its parameter."""
    of_graph = not trainable()[model].of_streams
    for prefix, settings in ((OF_MODEL, trainable()[model].config), (OF_FIT, trainable()[model].fit)):
        if option.startswith(prefix):
            return field_of(option, prefix) in {each.name for each in offered(settings, of_graph=of_graph)}
    return not of_graph or option in (*OF_GRAPHS, SET.name)


def _was_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _is_generated(name: str) -> bool:
    return name == SET.name or name.startswith((OF_MODEL, OF_FIT))
