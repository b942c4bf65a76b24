"""`keat predict`: likely destinations, scores of pairs, embeddings, from a trained run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keat.cli.console import out, print_json, print_table
from keat.cli.options import Json, at_least


def predict_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run (keat train --out).")],
    source: Annotated[
        str | None,
        typer.Option(help="Rank destinations for this node; of a node-property run, their coming shares."),
    ] = None,
    at: Annotated[
        int | None, typer.Option("--time", help="When; by default right after what the run has seen.")
    ] = None,
    top: Annotated[int, typer.Option(callback=at_least(1), help="How many destinations.")] = 10,
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
    json: Json = False,
) -> None:
    """Ask a trained run: top destinations of a source, scores of given pairs, or all embeddings."""
    if sum(option is not None for option in (source, pairs, embeddings)) != 1:
        raise typer.BadParameter("Give exactly one of --source, --pairs and --embeddings.")
    from keat.training.node_predict import coming_shares, score_events  # these bring torch
    from keat.training.predict import score_pairs, top_destinations, write_embeddings
    from keat.training.runs import open_run

    model, description, ids = open_run(run)
    now = at if at is not None else model.last_time() + 1
    about_nodes = "head" in description
    if source is not None and about_nodes:
        rows = coming_shares(model, ids, source, now, top, description["head"].get("first_class", 0))
        if json:
            print_json({"node": source, "time": now, "shares": rows})
        else:
            shares = [[str(row["node"]), f"{row['share']:.4f}"] for row in rows]
            caption = f"how {source} will divide the period after {now - 1:,} ({description['unit']})"
            print_table(f"{source} next", ["node", "share"], shares, caption)
    elif source is not None:
        rows = top_destinations(model, ids, source, now, top)
        if json:
            print_json({"source": source, "time": now, "destinations": rows})
        else:
            table = [[str(row["node"]), f"{row['score']:.4f}", f"{row['probability']:.3f}"] for row in rows]
            caption = f"at {now:,} ({description['unit']}); probability is of the pair alone, uncalibrated"
            print_table(f"Likely destinations of {source}", ["node", "score", "probability"], table, caption)
    elif pairs is not None:
        rows = (score_events if about_nodes else score_pairs)(model, ids, pairs, now)
        if json:
            print_json({"pairs": rows})
        else:
            table = [
                [str(r["source"]), str(r["destination"]), str(r["time"]), f"{r['score']:.4f}"] for r in rows
            ]
            print_table(
                f"Scores of {len(rows)} pairs",
                ["source", "destination", "time", "score"],
                table,
                text_columns=2,
            )
    elif embeddings is not None:
        count = write_embeddings(model.encoder if about_nodes else model, ids, embeddings, now)
        if json:
            print_json({"nodes": count, "file": str(embeddings)})
        else:
            out.print(f"{count:,} embeddings in {embeddings}")
