"""`keat predict`: likely destinations, scores of pairs, embeddings, from a trained run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keat.cli import whole_graph
from keat.cli.console import print_json, print_line, print_table
from keat.cli.options import Json, at_least
from keat.errors import InputError

if TYPE_CHECKING:
    from keat.calibration.fitting import Calibration

NUMBERS = {"score": ".4f", "share": ".3f", "probability": ".3f"}  # columns, as far as a run has them


def predict_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run (keat train --out).")],
    source: Annotated[
        str | None,
        typer.Option(help="Rank destinations for this node; of a node-property run, their coming shares."),
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
    pairs: Annotated[
        Path | None,
        typer.Option(
            help="Score the pairs of this CSV: source, destination[, time]; of a node-label run, its events: "
            "source, destination, time and features."
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
    json: Json = False,
) -> None:
    """Ask a trained run: top destinations of a source, scores of given pairs, all embeddings, suspects."""
    if sum(option is not None for option in (source, pairs, embeddings, graph)) != 1:
        raise typer.BadParameter("Give exactly one of --source, --pairs, --embeddings and --graph.")
    from keat.runs.run import open_kept  # these bring torch
    from keat.training.description import read_description
    from keat.training.predict import write_embeddings

    of_graph = read_description(run)["model"] in whole_graph.NAMES
    if of_graph and graph is None:
        raise InputError(
            f"{run} scores the nodes of a whole graph, and has no pairs and no embeddings: use --graph FILE "
            "for the most suspect of them."
        )
    if graph is not None:
        if not of_graph:
            raise InputError(f"{run} is no run of a whole graph; ask it with --source or --pairs.")
        whole_graph.predict_whole_graph(run, graph, top, json)
        return
    opened = open_kept(run)
    opened.catch_up()
    model, description, ids = opened.model, opened.description, opened.names
    now, calibration = opened.moment(at), opened.calibration
    about_nodes = "head" in description
    changed = opened.reading.scale or opened.reading.categorical
    if about_nodes and pairs is not None and changed:
        raise InputError(
            f"{run} was trained on scaled or categorical features, which a file of pairs cannot have; train "
            "without --scale and --categorical to score events one by one."
        )
    if source is not None and about_nodes:
        _show_shares(model, description, ids, source, now, top, json)
    elif source is not None:
        _show_destinations(model, description, ids, source, now, top, calibration, json)
    elif pairs is not None:
        _show_scores(model, ids, pairs, now, about_nodes, calibration, json)
    elif embeddings is not None:
        count = write_embeddings(model.encoder if about_nodes else model, ids, embeddings, now)
        if json:
            print_json({"nodes": count, "file": str(embeddings)})
        else:
            print_line(f"{count:,} embeddings in {embeddings}")


def _show_shares(
    model: Any, description: dict[str, Any], ids: Any, source: str, now: int, top: int, json: bool
) -> None:
    from keat.runs.moments import spoken
    from keat.training.node_predict import coming_shares

    rows = coming_shares(model, ids, source, now, top, description["head"].get("first_class", 0))
    if json:
        print_json({"node": source, "time": now, "shares": rows})
        return
    shares = [[str(row["node"]), f"{row['share']:.4f}"] for row in rows]
    caption = f"how {source} will divide the period after {spoken(now - 1, description['unit'])}"
    print_table(f"{source} next", ["node", "share"], shares, caption)


def _show_destinations(
    model: Any,
    description: dict[str, Any],
    ids: Any,
    source: str,
    now: int,
    top: int,
    calibration: Calibration | None,
    json: bool,
) -> None:
    from keat.calibration.wording import about
    from keat.runs.moments import spoken
    from keat.training.predict import top_destinations

    rows = top_destinations(model, ids, source, now, top, calibration)
    if json:
        print_json({"source": source, "time": now, "destinations": rows})
        return
    columns = ["node", *_numbers(rows)]
    caption = f"at {spoken(now, description['unit'])}; {about(calibration)}"
    print_table(f"Likely destinations of {source}", columns, _cells(rows, columns), caption)


def _show_scores(
    model: Any,
    ids: Any,
    pairs: Path,
    now: int,
    about_nodes: bool,
    calibration: Calibration | None,
    json: bool,
) -> None:
    from keat.training.node_predict import score_events
    from keat.training.predict import score_pairs, with_probabilities

    rows = (score_events if about_nodes else score_pairs)(model, ids, pairs, now)
    rows = with_probabilities(rows, calibration)
    if json:
        print_json({"pairs": rows})
        return
    columns = ["source", "destination", "time", *_numbers(rows)]
    print_table(f"Scores of {len(rows)} pairs", columns, _cells(rows, columns), text_columns=2)


def _numbers(rows: list[dict[str, Any]]) -> list[str]:
    return [name for name in NUMBERS if name == "score" or any(name in row for row in rows)]


def _cells(rows: list[dict[str, Any]], columns: list[str]) -> list[list[str]]:
    return [[f"{row[name]:{NUMBERS.get(name, '')}}" for name in columns] for row in rows]
