"""`keat predict`: likely destinations, scores of pairs, embeddings, from a trained run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keat.cli.console import print_json, print_line, print_table
from keat.cli.options import Json, at_least
from keat.errors import InputError

if TYPE_CHECKING:
    from keat.runs import Answer, Run

NUMBERS = {"score": ".4f", "share": ".4f", "probability": ".3f"}  # how columns are shown


def predict_command(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run (keat train --out).")],
    source: Annotated[
        str | None,
        typer.Option(help="Rank destinations for this node; of a node-property run, their coming shares."),
    ] = None,
    all_sources: Annotated[
        bool, typer.Option("--all-sources", help="Rank destinations for every node that can be a source.")
    ] = False,
    pairs: Annotated[
        Path | None,
        typer.Option(
            help="Score the pairs of this file: source, destination[, time]; of a node-label run, its events "
            "with time and features, as in training."
        ),
    ] = None,
    embeddings: Annotated[
        Path | None, typer.Option(help="Write every node's embedding to this Parquet file.")
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Of a run of a whole graph (gearsage): the most suspect test nodes of this .npz, or of "
            "'dgraphfin'.",
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--time",
            help="When: a date like '2024-05-31 13:45', or a number in the unit of the data; by default "
            "right after what the run has seen.",
        ),
    ] = None,
    top: Annotated[int, typer.Option(callback=at_least(1), help="How many, the best first.")] = 10,
    file: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Write the whole table to this CSV or Parquet file instead of showing it."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Ask a trained run: top destinations of a source or of all, scores of given pairs, embeddings, suspects.

    It answers with everything the run has seen, which keat update adds to.
    """
    questions = {
        "--source": source is not None,
        "--all-sources": all_sources,
        "--pairs": pairs is not None,
        "--embeddings": embeddings is not None,
        "--graph": graph is not None,
    }
    asked = [option for option, given in questions.items() if given]
    if len(asked) != 1:
        raise typer.BadParameter(
            "Give exactly one of --source, --all-sources, --pairs, --embeddings and --graph."
        )
    if file is not None and embeddings is not None:
        raise typer.BadParameter("--embeddings names its file already; leave --out out.")
    from keat.datasets.labelled_graph import open_labelled_graph
    from keat.runs import open  # noqa: A004  (brings torch)
    from keat.runs.answer import LISTS, TABLES, require_table_file

    place = file or embeddings
    if place is not None:  # before the work, not after it
        require_table_file(place, LISTS if embeddings is not None else TABLES)
    run = open(folder)
    _require_answer(run, asked[0])
    of = None
    if graph is not None:
        data = open_labelled_graph(graph)
        answer, title = run.suspects(data, top=top), f"The most suspect nodes of {graph}"
        of = len(data.test)
    elif embeddings is not None:
        answer, title = run.embeddings(at=at), "Embeddings"
    elif pairs is not None:
        answer, title = run.score(pairs, at=at), f"Scores of {pairs.name}"
    else:
        answer, title = _of_sources(run, source, at, top)
    if place is not None:
        answer.write(place)
    if json:
        print_json(_in_json(run, answer, source, at, place, of))
    elif place is not None:
        print_line(f"{len(answer):,} rows in {place}")
    else:
        words = [name for name in answer.column_names if name in ("source", "destination", "node")]
        print_table(title, answer.column_names, _cells(answer), answer.about, text_columns=max(1, len(words)))


def _require_answer(run: Run, asked: str) -> None:
    """What a run can be asked depends on what it was trained for; the sentence has the option for that."""
    kind = run.spec.task.kind
    if run.spec.is_of_graph and asked != "--graph":
        raise InputError(
            f"{run.folder} scores the nodes of a whole graph, and has no pairs and no embeddings; use "
            "--graph FILE for the most suspect of them."
        )
    if asked == "--graph" and not run.spec.is_of_graph:
        raise InputError(f"{run.folder} is no run of a whole graph; ask it with --source or --pairs.")
    if kind == "node-label" and asked in ("--source", "--all-sources"):
        raise InputError(f"{run.folder} labels events, so it is asked about events; use --pairs.")
    if kind == "node-property" and asked in ("--pairs", "--all-sources"):
        raise InputError(f"{run.folder} tells how a node divides its next period; use --source.")


def _of_sources(run: Run, source: str | None, at: str | None, top: int) -> tuple[Answer, str]:
    if source is not None and run.spec.task.kind == "node-property":
        return run.shares(source, at=at, top=top), f"{source} next"
    whom = "all sources" if source is None else source
    return run.rank(source, at=at, top=top), f"Likely destinations of {whom}"


def _in_json(
    run: Run, answer: Answer, source: str | None, at: str | None, place: Path | None, of: int | None
) -> dict[str, object]:
    """The table by what it is about; where it was written to a file, only how many rows that has."""
    if place is not None:
        return {"rows": len(answer), "file": str(place)}
    if "destination" not in answer.column_names:
        if run.spec.is_of_graph:
            return {"of": of, "nodes": answer.to_pylist()}
        return {"node": source, "time": run.moment(at), "shares": answer.to_pylist()}
    if "rank" in answer.column_names:
        return {"source": source, "time": run.moment(at), "destinations": answer.to_pylist()}
    return {"pairs": answer.to_pylist()}


def _cells(answer: Answer) -> list[list[str]]:
    return [[f"{value:{NUMBERS.get(name, '')}}" for name, value in row.items()] for row in answer.to_pylist()]
