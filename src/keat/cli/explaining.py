"""`keat explain`: why a pair or an event scored as it did, as numbers, a picture and a page."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keat.cli.console import out, print_json, print_line, print_table
from keat.cli.options import Json, at_least, open_dataset, reads_events
from keat.disk import require_folder
from keat.errors import InputError, MissingExtraError, Notice
from keat.events import Reading, humanize

if TYPE_CHECKING:
    from keat.explain import Explanation, Scored


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
        int | None, typer.Option(callback=at_least(1), help="Or so many events that were ranked worst.")
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
    """Why a pair scored as it did: its past events, node and edge parts, what-ifs, and its pair term.

    Writes a page with a slider (HTML, nothing else needed) and a picture of each explanation.
    """
    pair = src is not None and dst is not None
    if sum((pair, event is not None, worst is not None)) != 1 or (src is None) != (dst is None):
        raise typer.BadParameter("Give exactly one of --src with --dst, --event and --worst.")
    if split not in ("val", "test"):
        raise typer.BadParameter(f"--split must be val or test, not {split}.")
    from keat.explain.asking import Asker  # brings torch: not for --help
    from keat.explain.replaying import replay as replay_history
    from keat.explain.wording import duration, three_days
    from keat.runs.explaining import subject_of
    from keat.runs.moments import parsed

    data = None
    subject = subject_of(run)
    if dataset is not None:
        data = open_dataset(dataset, reading)
    asker = Asker(subject, data)
    if older is not None and not asker.attends:
        raise InputError(
            f"{asker.names.model} attends to no past event that could be older; leave --older out."
        )
    shift = three_days(asker.names.unit) if older is None else duration(older, asker.names.unit)
    require_folder(folder)  # before the work, which comes before anything is written
    if worst is not None:
        found = list(asker.worst(worst, split, shift))  # type: ignore[arg-type]
    elif event is not None:
        found = [asker.event(event, shift)]
    else:
        assert src is not None
        assert dst is not None
        when = None if time is None else parsed(time, asker.names.unit)
        found = [asker.pair(src, dst, when, shift)]
    again = [
        {"replayed": asdict(replay_history(asker, explanation))} if replay else {} for explanation in found
    ]
    told = [_write(explanation, folder, place) | again[place] for place, explanation in enumerate(found)]
    if json:
        print_json({"explanations": told})
        return
    for explanation, files in zip(found, told, strict=True):
        _show(explanation)
        for kind in ("page", "picture"):
            if files[kind]:
                print_line(f"The {kind}: {files[kind]}")
        if replay:
            _show_replay(explanation, files["replayed"])


def _write(explanation: Scored, folder: Path, place: int) -> dict[str, Any]:
    """Page and picture; what the picture needs may be missing, the page needs nothing."""
    from keat.explain.page import write_page
    from keat.explain.picture import write_picture

    stem = folder / f"explanation-{place + 1}"
    page, picture = stem.with_suffix(".html"), stem.with_suffix(".png")
    write_page(explanation, page)
    drawn: str | None = str(picture)
    try:
        write_picture(explanation, picture)
    except MissingExtraError as error:
        warnings.warn(str(error), Notice, stacklevel=1)
        drawn = None
    return explanation.to_json() | {"page": str(page), "picture": drawn}


def _show(x: Scored) -> None:
    from keat.explain import Explanation
    from keat.explain.page import facts_line, model_line, story
    from keat.explain.wording import signed

    out.print(x.why, style="bold")
    out.print(f"{x.source} → {x.destination} scored {signed(x.score, plus=False)}")
    out.print(f"{model_line(x)}\n{facts_line(x)}")
    if x.pair is not None:
        _show_pair(x)
    if isinstance(x, Explanation):
        _show_attention(x)
    out.print(story(x))


def _show_replay(x: Scored, again: dict[str, Any]) -> None:
    from keat.explain.wording import signed

    before, after = (signed(again[name], plus=False) for name in ("as_it_was", "if_older"))
    effect = f"{signed(again['effect'])}, from {before} to {after}"
    told = f"Replayed from the first event, memory included: {effect}."
    if again["why"] is not None:
        told += f" It starts from {before}, not {signed(x.score, plus=False)}, since {again['why']}."
    out.print(told)


def _show_pair(x: Scored) -> None:
    from keat.explain.pair_wording import by_width, evidence
    from keat.explain.wording import signed

    assert x.pair is not None
    beside = "" if x.model["name"] == "keat-rank" else f", embeddings {signed(x.score_of_embeddings)}"
    out.print(f"pair term {signed(x.pair.logit)}{beside}\nThe pair term {x.pair.remembers(x.unit)}.")
    known = [[one.group, one.known, signed(one.effect)] for one in evidence(x.pair, x.unit)]
    columns = ["evidence", "what is known", "effect"]
    print_table("What the two have been to each other", columns, known, text_columns=2)
    widths = [
        [one.width, f"{one.meetings:.3g}", f"{one.to_candidate:.3g}", signed(one.effect)]
        for one in by_width(x.pair, x.unit)
    ]
    columns = ["memory", "Σ over meetings", f"Σ over events to {x.destination}", "effect"]
    caption = "effect: how much lower the score would be with that part as for strangers."
    print_table("By how long it is remembered", columns, widths, caption)


def _show_attention(x: Explanation) -> None:
    from keat.explain.page_tables import LOGIT_PARTS, logit_parts
    from keat.explain.wording import short_ago, signed

    out.print(
        f"memory alone {signed(x.score_of_memory, plus=False)}, faithfulness "
        + ("–" if math.isnan(x.deletion.faithfulness) else f"{x.deletion.faithfulness:.2f} (1 is chance)")
    )
    logits = LOGIT_PARTS[x.model["modulate"]]
    own_clock = x.model["delta"] == "neighbor"
    columns = ["with", "row", "age", *(["Δ"] if own_clock else []), "ψ", *logits, "α %", "older", "gone"]
    for end in x.ends:
        if not end.neighbors:
            out.print(f"The {end.role}, {end.node}, has no past event.")
            continue
        rows = [
            [
                str(n.node),
                "–" if n.row is None else str(n.row),
                *(short_ago(age, x.unit) for age in ((n.since, n.age) if own_clock else (n.since,))),
                f"{sum(n.psi) / len(n.psi):.2f}",
                *(f"{part:.2f}" for part in parts),
                "·".join(f"{100 * alpha:.0f}" for alpha in n.alpha),
                *(signed(score, plus=False) for score in (n.score_if_older, n.score_without)),
            ]
            for n, parts in zip(end.neighbors, logit_parts(x, end), strict=True)
        ]
        print_table(f"Past events of the {end.role}, {end.node}", columns, rows)
    if not x.has_past:
        return
    legend = (
        "ψ and logits are means over heads, node against its mean; α, the attention, by head.\n"
        f"older: the score had the event been {humanize(x.older, x.unit)} older; gone: with it out of the "
        "attention. Both are asked of both ends at once; memory stays as it was."
    )
    if own_clock:
        legend += (
            "\nage: at the question; Δ: at the neighbour's last update, which is what ψ and φ are given. "
            "Where an event was that update, older moves it too."
        )
    out.print(legend, style="italic")
