"""`keat explain` of a run that labels events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from keat.cli.console import out, print_table

if TYPE_CHECKING:
    from keat.explain import EventExplanation
    from keat.explain.label_asker import LabelAsker

SHOWN = 12  # rows of a table


def labelled_events(
    asker: LabelAsker,
    event: int | None,
    worst: int | None,
    split: str,
    pair: tuple[str | None, str | None],
    when: int | None,
) -> list[EventExplanation]:
    """Explanations of scores of events: those of the highest scores, one by its number, or one between two
    nodes, where it has no features."""
    if worst is not None:
        return list(asker.worst(worst, split))  # type: ignore[arg-type]
    if event is not None:
        return [asker.event(event)]
    assert pair[0] is not None
    assert pair[1] is not None
    return [asker.pair(pair[0], pair[1], when)]


def show_event(x: EventExplanation) -> None:
    """All but the sentence why, which comes first for every explanation."""
    from keat.explain.event_wording import counterfactual, facts_line, model_line, part_row, what_is_usual
    from keat.explain.phrases import short_ago, signed

    out.print(f"{x.source} → {x.destination} scored {signed(x.score, plus=False)}")
    out.print(f"{model_line(x)}\n{facts_line(x)}")
    parts = (part_row(x, part) for part in x.parts[:SHOWN])
    rows = [[part, known, instead, signed(effect), score] for part, known, instead, effect, score in parts]
    effect = "effect: how much lower the score would be with that part replaced; effects need not add up."
    caption = f"{effect}{_left_out(len(x.parts), 'part')} {what_is_usual(x)}"
    columns = ["part", "known", "instead", "effect", "score then"]
    if rows:
        print_table("What each part is worth", columns, rows, caption, text_columns=3)
    past = [
        [
            f"{one.end} with {one.other}",
            "–" if one.row is None else str(one.row),
            short_ago(one.since, x.unit),
            f"{100 * one.attention:.0f}",
            signed(one.effect),
            signed(one.score, plus=False),
        ]
        for one in x.past[:SHOWN]
    ]
    if past:
        columns = ["event", "row", "age", "attention %", "effect", "without it"]
        caption = (
            "without it: the score with that event out of the attention of both; memory stays as it was."
            + _left_out(len(x.past), "past event")
        )
        print_table("Past events that were looked at", columns, past, caption)
    out.print(counterfactual(x))


def _left_out(number: int, what: str) -> str:
    more = number - SHOWN
    return (
        f" {more} more {what}{'s' if more > 1 else ''} with smaller effects: see the page."
        if more > 0
        else ""
    )
