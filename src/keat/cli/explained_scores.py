"""What `keat explain` prints of an explanation, after the sentence why, which comes first for every one."""

from __future__ import annotations

import math

from keat.cli.console import out, print_table
from keat.events import humanize
from keat.explain import EventExplanation, Explanation, LeftOut, Scored
from keat.explain.contrast import Contrast
from keat.explain.contrast_wording import difference_line, what_an_effect_is
from keat.explain.event_wording import counterfactual, part_row, what_is_usual
from keat.explain.event_wording import facts_line as event_facts_line
from keat.explain.event_wording import model_line as event_model_line
from keat.explain.link_wording import LOGIT_PARTS, facts_line, logit_parts, model_line, story
from keat.explain.pair_wording import by_width, evidence
from keat.explain.phrases import rank_written, short_ago, signed
from keat.explain.replay import ReplayedScores

SHOWN = 12  # rows of a table


def show_explanation(x: Scored | EventExplanation) -> None:
    """The score, the model, and all parts of the score."""
    out.print(f"{x.source} → {x.destination} scored {signed(x.score, plus=False)}")
    if isinstance(x, EventExplanation):
        out.print(f"{event_model_line(x)}\n{event_facts_line(x)}")
        _show_event(x)
        return
    out.print(f"{model_line(x)}\n{facts_line(x)}")
    if x.contrast is not None:
        _show_contrast(x, x.contrast)
    if x.pair is not None:
        _show_pair(x)
    if isinstance(x, Explanation):
        _show_attention(x)
    if isinstance(x, LeftOut):
        _show_left_out(x)
        return  # the most telling is in the sentence why
    out.print(story(x))


def show_replay(x: Scored | EventExplanation, again: ReplayedScores) -> None:
    """What moving an event in the whole history did."""
    before, after = (signed(score, plus=False) for score in (again.as_it_was, again.if_older))
    text = (
        f"Replayed from the first event, memory included: {signed(again.effect)}, from {before} to {after}."
    )
    if again.why is not None:
        text += f" It starts from {before}, not {signed(x.score, plus=False)}, since {again.why}."
    out.print(text)


def _show_event(x: EventExplanation) -> None:
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
    plural = "s" if more > 1 else ""
    return f" {more} more {what}{plural} with smaller effects: see the page." if more > 0 else ""


def _show_left_out(x: LeftOut) -> None:
    rows = [
        [
            f"{one.end} with {one.other}",
            "–" if one.row is None else str(one.row),
            short_ago(one.since, x.unit),
            signed(one.effect),
            signed(x.score - one.effect, plus=False),
        ]
        for one in x.past[:SHOWN]
    ]
    columns = ["event", "row", "age", "effect", "without it"]
    caption = f"without it: the score had that event not been.{_left_out(len(x.past), 'past event')}"
    if rows:
        print_table("Past events of the two", columns, rows, caption)


def _show_contrast(x: Scored, contrast: Contrast) -> None:
    out.print(difference_line(x, contrast))
    rows = [
        [
            one.group,
            f"both: {one.known}"
            if one.known == one.known_of_other
            else f"{x.destination}: {one.known}\n{contrast.other}: {one.known_of_other}",
            signed(one.effect),
            rank_written(one.rank_without),
        ]
        for one in contrast.groups
    ]
    columns = ["evidence", "what is known", "effect", "rank without"]
    title = f"{x.destination} against {contrast.other}"
    print_table(title, columns, rows, what_an_effect_is(x, contrast), text_columns=2)


def _show_pair(x: Scored) -> None:
    assert x.pair is not None
    beside = "" if x.model["name"] == "keat-rank" else f", embeddings {signed(x.score_of_embeddings)}"
    out.print(f"pair term {signed(x.pair.logit)}{beside}\nThe pair term {x.pair.remembers(x.unit)}.")
    rows = [[one.group, one.known, signed(one.effect)] for one in evidence(x.pair, x.unit)]
    columns = ["evidence", "what is known", "effect"]
    print_table("What the two have been to each other", columns, rows, text_columns=2)
    widths = [
        [one.width, f"{one.meetings:.3g}", f"{one.to_candidate:.3g}", signed(one.effect)]
        for one in by_width(x.pair, x.unit)
    ]
    columns = ["memory", "Σ over meetings", f"Σ over events to {x.destination}", "effect"]
    caption = "effect: how much lower the score would be with that part as for strangers."
    print_table("By how long it is remembered", columns, widths, caption)


def _show_attention(x: Explanation) -> None:
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
