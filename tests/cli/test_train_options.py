"""What `keat train` lets one choose."""

from __future__ import annotations

import re
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from command import ORDERS, assert_fails, keat, write_orders

from keat.cli.generated_options import (
    kinds_of,
    offered,
)
from keat.cli.train_command import MODELS, train_command
from keat.cli.train_options import command_for, trainable
from keat.models.registry import GRAPH_ARCHITECTURES
from keat.models.tgn import TGNConfig
from keat.runs.presets import usual_fit
from keat.runs.run_file import read_run_file
from keat.training import bfloat16


def test_the_help_names_every_model() -> None:
    for name in trainable():
        assert name in MODELS or name.removeprefix("keat-") in MODELS


MODELS_BY_NAME = [pytest.param(name, id=name) for name in trainable()]


def shown_options(*words: str) -> dict[str, str]:
    """What the help of `keat train` says of each option, on one line, by the option."""
    panels = keat("train", *words, "--help").out
    found: dict[str, str] = {}
    option = ""
    for line in panels.splitlines():
        cells = re.match(r"│ +(--[a-z0-9-]+)? *(?:<\w+>|NAME=VALUE)? +(.*?) *│$", line)
        if cells is None:
            option = ""
        elif cells[1]:
            option = cells[1]
            found[option] = cells[2]
        elif option:
            found[option] += f" {cells[2]}"
    return found


@pytest.mark.parametrize("model", MODELS_BY_NAME)
def test_every_setting_of_a_model_is_an_option_with_help_and_its_default(model: str) -> None:
    shown, chosen = shown_options(model), trainable()[model]
    for settings in (chosen.config, chosen.fit):
        for each in offered(settings, of_graph=model in GRAPH_ARCHITECTURES):
            option, default = option_of(each), getattr(settings, each.name)
            if default is True:
                option = f"--no-{option.removeprefix('--')}"
            about = each.metadata["help"]
            assert about.endswith("."), option
            assert shown[option].startswith(about), option
            if isinstance(default, bool) or default in (None, ""):
                assert "default" not in shown[option]
            else:
                assert re.search(rf"\[default: \(?{re.escape(str(default))}[;\]]", shown[option]), option


@pytest.mark.parametrize("model", MODELS_BY_NAME)
def test_the_help_of_a_model_has_no_settings_of_others(model: str) -> None:
    chosen = trainable()[model]
    own = {
        option_of(each)
        for settings in (chosen.config, chosen.fit)
        for each in offered(settings, of_graph=model in GRAPH_ARCHITECTURES)
    }
    generated = {
        option_of(each)
        for other in trainable().values()
        for settings in (other.config, other.fit)
        for each in fields(settings)
    }
    shown = {option.replace("--no-", "--") for option in shown_options(model)}
    assert shown & generated == own


def test_without_a_model_the_help_says_which_models_have_an_option() -> None:
    shown = shown_options()
    assert shown["--messages"].endswith("Of tgn, tncn. [default: v1]")
    assert shown["--ring"].endswith("Of keat-rank. [default: 16]")
    assert shown["--historical"].endswith("Not of gearsage. [default: 0.0]")
    assert "Of tgn, ctan, dyrep, tncn. Walks fade until: query" in shown["--delta"]
    assert "Of tpnet. Age of an edge: target" in shown["--delta"]
    assert shown["--epochs"] == "Epochs, at most. [default: (depends on the model)]"
    assert "keat train MODEL --help shows its own" in keat("train", "--help").out


def test_a_usual_fit_of_node_tasks_is_shown_where_it_differs() -> None:
    links, nodes = usual_fit("tgn"), usual_fit("tgn", "node-property")
    assert links.epochs != nodes.epochs
    assert shown_options("tgn")["--epochs"].endswith(
        f"[default: ({links.epochs}; node tasks {nodes.epochs})]"
    )
    assert shown_options("keat-rank")["--lr"].endswith("[default: 0.003]")


def test_a_setting_has_one_type_and_one_option_whatever_the_model() -> None:
    """Options are parsed before it is known for sure which word is the model."""
    for part in ("config", "fit"):
        known: dict[str, object] = {}
        for chosen in trainable().values():
            settings = getattr(chosen, part)
            for each in fields(settings):
                told = (kinds_of(settings)[each.name], option_of(each))
                assert known.setdefault(each.name, told) == told


def test_no_two_options_have_the_same_name() -> None:
    names = [name for option in command_for(train_command, None).params for name in option.opts]
    assert len(names) == len(set(names)) > 80


def test_every_choice_is_in_the_help() -> None:
    for chosen in trainable().values():
        for settings in (chosen.config, chosen.fit):
            hints = get_type_hints(type(settings))
            for each in fields(settings):
                for choice in get_args(hints[each.name]) if get_origin(hints[each.name]) is Literal else ():
                    assert re.search(rf"\b{choice}\b", each.metadata["help"]), (settings, each.name)


