"""The options of reading a file, on every verb that reads one, and what they come to."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
import typer
from command import assert_fails, keat
from typer.testing import CliRunner

from keat.cli.options import reads_events, takes
from keat.events import Reading
from keat.models.graphmixer import GraphMixerConfig
from keat.models.tgat import TGATConfig
from keat.runs.run_file import read_run_file

SHARED = [f"--{each.name.replace('_', '-')}" for each in fields(Reading) if "help" in each.metadata]
VERBS = {
    ("data", "info"): set(),
    ("train",): set(),
    ("evaluate",): set(),
    ("explain",): {"--label"},
    ("analyze", "moments"): {"--label"},
    ("analyze", "attention"): {"--label"},
}


def visits(folder: Path, *, header: bool) -> Path:
    """Separated by semicolons, with dates as people write them, a kind and a large amount."""
    rng = np.random.default_rng(0)
    lines = ["who;when;whom;amount;kind"] * header
    for k in range(120):
        kind = ["card", "cash"][int(rng.integers(2))]
        day, hour = 1 + k // 24, k % 24
        lines.append(f"c{k * 7 % 11};{day:02}.01.2024 {hour:02}:00;s{k * k % 5};{2000 + k * 13 % 500};{kind}")
    path = folder / "visits.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


COLUMNS = ("--src", "who", "--dst", "whom", "--time", "when", "--delimiter", ";")
FORM = ("--time-format", "%d.%m.%Y %H:%M")


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_that_reads_a_file_has_the_options(verb: tuple[str, ...]) -> None:
    ran = keat(*verb, "--help")
    offered = set(re.findall(r"--[a-z-]+", ran.out))
    wanted = {name.replace("--header", "--no-header") for name in SHARED} - VERBS[verb]
    if verb == ("explain",):
        wanted |= {"--src-column", "--dst-column", "--time-column"}
    assert ran.code == 0
    assert wanted <= offered
    assert not VERBS[verb] & offered


def test_a_file_of_another_layout(tmp_path: Path) -> None:
    named = keat("data", "info", visits(tmp_path, header=True), *COLUMNS, *FORM, "--json").json
    numbered = ("--src", "1", "--dst", "3", "--time", "2", "--no-header", "--delimiter", "semicolon")
    ran = keat("data", "info", visits(tmp_path, header=False), *numbered, *FORM, "--json")
    assert ran.json == named
    assert (named["rows"], named["unit"], named["t_min"]) == (120, "s", 1704067200)
    assert ran.notes == []


def test_features_are_encoded(tmp_path: Path) -> None:
    file = visits(tmp_path, header=True)
    options = (*COLUMNS, *FORM, "--features", "amount,kind", "--categorical", "kind")
    plain = keat("data", "info", file, *options, "--json")
    assert plain.json["features"] == 1 + 2 + 1
    assert len(plain.notes) == 1
    assert "column 'amount': values reach 2,49" in plain.notes[0]
    assert "have features standardized (scale)" in plain.notes[0]
    scaled = keat("data", "info", file, *options, "--scale", "--json")
    assert (scaled.json["features"], scaled.notes) == (4, [])


BAD = [
    (("--delimiter", "::"), "'::' does not separate columns; a delimiter is one sign"),
    (
        ("--delimiter", ",", *COLUMNS[:6]),
        "are separated by semicolons, not by commas; say so with the delimiter",
    ),
    (
        (*COLUMNS, "--time-format", "%d.%m.%Y"),
        "column 'when', data row 1: '01.01.2024 00:00' is not a time writt",
    ),
    ((*COLUMNS, "--time-format", "soon"), "'soon' is not a format of times; write it for strptime"),
    ((*COLUMNS,), "column 'when', data row 1: '01.01.2024 00:00' is not a time; .*, or give the time format"),
    (
        (*COLUMNS, *FORM, "--features", "kind"),
        "column 'kind', data row 1: 'c[a-z]+' is not a number; .* categorical",
    ),
    ((*COLUMNS, *FORM, "--categorical", "kin"), "has no column 'kin' .did you mean 'kind'"),
    ((*COLUMNS, *FORM, "--node-features", "none.csv"), "none.csv does not exist"),
    ((*COLUMNS, "--no-header"), "has no column 'who'; it has 1, 2, 3, 4, 5"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_what_is_wrong_is_one_sentence(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    assert re.search(message, assert_fails(keat("data", "info", visits(tmp_path, header=True), *options)))


def test_a_name_has_its_columns() -> None:
    said = assert_fails(keat("data", "info", "payments:2000", "--scale"))
    assert said == "payments:2000 is known by name, so its columns are settled; give only the name."


def nodes(folder: Path) -> Path:
    path = folder / "nodes.csv"
    names = [f"c{k}" for k in range(11)] + [f"s{k}" for k in range(5) if k not in (2, 3)]
    path.write_text("node;age;size\n" + "".join(f"{name};{k};{k % 3}\n" for k, name in enumerate(names)))
    return path


@pytest.mark.parametrize("model", ["tgat", "graphmixer"])
def test_models_are_as_wide_as_the_features_of_nodes(model: str, tmp_path: Path) -> None:
    reading = (*COLUMNS, *FORM, "--node-features", nodes(tmp_path), "--scale")
    small = ("--epochs", "1", "--set", "time_dim=4", "--set", "neighbors=4", "--threads", "1")
    run = tmp_path / "run"
    file = visits(tmp_path, header=True)
    trained = keat("train", model, file, *reading, *small, "--out", run, "--json").json
    config = read_run_file(run).spec.config
    assert isinstance(config, TGATConfig | GraphMixerConfig)
    assert config.node_dim == 2
    asked = keat("evaluate", run, file, *reading, "--refresh", str(trained["refresh"]), "--json").json
    assert asked["mrr"] == pytest.approx(trained["test"]["mrr"], abs=1e-9)
    said = assert_fails(
        keat("train", model, file, *reading, *small, "--set", "node_dim=3", "--out", tmp_path / "x")
    )
    assert said == "node_dim is 3, but nodes of visits have 2 features; leave it out."
    assert not (tmp_path / "x").exists()


@dataclass(frozen=True)
class Pair:
    """Two options that belong together."""

    first: Annotated[int, typer.Option(help="A number.")] = 1
    second: Annotated[str | None, typer.Option(callback=lambda word: word and word.upper())] = None

    def __post_init__(self) -> None:
        if self.first < 0:
            raise typer.BadParameter("not below 0")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], ("x", Pair(), Reading(), False)),
        (["--second", "b", "--last"], ("x", Pair(1, "B"), Reading(), True)),
        (
            ["--first", "3", "--features", "a,b", "--no-header"],
            ("x", Pair(3), Reading(features=("a", "b"), header=False), False),
        ),
    ],
)
def test_options_that_belong_together_are_one_value(words: list[str], found: object) -> None:
    asked: list[object] = []

    @reads_events()
    @takes(Pair, "pair")
    def command(name: str, *, pair: Pair, reading: Reading, last: bool = False) -> None:
        asked.append((name, pair, reading, last))

    app = typer.Typer(add_completion=False)
    app.command()(command)
    ran = CliRunner().invoke(app, ["x", *words])
    assert ran.exit_code == 0, ran.output
    assert asked == [found]
    refused = CliRunner().invoke(app, ["x", "--first", "-1"])
    assert (refused.exit_code, len(asked)) == (2, 1)
    assert "not below 0" in refused.output
