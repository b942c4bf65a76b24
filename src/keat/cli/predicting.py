"""`keat predict`: likely destinations, scores of pairs, embeddings, from a trained run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from keat.cli import whole_graph
from keat.cli.console import print_json, print_line, print_table
from keat.cli.options import Json, at_least
from keat.errors import InputError


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
    from keat.cli.running import run_description  # these bring torch
    from keat.runs.run import open_kept
    from keat.training.predict import write_embeddings

    of_graph = run_description(str(run)).get("model") in whole_graph.NAMES
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
    now = opened.moment(at)
    about_nodes = "head" in description
    if about_nodes and pairs is not None and opened.reading.encoding is not None:
        raise InputError(
            f"{run} was trained on scaled or categorical features, which a file of pairs cannot have; train "
            "without --scale and --categorical to score events one by one."
        )
    if source is not None:
        (_show_shares if about_nodes else _show_destinations)(model, description, ids, source, now, top, json)
    elif pairs is not None:
        _show_scores(model, ids, pairs, now, about_nodes, json)
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
    model: Any, description: dict[str, Any], ids: Any, source: str, now: int, top: int, json: bool
) -> None:
    from keat.runs.moments import spoken
    from keat.training.predict import top_destinations

    rows = top_destinations(model, ids, source, now, top)
    if json:
        print_json({"source": source, "time": now, "destinations": rows})
        return
    table = [[str(row["node"]), f"{row['score']:.4f}", f"{row['probability']:.3f}"] for row in rows]
    caption = f"at {spoken(now, description['unit'])}; probability is of the pair alone, uncalibrated"
    print_table(f"Likely destinations of {source}", ["node", "score", "probability"], table, caption)


def _show_scores(model: Any, ids: Any, pairs: Path, now: int, about_nodes: bool, json: bool) -> None:
    from keat.training.node_predict import score_events
    from keat.training.predict import score_pairs

    rows = (score_events if about_nodes else score_pairs)(model, ids, pairs, now)
    if json:
        print_json({"pairs": rows})
        return
    table = [[str(r["source"]), str(r["destination"]), str(r["time"]), f"{r['score']:.4f}"] for r in rows]
    columns = ["source", "destination", "time", "score"]
    print_table(f"Scores of {len(rows)} pairs", columns, table, text_columns=2)
