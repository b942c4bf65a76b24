"""`keat explain` of a run that scores links."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from keat.cli.console import out, print_table
from keat.errors import InputError
from keat.events import humanize

if TYPE_CHECKING:
    from keat.explain import EventExplanation, Explanation, Scored
    from keat.explain.asker import Asker
    from keat.explain.replay import Replayed


def links(
    asker: Asker,
    event: int | None,
    worst: int | None,
    split: str,
    pair: tuple[str | None, str | None],
    when: int | None,
    older: str | None,
) -> list[Scored]:
    """Explanations of scores of links."""
    from keat.explain.phrases import duration, three_days

    if older is not None and not asker.attends:
        raise InputError(
            f"{asker.names.model} attends to no past event that could be older; leave --older out."
        )
    shift = three_days(asker.names.unit) if older is None else duration(older, asker.names.unit)
    if worst is not None:
        return list(asker.worst(worst, split, shift))  # type: ignore[arg-type]
    if event is not None:
        return [asker.event(event, shift)]
    assert pair[0] is not None
    assert pair[1] is not None
    return [asker.pair(pair[0], pair[1], when, shift)]


def show_link(x: Scored) -> None:
    """All but the sentence why, which comes first for every explanation."""
    from keat.explain import Explanation
    from keat.explain.link_wording import facts_line, model_line, story
    from keat.explain.phrases import signed

    out.print(f"{x.source} → {x.destination} scored {signed(x.score, plus=False)}")
    out.print(f"{model_line(x)}\n{facts_line(x)}")
    if x.pair is not None:
        _show_pair(x)
    if isinstance(x, Explanation):
        _show_attention(x)
    out.print(story(x))


def show_replay(x: Scored | EventExplanation, again: Replayed) -> None:
    """What moving an event in the whole history did."""
    from keat.explain.phrases import signed

    before, after = (signed(score, plus=False) for score in (again.as_it_was, again.if_older))
    told = (
        f"Replayed from the first event, memory included: {signed(again.effect)}, from {before} to {after}."
    )
    if again.why is not None:
        told += f" It starts from {before}, not {signed(x.score, plus=False)}, since {again.why}."
    out.print(told)


def _show_pair(x: Scored) -> None:
    from keat.explain.pair_wording import by_width, evidence
    from keat.explain.phrases import signed

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
    from keat.explain.link_wording import LOGIT_PARTS, logit_parts
    from keat.explain.phrases import short_ago, signed

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