REFUSED = [
    (["tgn", "x.csv", "--cooccurrence", "both"], "tgn has no --cooccurrence; leave it out."),
    (["keat-rank", "x.csv", "--no-shared-edge-weights"], "keat-rank has no --no-shared-edge-weights; leave"),
    (["--out", "tgn", "keat-rank", "x.csv", "--dim", "3"], "keat-rank has no --dim; leave it out."),
    (["keat-gearsage", "g.npz", "--set", "dim=3"], "Unknown setting of keat-gearsage 'dim'"),
    (["keat-gearsage", "g.npz", "--loss", "listwise"], "keat-gearsage has no --loss; leave it out."),
    (["keat-gearsage", "g.npz", "--batch-size", "7"], "keat-gearsage has no --batch-size; leave it out."),
    (["gearsage", "g.npz", "--bf16"], "gearsage has no --bf16; leave it out."),
    (["gearsage", "g.npz", "--task", "node-label"], "gearsage has no --task; leave it out."),
    (["gearsage", "g.npz", "--features", "x"], "gearsage has no --features; leave it out."),
    (["gearsage", "g.npz", "--protocol", "strict"], "gearsage has no --protocol; leave it out."),
    *(
        (["keat-gearsage", "g.npz", *words], f"keat-gearsage has no {words[0]}; leave it out.")
        for words in (
            ["--preset", "paper"],
            ["--label", "odd"],
            ["--period", "day"],
            ["--node-labels", "x.csv"],
            ["--undirected"],
            ["--labelled", "dst"],
            ["--eval-sample", "5"],
            ["--encoder", "run"],
            ["--no-counts"],
            ["--scale"],
            ["--neighbors", "3"],
            ["--train-negatives", "3"],
            ["--recipe", "keat"],
        )
    ),
    (["tgn", "x.csv", "--preset", "nonsense"], "Unknown preset 'nonsense'; known: paper, tgb, usual."),
    (["keat-rank", "x.csv", "--preset", "paper"], "keat-rank is in no table of the paper or of TGB; leave"),
    (["tgn", "x.csv", "--epochs", "0"], "epochs must be at least 1, not 0."),
    (["tgn", "x.csv", "--batch-size", "0"], "batch_size must be at least 1, not 0."),
    (["gearsage", "g.npz", "--epochs", "0"], "epochs must be at least 1, not 0."),
    (["tgn", "x.csv", "--neighbors", "0"], "neighbors must be at least 1, not 0."),
    (
        ["tgn", "x.csv", "--width", "2", "--set", "width=3"],
        "width is given as an option and with --set;",
    ),
    (["tgn", "x.csv", "--bf16", "--no-bf16"], "bf16 is given as yes and as no; give one."),
]


@pytest.mark.parametrize(("words", "told"), [pytest.param(*row, id=" ".join(row[0])) for row in REFUSED])
def test_what_a_model_does_not_have_is_refused_by_a_sentence(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert assert_fails(keat("train", *words)).startswith(told)
    assert list(tmp_path.iterdir()) == []


def test_what_is_typed_arrives(tmp_path: Path) -> None:
    small = (
        "--dim",
        "8",
        "--neighbors",
        "3",
        "--no-shared-edge-weights",
        "--set",
        "width=2",
        "--set",
        "heads=1",
    )
    fit = ("--epochs", "1", "--train-negatives", "2", "--validate-every", "1", "--seed", "3", "--no-bf16")
    orders = (write_orders(tmp_path), *ORDERS)
    done = keat("train", "keat-tgn", *orders, *small, *fit, "--out", tmp_path / "run", "--json")
    assert done.json["seed"] == 3
    spec = read_run_file(tmp_path / "run").spec
    wanted = TGNConfig("laplacian", 2.0, dim=8, neighbors=3, heads=1, shared_edge_weights=False)
    assert spec.config == wanted
    assert (spec.fitting.negatives, spec.fitting.seed, spec.fitting.lr) == (2, 3, usual_fit("keat-tgn").lr)


def option_of(each: Field[Any]) -> str:
    return f"--{each.metadata.get('option', each.name.replace('_', '-'))}"


def test_bfloat16_is_tried_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bfloat16, "TRIAL", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    bfloat16.bfloat16_trouble.cache_clear()
    try:
        options = (*ORDERS, "--epochs", "1", "--out", tmp_path / "run")
        ran = keat("train", "tgn", write_orders(tmp_path), *options, "--bf16")
    finally:
        bfloat16.bfloat16_trouble.cache_clear()
    sentence = ran.err.splitlines()[-1]
    assert (ran.code, ran.out) == (1, "")
    assert sentence.startswith("error: This processor cannot train in bfloat16 (a trial died: illegal instr")
    assert sentence.endswith("leave bf16 out.")
    assert not (tmp_path / "run").exists()
