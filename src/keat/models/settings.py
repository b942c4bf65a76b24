"""What can be chosen of models and of training: each setting with its help, and checks of what was chosen,
made when it is chosen: before anything is built or written.

A setting is a field of a dataclass, written by `setting`. The options of the command follow from the fields.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import field, fields, replace
from typing import Any, Literal, get_args

from keat.attention.layer import Modulate
from keat.errors import InputError, Notice
from keat.events import EventStream
from keat.events.units import TICK, UNITS
from keat.kernels import KERNELS
from keat.time_encoding import TIME_ENCODERS

LARGEST = 1 << 16  # of any size: a slip of the finger should not ask for terabytes
SEEDS = 1 << 63
MOST = SEEDS - 1  # of anything counted: counts have 64 bits

PairTermName = Literal["none", "kernel", "rank"]  # of models that can have one beside them
PAIR_TERMS: tuple[PairTermName, ...] = get_args(PairTermName)

_KINDS: dict[type, tuple[type, ...]] = {int: (int,), float: (float, int), str: (str,), bool: (bool,)}
_TOLD = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


class Help:
    """Of settings that several models have and that mean the same in each."""

    KERNEL = f"ψ, by which evidence fades with age: {', '.join(KERNELS)}."
    DELTA = "Age of an event: neighbor (until its last update; released code) or query (paper)."
    PARITY = "Repeat the defect of the public code that its published numbers come from."
    WIDTH = "Width of the kernel, in multiples of σ; inf for one that never fades."
    CLOCK = f"Unit in which ages are read: {', '.join(UNITS)}, or {TICK} for the numbers of the stream."
    TIME_ENCODER = f"φ, the encoding of an age: {', '.join(TIME_ENCODERS)}."
    PRECISION = "Angles of φ: exact, or legacy in float32 as in the reference code."
    MODULATE = f"What ψ scales: {', '.join(get_args(Modulate))}."
    HEADS = "Heads of the attention."
    DROPOUT = "Share of numbers dropped in training."
    TIME_DIM = "Size of the time encoding."
    NODE_DIM = "Features of a node that are used; 0 for none, or for as many as the data has."
    OUT_DIM = "Size of an embedding."
    PAIR_TERM = (
        "rank: add what source and destination have been to each other to the score, as keat-rank knows it; "
        "kernel: the same of keat-rank's first edition; none: do not."
    )
    PAIR_WIDTHS = (
        "Widths of the kernels of the pair term: geometric, learned, or numbers separated by commas."
    )


def setting(default: object, about: str, *, option: str | None = None, of_streams: bool = False) -> Any:
    """A field of a dataclass of settings: its default, and what it means, in a sentence. ``option`` is the
    name of the command's option where it is not that of the field; one ``of_streams`` says nothing to models
    of whole graphs. (The type is that of the annotation.)"""
    said = {"help": about, "option": option, "of_streams": of_streams}
    return field(default=default, metadata={key: value for key, value in said.items() if value})


def check_each(settings: Any) -> None:
    """Every setting has the type of its default; numbers are numbers."""
    for each in fields(settings):
        value: Any = getattr(settings, each.name)
        kind = type(each.default)
        if kind not in _KINDS:  # None: there may be nothing
            if value is None:
                continue
            kind = float
        is_truth = isinstance(value, bool) != (kind is bool)
        if is_truth or not isinstance(value, _KINDS[kind]):
            raise InputError(f"{each.name} must be {_TOLD[kind]}, not {value!r}.")
        if kind is float and value != value:  # nan differs from itself
            raise InputError(f"{each.name} must be a number, not nan.")


def check_range(
    settings: Any, lowest: float, highest: float | None, *names: str, open_below: bool = False
) -> None:
    """Settings within lowest … highest; without the lowest itself if ``open_below``. None stays none."""
    for name in names:
        value = getattr(settings, name)
        if value is None:
            continue
        too_low = value <= lowest if open_below else value < lowest
        if too_low or not math.isfinite(value) or (highest is not None and value > highest):
            low = f"above {lowest:g}" if open_below else f"at least {lowest:g}"
            high = " and finite" if highest is None else f" and at most {highest:,}"
            raise InputError(f"{name} must be {low}{'' if too_low else high}, not {value}.")


def check_sizes(settings: Any, *names: str) -> None:
    check_range(settings, 1, LARGEST, *names)


def check_model(settings: Any, *sizes: str) -> None:
    """What every configuration of a model is checked for: types, sizes, and those of the settings that models
    share which it has."""
    check_each(settings)
    check_sizes(settings, *sizes)
    if hasattr(settings, "node_dim"):
        check_range(settings, 0, LARGEST, "node_dim")
    if not 0 <= settings.dropout < 1:  # where everything is dropped, nothing can be learned
        raise InputError(f"dropout must be at least 0 and below 1, not {settings.dropout}.")
    if not settings.width > 0:
        raise InputError(
            f"The kernel width must be positive, but is {settings.width}; it is a multiple of σ, "
            "'inf' for none."
        )


def check_divides(heads: int, dim: int, what: str) -> None:
    if dim % heads:
        raise InputError(f"{heads} heads cannot share {what} of {dim}; choose a divisor.")


def check_seed(seed: int) -> None:
    if not 0 <= seed < SEEDS:
        raise InputError(f"seed must be at least 0 and below 2⁶³, not {seed}.")


def with_node_features(model: str, config: Any, stream: EventStream) -> Any:
    """The configuration of ``model`` for a stream whose nodes have features, as wide as they are."""
    width = 0 if stream.node_features is None else stream.node_features.shape[1]
    if not hasattr(config, "node_dim"):
        warnings.warn(
            f"{model} makes no use of features of nodes; TGAT, GraphMixer and DyGFormer do.",
            Notice,
            stacklevel=2,
        )
        return config
    if config.node_dim not in (0, width):
        raise InputError(
            f"node_dim is {config.node_dim}, but nodes of {stream.name} have {width} features; leave it out."
        )
    return replace(config, node_dim=width)
