"""`keat explain`: why a pair or an event scored as it did, as numbers, a picture and a page."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keat.cli.console import out, print_json, print_line, progress_bar
from keat.cli.explaining_events import labelled_events, show_event
from keat.cli.explaining_links import links, show_link, show_replay
from keat.cli.options import Json, at_least, reads_events
from keat.disk import require_folder
from keat.errors import InputError, MissingExtraError, Notice
from keat.events import Reading

if TYPE_CHECKING:
    from keat.explain import EventExplanation, Scored
    from keat.explain.replay import Replayed


@reads_events(without=("label",), column_options=True)
def explain_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run (keat train --out).")],
    dataset: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATASET]",
            help="What the run was trained on; without it, a pair is explained with all the run has seen.",
        ),
    ] = None,
    src: Annotated[str | None, typer.Option("--src", help="Source of a pair.")] = None,
    dst: Annotated[str | None, typer.Option("--dst", help="Destination of a pair.")] = None,
    time: Annotated[
        str | None,
        typer.Option(
            "--time",
            help="When: a date like '2024-05-31 13:45', or a number in the unit of the data; by default "
            "right after the last event.",
        ),
    ] = None,
    event: Annotated[
        int | None, typer.Option(callback=at_least(0), help="Or an event: its number in the dataset, from 0.")
    ] = None,
    worst: Annotated[
        int | None,
        typer.Option(
            callback=at_least(1),
            help="Or so many events that were ranked worst; of a run that labels events, of the highest "
            "scores.",
        ),
    ] = None,
    split: Annotated[str, typer.Option(help="Of --worst: val or test.")] = "test",
    older: Annotated[
        str | None,
        typer.Option(help="“Had this event been … older”: 90s, 30min, 12h, 3d (the default), 2w."),
    ] = None,
    replay: Annotated[
        bool,
        typer.Option("--replay", help="Also replay all events with that one older: its trace in memory too."),
    ] = False,
    folder: Annotated[Path, typer.Option("--out", help="Where pages and pictures go.")] = Path("explained"),
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Why a pair or a labelled event scored as it did, first in a plain sentence, then in all its parts.

    Writes a page (HTML, nothing else needed) and a picture of each explanation.
    """
    pair = src is not None and dst is not None
    if sum((pair, event is not None, worst is not None)) != 1 or (src is None) != (dst is None):
        raise typer.BadParameter("Give exactly one of --src with --dst, --event and --worst.")
    if split not in ("val", "test"):
        raise typer.BadParameter(f"--split must be val or test, not {split}.")
    from keat.explain.label_asker import LabelAsker  # brings torch: not for --help
    from keat.explain.replay import replay as replay_history
    from keat.runs.moments import parsed
    from keat.runs.run import open_kept
    from keat.runs.run_subject import asker_of, data_for

    opened = open_kept(run)
    data = None
    if dataset is not None:
        with progress_bar(f"getting {dataset}", unit="bytes") as progress:
            data = data_for(opened, dataset, reading, progress)
    asker = asker_of(opened, data)
    require_folder(folder)  # before the work, which comes before anything is written
    when = None if time is None else parsed(time, asker.names.unit)
    if isinstance(asker, LabelAsker):
        if older is not None or replay:
            raise InputError(f"{run} labels events; --older and --replay are for runs that score links.")
        _tell(labelled_events(asker, event, worst, split, (src, dst), when), folder, json=json)
        return
    found = links(asker, event, worst, split, (src, dst), when, older)
    again = [replay_history(asker, explanation) for explanation in found] if replay else []
    _tell(found, folder, again, json=json)


def _tell(
    found: Sequence[Scored | EventExplanation], folder: Path, again: Sequence[Replayed] = (), *, json: bool
) -> None:
    """Write pages and pictures, and print; ``again`` is what a replay of each found."""
    from keat.explain import EventExplanation

    files = [_write(explanation, folder, place) for place, explanation in enumerate(found)]
    if json:
        replayed = [{"replayed": asdict(one)} for one in again] or [{}] * len(found)
        told = [x.to_json() | kept | more for x, kept, more in zip(found, files, replayed, strict=True)]
        print_json({"explanations": told})
        return
    for place, (explanation, kept) in enumerate(zip(found, files, strict=True)):
        out.print(explanation.why, style="bold")
        if isinstance(explanation, EventExplanation):
            show_event(explanation)
        else:
            show_link(explanation)
        for kind, path in kept.items():
            if path is not None:
                print_line(f"The {kind}: {path}")
        if again:
            show_replay(explanation, again[place])


def _write(explanation: Scored | EventExplanation, folder: Path, place: int) -> dict[str, str | None]:
    """Page and picture; what the picture needs may be missing, the page needs nothing."""
    from keat.report.explained.explained_page import write_page
    from keat.report.explained.explained_picture import write_picture

    stem = folder / f"explanation-{place + 1}"
    page, picture = stem.with_suffix(".html"), stem.with_suffix(".png")
    write_page(explanation, page)
    drawn: str | None = str(picture)
    try:
        write_picture(explanation, picture)
    except MissingExtraError as error:
        warnings.warn(str(error), Notice, stacklevel=1)
        drawn = None
    return {"page": str(page), "picture": drawn}
