"""Options made of the fields of a dataclass."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
import typer
from typer.testing import CliRunner

from keat.cli.generated_options import given_settings, offered, options_of, read_settings
from keat.cli.options import with_parameters
from keat.errors import InputError, UnknownNameError
from keat.models.settings import setting
from keat.models.tgn import TGNConfig
from keat.runs.spec import configuration
from keat.training.fit import FitConfig


@dataclass(frozen=True)
class Toy:
    size: int = setting(3, "How large.")
    depth: int = setting(2, "How deep.", option="toy-depth")
    odd: bool = setting(False, "Whether odd.")
    even: bool = setting(True, "Whether even.")
    most: float | None = setting(None, "At most.")


def test_a_field_is_an_option_without_more() -> None:
    asked: dict[str, object] = {}

    def command(**given: object) -> None:
        asked.update(given)

    app = typer.Typer(add_completion=False)
    app.command()(with_parameters(command, [*options_of({"toy": Toy()}, "toy_", "Toys").values()]))
    run = CliRunner().invoke(app, ["--size", "4", "--toy-depth", "5", "--odd", "--no-even", "--most", "1"])
    assert run.exit_code == 0, run.output
    typed = {name: value for name, value in asked.items() if value is not False}
    changes = given_settings(typed, "toy_")
    assert changes == {"size": 4, "depth": 5, "odd": True, "even": False, "most": 1.0}
    shown = CliRunner().invoke(app, ["--help"]).output
    assert re.search(r"--size +<?\w+>? +How large\. \[default: 3\]", shown)
    assert "--no-even" in shown
    assert "--no-odd" not in shown


def test_settings_of_streams_are_not_offered_to_models_of_whole_graphs() -> None:
    of_streams = {"batch_size", "recipe", "loss", "negatives", "historical", "bf16", "schedule", "budget"}
    every = {each.name for each in offered(FitConfig())}
    assert every - {each.name for each in offered(FitConfig(), of_graph=True)} == of_streams
    union = options_of({"a": FitConfig(), "g": FitConfig()}, "", "Training", of_graphs=["g"])
    assert union["loss"].annotation.__metadata__[0].help.endswith("Of a.")


def test_settings_have_the_type_of_their_field() -> None:
    assert read_settings(
        "tgn", TGNConfig(), ["neighbors=20", "dropout=0.5", "shared_edge_weights=false"]
    ) == {
        "neighbors": 20,
        "dropout": 0.5,
        "shared_edge_weights": False,
    }


@pytest.mark.parametrize(
    ("item", "message"),
    [("neighbors", "NAME=VALUE"), ("neighbors=many", "is not one"), ("shared_edge_weights=2", "is not one")],
)
def test_settings_that_are_not(item: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_settings("tgn", TGNConfig(), [item])


def test_settings_a_model_does_not_have() -> None:
    with pytest.raises(UnknownNameError, match="neighbors"):
        read_settings("tgn", TGNConfig(), ["neighbours=3"])
    with pytest.raises(InputError, match="graphmixer has no setting 'delta'"):
        configuration("graphmixer", delta="query")
