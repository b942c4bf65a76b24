"""`keat explain`: why a pair or an event scored as it did, as numbers, a picture and a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keat.cli.console import draw_picture, out, print_json, print_line, progress_bar
from keat.cli.options import Json, RunArgument, at_least, held_out_split, reads_events, takes
from keat.disk import require_folder
from keat.errors import InputError
from keat.events import Reading

if TYPE_CHECKING:
    from keat.explain import EventExplanation, Scored
    from keat.explain.asker import Asker
    from keat.explain.label_asker import LabelAsker
    from keat.explain.replay import ReplayedScores


@dataclass(frozen=True, slots=True)
class Which:
    """The scores to be explained: that of a pair, of an event, or of the events that were ranked worst."""

    src: Annotated[str | None, typer.Option(help="Source of a pair.")] = None
    dst: Annotated[str | None, typer.Option(help="Destination of a pair.")] = None
    against: Annotated[
        str | None,
        typer.Option(
            help="Of a pair: why that destination and not this one, or not the one that ranks first (first)."
        ),
    ] = None
    time: Annotated[
        str | None,
        typer.Option(
            help="When: a date like '2024-05-31 13:45', or a number in the unit of the data; by default "
            "right after the last event."
        ),
    ] = None
    event: Annotated[
        int | None, typer.Option(callback=at_least(0), help="Or an event: its number in the dataset, from 0.")
    ] = None
    worst: Annotated[
        int | None,
        typer.Option(
            callback=at_least(1),
            help="Or so many events that were ranked worst; of a run that labels events, of the highest "
            "scores.",
        ),
    ] = None
    split: Annotated[str, typer.Option(callback=held_out_split, help="Of --worst: val or test.")] = "test"

    def __post_init__(self) -> None:
        pair = self.src is not None and self.dst is not None
        asked = sum((pair, self.event is not None, self.worst is not None))
        if asked != 1 or (self.src is None) != (self.dst is None):
            raise typer.BadParameter("Give exactly one of --src with --dst, --event and --worst.")
        if self.against is not None and not pair:
            raise typer.BadParameter("--against is of a pair; give --src with --dst.")

    def explained(
        self, asker: Asker | LabelAsker, when: int | None, *older: int
    ) -> Sequence[Scored | EventExplanation]:
        """Their explanations. ``older`` is by how much a past event is moved, for who scores links."""
        if self.worst is not None:
            return list(asker.worst(self.worst, self.split, *older))  # type: ignore[arg-type]
        if self.event is not None:
            return [asker.event(self.event, *older)]
        assert self.src is not None
        assert self.dst is not None
        more = {} if self.against is None else {"against": self.against}
        return [asker.pair(self.src, self.dst, when, *older, **more)]  # type: ignore[arg-type]


@reads_events(without=("label",), column_options=True)
@takes(Which, "which")
def explain_command(
    run: RunArgument,
    dataset: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATASET]",
            help="What the run was trained on; without it, a pair is explained with all the run has seen.",
        ),
    ] = None,
    *,
    which: Which,
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
    reading: Reading,
) -> None:
    """Why a pair or a labelled event scored as it did, first in a plain sentence, then in all its parts.

    Writes a page (HTML, nothing else needed) and a picture of each explanation.
    """
    from keat.events.written_times import parsed
    from keat.explain.label_asker import LabelAsker  # brings torch: not for --help
    from keat.explain.replay import replay as replay_history
    from keat.runs.run import open_kept
    from keat.runs.run_subject import asker_of, data_for

    opened = open_kept(run)
    data = None
    if dataset is not None:
        with progress_bar(f"getting {dataset}", unit="bytes") as progress:
            data = data_for(opened, dataset, reading, progress)
    asker = asker_of(opened, data)
    require_folder(folder)  # before the work, which comes before anything is written
    when = None if which.time is None else parsed(which.time, asker.names.unit)
    if isinstance(asker, LabelAsker):
        if older is not None or replay or which.against is not None:
            raise InputError(
                f"{run} labels events; --against, --older and --replay are for runs that score links."
            )
        _write_and_show(which.explained(asker, when), [], folder, json=json)
        return
    found = which.explained(asker, when, _shift(asker, older))
    again = [replay_history(asker, explanation) for explanation in found] if replay else []  # type: ignore[arg-type]
    _write_and_show(found, again, folder, json=json)


def _shift(asker: Asker, older: str | None) -> int:
    """By how much a past event is moved, in the unit of the data."""
    from keat.explain.phrases import duration, three_days

    if older is None:
        return three_days(asker.names.unit)
    if not asker.attends:
        raise InputError(
            f"{asker.names.model} attends to no past event that could be older; leave --older out."
        )
    return duration(older, asker.names.unit)


def _write_and_show(
    found: Sequence[Scored | EventExplanation], again: Sequence[ReplayedScores], folder: Path, *, json: bool
) -> None:
    """Writes a page and a picture of each, and prints it; ``again`` is what a replay of each found."""
    from keat.cli.explained_scores import show_explanation, show_replay  # brings torch

    files = [_write(explanation, folder, number) for number, explanation in enumerate(found, start=1)]
    if json:
        replayed = [{"replayed": asdict(one)} for one in again] or [{}] * len(found)
        every = zip(found, files, replayed, strict=True)
        print_json({"explanations": [x.to_json() | written | more for x, written, more in every]})
        return
    for place, (explanation, written) in enumerate(zip(found, files, strict=True)):
        out.print(explanation.why, style="bold")
        show_explanation(explanation)
        for kind, path in written.items():
            if path is not None:
                print_line(f"The {kind}: {path}")
        if again:
            show_replay(explanation, again[place])


def _write(explanation: Scored | EventExplanation, folder: Path, number: int) -> dict[str, str | None]:
    """Page and picture; what the picture needs may be missing, the page needs nothing."""
    from keat.report.explained.explained_page import write_page
    from keat.report.explained.explained_picture import write_picture

    page = folder / f"explanation-{number}.html"
    write_page(explanation, page)
    picture = draw_picture(page.with_suffix(".png"), lambda path: write_picture(explanation, path))
    return {"page": str(page), "picture": None if picture is None else str(picture)}
