"""Dataclasses from JSON: every entry is of its type and known, and what is missing has its default."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import pytest

from keat.disk import typed
from keat.errors import InputError


@dataclass(frozen=True, slots=True)
class Leaf:
    name: str
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.weight < 0:
            raise ValueError("a weight is not negative")
        if self.name == "":
            raise InputError("A name is empty; give one.")


@dataclass(frozen=True, slots=True)
class Tree:
    number: int
    flag: bool = False
    kind: Literal["oak", "elm"] | None = None
    leaf: Leaf = field(default_factory=lambda: Leaf("first"))
    other: Leaf | None = None
    leaves: tuple[Leaf, ...] = ()
    more: tuple[Leaf, ...] | None = None
    pair: tuple[float, float] = (0.5, 0.25)
    names: tuple[str, ...] | None = None


WHOLE = Tree(
    7,
    flag=True,
    kind="elm",
    leaf=Leaf("é", 1 / 3),
    other=Leaf("o", 0.0),
    leaves=(Leaf("a"), Leaf("b", 2.0)),
    more=(Leaf("c"),),
    pair=(0.1, 0.2),
    names=("x", ""),
)


@pytest.mark.parametrize("tree", [Tree(1), WHOLE, Tree(-(2**62)), Tree(2**63 - 1)])
def test_what_is_written_is_read(tree: Tree) -> None:
    assert typed(Tree, json.loads(json.dumps(asdict(tree)))) == tree


def test_what_is_missing_has_its_default() -> None:
    assert typed(Tree, {"number": 3}) == Tree(3)
    assert typed(Tree, {"number": 3, "leaf": {"name": "x"}}) == Tree(3, leaf=Leaf("x"))


def test_a_whole_number_is_a_float_where_one_is_wanted() -> None:
    read = typed(Leaf, {"name": "x", "weight": 2})
    assert read == Leaf("x", 2.0)
    assert type(read.weight) is float


def test_values_that_are_no_dataclasses() -> None:
    assert typed(str, "x") == "x"
    assert typed(tuple[float, float], [1, 2.5]) == (1.0, 2.5)
    for wrong in (7, None, ["x"]):
        with pytest.raises(ValueError, match="str"):
            typed(str, wrong)


WRONG: list[tuple[Any, str]] = [
    ([], "got array"),
    (None, "got null"),
    ("tree", "got str"),
    ({}, "missing required field number"),
    ({"number": 1, "colour": "red"}, "^'colour' is no entry of it$"),
    ({"number": 1, "leaf": {"name": "x", "colour": 1}}, r"^'leaf\.colour' is no entry"),
    ({"number": 1, "other": {"name": "x", "colour": 1}}, r"^'other\.colour' is no entry"),
    ({"number": 1, "leaves": [{"name": "x"}, {"name": "x", "colour": 1}]}, r"^'leaves\[1\]\.colour' is no"),
    ({"number": 1, "more": [{"name": "x", "colour": 1}]}, r"^'more\[0\]\.colour' is no entry"),
    ({"number": "1"}, r"int, got str .*\.number"),
    ({"number": True}, r"int, got bool .*\.number"),
    ({"number": 1.5}, r"int, got float .*\.number"),
    ({"number": None}, r"int, got null .*\.number"),
    ({"number": 1, "flag": 1}, r"bool, got int .*\.flag"),
    ({"number": 1, "flag": "true"}, r"bool, got str .*\.flag"),
    ({"number": 1, "kind": "ash"}, r"'ash' .*\.kind"),
    ({"number": 1, "kind": 7}, r"got int .*\.kind"),
    ({"number": 1, "leaf": None}, r"got null .*\.leaf"),
    ({"number": 1, "leaf": []}, r"got array .*\.leaf"),
    ({"number": 1, "leaf": {"name": "x", "weight": "1"}}, r"float, got str .*\.leaf\.weight"),
    ({"number": 1, "leaf": {"name": "x", "weight": -1}}, "a weight is not negative"),
    ({"number": 1, "leaf": {"name": ""}}, "A name is empty; give one$"),
    ({"number": 1, "pair": [0.1]}, r"\.pair"),
    ({"number": 1, "pair": [0.1, 0.2, 0.3]}, r"\.pair"),
    ({"number": 1, "pair": [0.1, "x"]}, r"\.pair\[1\]"),
    ({"number": 1, "names": "xy"}, r"array \| null, got str .*\.names"),
    ({"number": 1, "names": ["x", None]}, r"\.names\[1\]"),
]


@pytest.mark.parametrize(("value", "told"), WRONG)
def test_anything_else_is_told_with_its_place(value: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told) as error:
        typed(Tree, value)
    assert "`" not in str(error.value)
    assert not str(error.value).endswith(".")
    assert "\n" not in str(error.value)


def test_numbers_beyond_all_numbers() -> None:
    """JSON has no bounds; 10⁴⁰⁰ is no float. What fits stays what it is."""
    for huge in (10**400, -(10**400)):
        with pytest.raises(ValueError):
            typed(Leaf, {"name": "x", "weight": huge})
    with pytest.raises(ValueError):
        typed(Leaf, {"name": 10**400})
    assert typed(Leaf, {"name": "x", "weight": 10**300}).weight == 1e300


def test_not_a_number_is_for_the_field_to_refuse() -> None:
    """A metric may be NaN; whether a setting may be is said by its own check."""
    read = typed(Leaf, json.loads('{"name": "x", "weight": NaN}'))
    assert math.isnan(read.weight)
    assert typed(Leaf, json.loads('{"name": "x", "weight": Infinity}')).weight == math.inf
    with pytest.raises(ValueError, match="a weight is not negative"):
        typed(Leaf, json.loads('{"name": "x", "weight": -Infinity}'))
