"""`keat data`: what there is, what is in it, and getting it."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from keat.analysis.gaps import gap_summaries
from keat.analysis.novelty import surprise
from keat.cli.console import print_json, print_line, print_table, progress_bar
from keat.cli.options import DatasetArgument, Json, open_dataset, reads_events
from keat.datasets.cache import open_dataset as open_named
from keat.datasets.data_folder import data_folder
from keat.datasets.dataset_entries import DATASETS, dataset_info
from keat.datasets.example import write_example
from keat.datasets.loading import SIMULATED, Dataset
from keat.datasets.payments import FEATURES
from keat.disk import bytes_of
from keat.events import Reading, humanize
from keat.events.occurring import distinct_times, occurring
from keat.events.preparing import prepare_events
from keat.events.written_times import spoken

app = typer.Typer(no_args_is_help=True, help="List, inspect, download and prepare datasets.")


@app.command("list")
def list_command(json: Json = False) -> None:
    """The datasets keat knows by name."""
    here = {name: (data_folder() / name / "stream" / "stream.json").exists() for name in DATASETS}
    if json:
        print_json({"datasets": [d.to_json() | {"downloaded": here[d.name]} for d in DATASETS.values()]})
        return
    rows = [
        [d.name, d.task, _short(d.nodes), _short(d.edges), _short(d.msg_dim), "yes" if here[d.name] else "no"]
        for d in DATASETS.values()
    ]
    rows.append([SIMULATED, "link-ranking", "any", "any", str(len(FEATURES)), "built in"])
    columns = ["name", "task", "nodes", "edges", "features", "here"]
    caption = f"Kept in {data_folder()} (set KEAT_DATA to change).\nAll details: keat data list --json"
    print_table("Datasets", columns, rows, caption, text_columns=2)


@app.command("example")
def example_command(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Where to write orders.csv and today.csv.")
    ] = Path(),
    json: Json = False,
) -> None:
    """Write a small log of simulated orders to try things on, and the orders of the day after."""
    written = write_example(folder)
    if json:
        print_json({"files": {str(folder / name): rows for name, rows in written.items()}})
        return
    for name, rows in written.items():
        print_line(f"{folder / name}: {rows:,} orders")


@app.command("get")
def get_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name of 'keat data list'.")],
    json: Json = False,
) -> None:
    """Download a dataset and convert it once; resumes where it stopped."""
    info = dataset_info(name)
    with progress_bar(f"getting {name}", unit="bytes") as progress:
        stream = open_named(name, progress=progress)
    if json:
        sizes = {"rows": len(stream), "nodes": stream.num_nodes}
        print_json({"name": name, **sizes, "folder": str(data_folder() / name)})
    else:
        print_line(f"{stream!r} is in {data_folder() / info.name}")


@app.command("info")
@reads_events()
def info_command(
    dataset: DatasetArgument,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Rows, nodes, time span, splits, σ, and how gaps between events drift from split to split."""
    data = open_dataset(dataset, reading)
    facts = describe(data)
    if json:
        print_json(facts)
        return
    unit = data.stream.unit
    first, last = (
        str(facts[end]) if unit == "year" else spoken(facts[end], unit) for end in ("t_min", "t_max")
    )
    ends = f"{facts['sources']:,} sources, {facts['destinations']:,} destinations"
    lines = [
        ["events", f"{facts['rows']:,}"],
        ["nodes", f"{facts['nodes']:,} ({ends})"],
        ["features", f"{facts['features']} for each event" if facts["features"] else "none"],
        ["labels", facts["labels"] or "none"],
        ["time", f"{first} to {last}, {humanize(data.stream.span, unit)}"],
        ["distinct times", f"{facts['steps']:,}"],
        ["splits", " / ".join(f"{size:,}" for size in facts["splits"].values()) + " (train / val / test)"],
        ["new pairs in test", f"{100 * facts['surprise']:.1f} % of events are the first of their pair"],
        ["σ", f"{_number(facts['sigma'])} {unit} ({humanize(facts['sigma'], unit)}), from training"],
    ]
    print_table(data.name, ["what", "value"], lines, text_columns=2)
    gaps = [
        [
            name,
            f"{g['count']:,}",
            *(humanize(g[q], unit) for q in ("p10", "median", "p90")),
            f"{g['drift']:.2f}",
        ]
        for name, g in facts["gaps"].items()
        if g
    ]
    caption = (
        "gaps to a node's previous event; drift: Kolmogorov-Smirnov distance to the second "
        "half of training, as far back as its first half reaches, 0 the same … 1 disjoint"
    )
    print_table(
        "Gaps between events of a node", ["split", "gaps", "10 %", "median", "90 %", "drift"], gaps, caption
    )


@app.command("prepare")
@reads_events()
def prepare_command(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILES", help="CSV, Parquet or Arrow files, in their order.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder of the stream, which is not there yet.")],
    name: Annotated[str | None, typer.Option("--name", help="Name of the stream.")] = None,
    memory: Annotated[str, typer.Option("--memory", help="How much memory may be used.")] = "2GB",
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin anew what was begun with other files or options.")
    ] = False,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Make a stream of files that are larger than memory: sorted by time, with dense ids. Continues where an
    earlier attempt was interrupted."""
    limit = bytes_of(memory)
    start = time.perf_counter()
    with progress_bar(f"preparing {out}", unit="steps") as progress:
        prepared = prepare_events(
            files, out, reading, name=name, memory=limit, restart=restart, progress=progress
        )
    if json:
        facts = dataclasses.asdict(prepared) | {"folder": str(prepared.folder)}
        print_json(facts | {"seconds": round(time.perf_counter() - start, 3)})
        return
    print_line(
        f"{prepared.folder}: {prepared.events:,} events of {prepared.nodes:,} nodes, "
        f"{prepared.features} features, time in {prepared.unit}"
    )


def describe(data: Dataset) -> dict[str, Any]:
    """The facts of a dataset as plain values."""
    stream = data.stream
    labels = None
    if stream.labels is not None:
        labels = f"{int(np.count_nonzero(stream.labels)):,} of {len(stream):,} events are not 0"
    return {
        "name": data.name,
        "rows": len(stream),
        "nodes": stream.num_nodes,
        "sources": len(occurring(stream.src, stream.num_nodes)),
        "destinations": len(occurring(stream.dst, stream.num_nodes)),
        "features": stream.feature_dim,
        "labels": labels,
        "unit": stream.unit,
        "t_min": int(stream.t[0]),
        "t_max": int(stream.t[-1]),
        "steps": distinct_times(stream.t),
        "splits": data.splits.sizes,
        "surprise": surprise(data.stream, data.test),
        "sigma": data.sigma(),
        "gaps": {name: g and dataclasses.asdict(g) for name, g in gap_summaries(data.splits).items()},
    }


def _number(value: float) -> str:
    """80,111.6, and 0.0822 rather than 0.1."""
    return f"{value:,.1f}" if value >= 10 else f"{value:.3g}"


def _short(number: int | None) -> str:
    """4,873,540 as 4.87 M; a question mark where nothing is published."""
    if number is None:
        return "?"
    for size, suffix in ((1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.3g}{suffix}"
    return str(number)
