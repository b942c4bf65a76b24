"""`keat predict`: likely destinations, scores of pairs, embeddings, from a trained run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from keat.cli.console import print_json, print_line, print_table
from keat.cli.options import Json, RunArgument, at_least, takes
from keat.errors import InputError

if TYPE_CHECKING:
    from keat.runs import Answer, Run

NUMBERS = {"score": ".4f", "share": ".4f", "probability": ".3f"}  # how columns are shown


@dataclass(frozen=True, slots=True)
class Question:
    """What a run is asked, one thing at a time."""

    source: Annotated[
        str | None,
        typer.Option(help="Rank destinations for this node; of a node-property run, their coming shares."),
    ] = None
    all_sources: Annotated[
        bool, typer.Option("--all-sources", help="Rank destinations for every node that can be a source.")
    ] = False
    pairs: Annotated[
        Path | None,
        typer.Option(
            help="Score the pairs of this file: source, destination[, time]; of a node-label run, its events "
            "with time and features, as in training."
        ),
    ] = None
    embeddings: Annotated[
        Path | None, typer.Option(help="Write every node's embedding to this Parquet file.")
    ] = None
    graph: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Of a run of a whole graph (gearsage): the most suspect test nodes of this .npz, or of "
            "'dgraphfin'.",
        ),
    ] = None

    def __post_init__(self) -> None:
        if len(self._given()) != 1:
            raise typer.BadParameter(
                "Give exactly one of --source, --all-sources, --pairs, --embeddings and --graph."
            )

    @property
    def option(self) -> str:
        return f"--{self._given()[0].replace('_', '-')}"

    def _given(self) -> list[str]:
        return [name for name, value in asdict(self).items() if value is not None and value is not False]


@takes(Question, "question")
def predict_command(
    folder: RunArgument,
    *,
    question: Question,
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
    if file is not None and question.embeddings is not None:
        raise typer.BadParameter("--embeddings names its file already; leave --out out.")
    from keat.runs import open  # noqa: A004  (brings torch)
    from keat.runs.answer import LISTS, TABLES, require_table_file

    place = file or question.embeddings
    if place is not None:  # before the work, not after it
        require_table_file(place, LISTS if question.embeddings is not None else TABLES)
    run = open(folder)
    _require_answer(run, question.option)
    answer, title, about, rows = _answered(run, question, at, top)
    if place is not None:
        answer.write(place)
    if json:
        written = {"rows": len(answer), "file": str(place)}
        print_json({**about, rows: answer.to_pylist()} if place is None else written)
    elif place is not None:
        print_line(f"{len(answer):,} rows in {place}")
    else:
        words = [name for name in answer.column_names if name in ("source", "destination", "node")]
        cells = [
            [f"{value:{NUMBERS.get(name, '')}}" for name, value in row.items()] for row in answer.to_pylist()
        ]
        print_table(title, answer.column_names, cells, answer.about, text_columns=max(1, len(words)))


def _require_answer(run: Run, option: str) -> None:
    """What a run can be asked depends on what it was trained for; the sentence has the option for that."""
    kind = run.spec.task.kind
    if run.spec.is_of_graph and option != "--graph":
        raise InputError(
            f"{run.folder} scores the nodes of a whole graph, and has no pairs and no embeddings; use "
            "--graph FILE for the most suspect of them."
        )
    if option == "--graph" and not run.spec.is_of_graph:
        raise InputError(f"{run.folder} is no run of a whole graph; ask it with --source or --pairs.")
    if kind == "node-label" and option in ("--source", "--all-sources"):
        raise InputError(f"{run.folder} labels events, so it is asked about events; use --pairs.")
    if kind == "node-property" and option in ("--pairs", "--all-sources"):
        raise InputError(f"{run.folder} tells how a node divides its next period; use --source.")


class _Answered(NamedTuple):
    """An answer, what its table is called, and in JSON: what it is about, and what its rows are."""

    answer: Answer
    title: str
    about: dict[str, object]
    rows: str


def _answered(run: Run, question: Question, at: str | None, top: int) -> _Answered:
    from keat.datasets.labelled_graph import open_labelled_graph

    if question.graph is not None:
        graph = open_labelled_graph(question.graph)
        title = f"The most suspect nodes of {question.graph}"
        return _Answered(run.suspects(graph, top=top), title, {"of": len(graph.test)}, "nodes")
    if question.embeddings is not None:
        return _Answered(run.embeddings(at=at), "Embeddings", {}, "embeddings")
    if question.pairs is not None:
        return _Answered(run.score(question.pairs, at=at), f"Scores of {question.pairs.name}", {}, "pairs")
    source, when = question.source, {"time": run.moment(at)}
    if source is not None and run.spec.task.kind == "node-property":
        answer = run.shares(source, at=at, top=top)
        return _Answered(answer, f"{source} next", {"node": source, **when}, "shares")
    title = f"Likely destinations of {'all sources' if source is None else source}"
    return _Answered(run.rank(source, at=at, top=top), title, {"source": source, **when}, "destinations")
