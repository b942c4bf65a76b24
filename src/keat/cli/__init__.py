"""The `keat` command. Verbs are thin typed functions over the library."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

from keat import __version__
from keat.cli import (
    analyze_command,
    data_command,
    demo_command,
    evaluate_command,
    explain_command,
    predict_command,
    reproduce_command,
    serve_command,
    train_command,
    update_command,
)
from keat.cli.console import out, print_error, show_notices
from keat.disk import reason_of
from keat.errors import KeatError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Learning on streams of timestamped edges: kernelized attention, heuristics, sound evaluation.",
    epilog="DATASET is a name (see: keat data list) or a path to a CSV, Parquet or Arrow file. "
    "Add --debug to any command for a traceback.",
)
app.command("train", cls=train_command.TrainCommand)(train_command.train_command)
app.command("update")(update_command.update_command)
app.command("predict")(predict_command.predict_command)
app.command("serve")(serve_command.serve_command)
app.command("explain")(explain_command.explain_command)
app.add_typer(analyze_command.app, name="analyze")
app.command("demo")(demo_command.demo_command)
app.add_typer(data_command.app, name="data")
app.command("evaluate")(evaluate_command.evaluate_command)
app.command("reproduce")(reproduce_command.reproduce_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"keat {__version__}")
        raise typer.Exit


@app.callback()
def options_before_the_verb(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None: ...


def main() -> None:
    """Run the command: exit 0, 1 (failed) or 2 (bad usage); errors are one sentence, not a traceback."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # torch's waiting threads leave the core to others
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks σ shows a question mark
    show_notices()
    try:
        app(arguments, prog_name="keat")  # leaves by SystemExit: 0, or 2 after a usage error
    except BrokenPipeError:  # the reader of our output went away; nothing to say to anybody
        sys.stderr.close()
        sys.exit(1)
    except Exception as error:
        if debug:
            raise
        print_error(_sentence(error))
        sys.exit(1)


def _sentence(error: Exception) -> str:
    """What went wrong, and what to do about it."""
    if isinstance(error, KeatError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"there is not enough memory for this ({reason_of(error)}); ask for less at a time."
    if isinstance(error, OSError) and error.errno is not None:  # a full disk, a missing right
        what = "a file" if error.filename is None else error.filename
        return f"cannot use {what} ({reason_of(error)}); see to that and try again."
    return (
        f"something went wrong inside keat ({type(error).__name__}: {error}); "
        "run again with --debug for the traceback."
    )
