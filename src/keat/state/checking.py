"""What a state that comes from a file must look like, asked before anything is indexed with it.

Compiled loops do not look whether an index is in range: a wrong one reads somebody else's memory or ends the
process. So each kind of state says what it expects of its tensors, and is loaded only if they are so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from keat.errors import InputError
from keat.events import EventStream


@dataclass(frozen=True, slots=True)
class Expected:
    """A tensor's type, its shape and the range of its whole numbers. Fractions have to be finite.

    A name in a shape stands for a length that all tensors with this name there have in common; as ``below``
    it is that length.
    """

    dtype: torch.dtype
    shape: tuple[int | str, ...]
    lowest: int | None = None
    below: int | str | None = None


def whole(*shape: int | str, lowest: int | None = None, below: int | str | None = None) -> Expected:
    """Whole numbers of 64 bits."""
    return Expected(torch.int64, shape, lowest, below)


def like(tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
    """Tensors of the types and shapes that these have."""
    return {name: Expected(value.dtype, tuple(value.shape)) for name, value in tensors.items()}


def check_state(state: Mapping[str, Tensor], expected: Mapping[str, Expected]) -> dict[str, int]:
    """Whether a state is made of these tensors and no others; returns the lengths that have a name."""
    for name in sorted(expected.keys() ^ state.keys()):
        raise InputError(f"'{name}' is {'missing' if name in expected else 'not known'}")
    lengths: dict[str, int] = {}
    for name, wanted in expected.items():
        _check_shape(name, state[name], wanted, lengths)
    for name, wanted in expected.items():
        _check_values(name, state[name], wanted, lengths)
    return lengths


def check_in_order(name: str, times: Tensor) -> None:
    if (times[1:] < times[:-1]).any():
        raise InputError(f"'{name}' is not in the order of time")


def check_that(holds: Tensor | bool, sentence: str) -> None:
    """What no range can say."""
    if not (holds if isinstance(holds, bool) else bool(holds.all())):
        raise InputError(sentence)


def check_feature_dim(events: EventStream, wanted: int) -> None:
    """Of events that are to be observed."""
    if events.feature_dim != wanted:
        raise InputError(
            f"{events.name} has {events.feature_dim} features an event, but the model was made for {wanted}."
        )


def parts_of(state: Mapping[str, Tensor], prefixes: Iterable[str]) -> list[dict[str, Tensor]]:
    """The tensors whose names begin with each of these prefixes, without it; there must be no others."""
    parts: dict[str, dict[str, Tensor]] = {prefix: {} for prefix in prefixes}
    for name, value in state.items():
        prefix = next((prefix for prefix in parts if name.startswith(prefix)), None)
        if prefix is None:
            raise InputError(f"'{name}' is not known")
        parts[prefix][name.removeprefix(prefix)] = value
    return list(parts.values())


def _check_shape(name: str, value: Tensor, wanted: Expected, lengths: dict[str, int]) -> None:
    if value.dtype != wanted.dtype:
        raise InputError(f"'{name}' is of type {_plain(value.dtype)}, not {_plain(wanted.dtype)}")
    if value.dim() == len(wanted.shape):
        for size, length in zip(value.shape, wanted.shape, strict=True):
            if isinstance(length, str):
                lengths.setdefault(length, size)
    shape = tuple(lengths.get(length, -1) if isinstance(length, str) else length for length in wanted.shape)
    if tuple(value.shape) != shape:
        described = " × ".join(str(length) for length in wanted.shape) or "one number"
        raise InputError(f"'{name}' has the shape {tuple(value.shape)}, not {described}")


def _check_values(name: str, value: Tensor, wanted: Expected, lengths: dict[str, int]) -> None:
    if value.is_floating_point() and not value.isfinite().all():
        raise InputError(f"'{name}' holds a number that is not finite")
    if value.numel() == 0 or (wanted.lowest is None and wanted.below is None):
        return
    below = lengths[wanted.below] if isinstance(wanted.below, str) else wanted.below
    lowest, highest = (int(bound) for bound in value.aminmax())
    if wanted.lowest is not None and lowest < wanted.lowest:
        raise InputError(f"'{name}' holds {lowest}, below {wanted.lowest}")
    if below is not None and highest >= below:
        raise InputError(f"'{name}' holds {highest}, but must stay below {below}")


def _plain(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
