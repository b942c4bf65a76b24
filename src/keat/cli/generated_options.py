"""Options that follow from the fields of dataclasses: a setting is written once, with its help, where it is
used (`keat.models.settings.setting`), and is an option of the command by that."""

from __future__ import annotations

import inspect
import types
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import Field, fields
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from keat.cli.options import keyword_parameter
from keat.errors import InputError, unknown_name

DEPENDS = "depends on the model"
OFF = "__off"  # how the parameter of an option ends that says no to its setting
Options = dict[str, inspect.Parameter]  # what Typer reads, by the parameter's name


def offered(settings: Any, *, of_graph: bool = False) -> list[Field[Any]]:
    """The fields of a dataclass that are options of a model: of one of whole graphs, not all."""
    return [each for each in fields(settings) if not (of_graph and each.metadata.get("of_streams"))]


def options_of(
    models: Mapping[str, Any],
    prefix: str,
    panel: str,
    *,
    of_graphs: Collection[str] = (),
    of_nodes: Any = None,
) -> Options:
    """An option for each field that the settings of any of these models have. It has a default where all have
    the same, and its help names the models where not all have it. ``of_graphs`` are the models of whole
    graphs; ``of_nodes`` holds the values for node tasks, which are shown where they differ. Names of
    parameters begin with ``prefix``, which tells them from the command's own."""
    having: dict[str, dict[str, Field[Any]]] = {}
    for model, settings in models.items():
        for each in offered(settings, of_graph=model in of_graphs):
            having.setdefault(each.name, {})[model] = each
    found: Options = {}
    for name, by_model in having.items():
        first, each = next(iter(by_model.items()))
        defaults = {getattr(models[model], name) for model in by_model}
        default, shown = (None, DEPENDS) if len(defaults) > 1 else (defaults.pop(), None)
        if of_nodes is not None and getattr(of_nodes, name) != default:
            shown = f"{default}; node tasks {getattr(of_nodes, name)}"
        about = _helps({model: each.metadata["help"] for model, each in by_model.items()}, models)
        found |= _options(each, kinds_of(models[first])[name], default, about, prefix, panel, shown)
    return found


def given_settings(typed: Mapping[str, object], prefix: str) -> dict[str, object]:
    """The settings that were typed as options of a prefix, by the names of their fields."""
    found: dict[str, object] = {}
    for name, value in typed.items():
        if name.startswith(prefix):
            setting = field_of(name, prefix)
            if setting in found:
                raise InputError(f"{setting} is given as yes and as no; give one.")
            found[setting] = not name.endswith(OFF) and value
    return found


def field_of(parameter: str, prefix: str) -> str:
    """The name of the field behind an option."""
    return parameter.removeprefix(prefix).removesuffix(OFF)


def hidden(option: inspect.Parameter) -> inspect.Parameter:
    """The same option, but not shown by the help: it can be typed, so that a sentence can refuse it."""
    kind, about = get_args(option.annotation)
    about = copy(about)
    about.hidden = True
    return option.replace(annotation=Annotated[kind, about])


def kinds_of(settings: Any) -> dict[str, type]:
    """The type that each setting is read as: of one that may be None, that of the others."""
    return {name: _kind(hint) for name, hint in get_type_hints(type(settings)).items()}


def read_settings(model: str, config: Any, given: Sequence[str]) -> dict[str, object]:
    """Settings of a model that were typed as NAME=VALUE."""
    kinds, found = kinds_of(config), dict[str, object]()
    for item in given:
        name, equals, text = item.partition("=")
        if not equals:
            raise InputError(f"--set wants NAME=VALUE, not '{item}'.")
        if name not in kinds:
            raise unknown_name(f"setting of {model}", name, kinds)
        kind = kinds[name]
        try:
            found[name] = {"true": True, "false": False}[text.lower()] if kind is bool else kind(text)
        except (ValueError, KeyError):
            raise InputError(f"{name} is a {kind.__name__}, and '{text}' is not one.") from None
    return found


def _kind(hint: Any) -> type:
    if get_origin(hint) in (Union, types.UnionType):
        (hint,) = (each for each in get_args(hint) if each is not type(None))
    kind: type = str if get_origin(hint) is Literal else hint
    return kind


def _options(
    each: Field[Any], kind: type, default: object, about: str, prefix: str, panel: str, shown: str | None
) -> Options:
    """One option; of what is yes or no two, of which the help shows the one that changes the default. (Both
    in one, ``--flag/--no-flag``, would take half of the help's width.)"""
    option, name = each.metadata.get("option", each.name.replace("_", "-")), prefix + each.name
    show: bool | str = default not in (None, "") if shown is None else shown
    if kind is not bool:
        asked = typer.Option(f"--{option}", help=about, show_default=show, rich_help_panel=panel)
        read_as: Any = kind if default is not None else kind | None
        return {name: keyword_parameter(name, Annotated[read_as, asked], default)}
    switches = {}
    for parameter, words, value in ((name, option, True), (name + OFF, f"no-{option}", False)):
        asked = typer.Option(
            f"--{words}", help=about, hidden=value is (default or False), rich_help_panel=panel
        )
        switches[parameter] = keyword_parameter(parameter, Annotated[bool, asked], False)
    return switches


def _helps(helps: Mapping[str, str], models: Mapping[str, Any]) -> str:
    """What a setting means, with the models for which it does where not all have it or mean the same."""
    sentences = []
    for text in dict.fromkeys(helps.values()):
        having = _families([model for model in models if helps.get(model) == text])
        lacking = _families([model for model in models if helps.get(model) != text])
        who = f"Of {', '.join(having)}." if len(having) <= len(lacking) else f"Not of {', '.join(lacking)}."
        sentences.append(f"{text} {who}" if lacking else text)
    return " ".join(sentences)


def _families(models: Sequence[str]) -> list[str]:
    """A model and its KEAT twin have the same settings, so the model stands for both."""
    return [model for model in models if model.removeprefix("keat-") == model or model[5:] not in models]
