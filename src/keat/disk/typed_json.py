"""Dataclasses from JSON: what a file says is checked against the types of the fields, all the way down.

`dataclasses.asdict` writes one; `typed` reads it. An entry that is missing has the default of its field, so a
file may be older than a field; an entry that no field is called like is an error, as is any other type.
"""

from __future__ import annotations

import types
from dataclasses import fields, is_dataclass
from typing import TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from keat.errors import KeatError

T = TypeVar("T")


def typed(kind: type[T], value: object) -> T:
    """An instance of a dataclass; a ValueError says in a few words what is wrong and where."""
    _require_known(kind, value, "")
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, KeatError, OverflowError, TypeError) as error:
        raise ValueError(str(error).replace("`", "").rstrip(".")) from error


def _require_known(kind: object, value: object, where: str) -> None:
    """No entry of an object is unknown: msgspec passes over those of dataclasses."""
    if get_origin(kind) in (Union, types.UnionType):
        several = [each for each in get_args(kind) if is_dataclass(each) or get_origin(each) is tuple]
        kind = several[0] if len(several) == 1 else None
    if get_origin(kind) is tuple and isinstance(value, list | tuple):
        of_each = get_args(kind)
        of_each = of_each[:1] * len(value) if of_each[-1] is Ellipsis else of_each
        for place, (one, part) in enumerate(zip(of_each, value, strict=False)):
            _require_known(one, part, f"{where}[{place}]")
    if not is_dataclass(kind) or not isinstance(value, dict):
        return
    hints = get_type_hints(kind)
    known = {each.name for each in fields(kind)}
    for name, part in value.items():
        inner = f"{where}.{name}" if where else str(name)
        if name not in known:
            raise ValueError(f"'{inner}' is no entry of it")
        _require_known(hints[name], part, inner)
