"""Running the `keat` command: inside this process, which is quick, or for real, in one of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import typer.main

from keat.cli import main
from keat.errors import Notice


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on standard output, where nothing else may be."""
        lines = self.out.splitlines()
        assert len(lines) == 1, self
        value = json.loads(lines[0], parse_constant=_no_constant)
        assert isinstance(value, dict)
        return value

    @property
    def notes(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith("note: ")]


def _no_constant(name: str) -> None:
    """Python reads NaN and Infinity; JSON has no such words."""
    raise AssertionError(f"{name} is no JSON")


_build_once = cache(typer.main.get_command)  # of all options of all verbs, which takes as long as most tests


def keat(*arguments: str | Path) -> Ran:
    """Run the command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["keat", *map(str, arguments)]),
        mock.patch("typer.main.get_command", _build_once),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),  # the command shows notices in its own way; afterwards all is as before
    ):
        warnings.simplefilter("always", Notice)
        try:
            main()
        except SystemExit as end:
            return Ran(int(end.code or 0), out.getvalue(), err.getvalue())
    raise AssertionError("the command did not exit")


def process(*arguments: str | Path, **environment: str) -> Ran:
    """Run the installed command."""
    done = subprocess.run(
        [Path(sys.executable).with_name("keat"), *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def assert_fails(ran: Ran) -> str:
    """It failed with exactly one sentence, which is returned, and printed nothing else."""
    assert ran.code == 1, ran
    assert ran.out == ""
    lines = ran.err.splitlines()
    assert len(lines) == 1, ran.err
    assert lines[0].startswith("error: ")
    assert lines[0].endswith((".", "?"))
    assert "Traceback" not in ran.err
    assert "inside keat" not in ran.err
    return lines[0].removeprefix("error: ")


def write_orders(folder: Path, events: int = 400) -> Path:
    """A log with string ids (accents, spaces, an ampersand), datetimes and a feature, in time order."""
    shops = ["corner café", "books & co", "gym", *(f"shop-{k}" for k in range(9))]
    lines = ["customer,shop,when,amount"]
    for k in range(events):
        minute, hour, day = k % 60, k // 60 % 24, 1 + k // 1440
        time = f"2024-01-{day:02} {hour:02}:{minute:02}:00"
        lines.append(f"C-{k * 7 % 31:03},{shops[k * k % 11]},{time},{k % 50}.5")
    path = folder / "orders.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


ORDERS = ("--src", "customer", "--dst", "shop", "--time", "when")
