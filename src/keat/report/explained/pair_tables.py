"""The pair term on a page: what is known of the two, what it is worth, and how long it lasts."""

from __future__ import annotations

from html import escape

from keat.explain.pair_wording import by_width, evidence
from keat.explain.phrases import signed
from keat.explain.scored import Scored
from keat.report.explained.effect_table import EFFECT, Heading, effect_table


def pair_section(x: Scored) -> str:
    """The section on the pair term; nothing where the model has none."""
    if x.pair is None:
        return ""
    return f"<section><h2>What the two have been to each other</h2>{pair_tables(x)}</section>"


def pair_tables(x: Scored) -> str:
    """Each kind of evidence, and each width, with its effect."""
    if x.pair is None:
        return ""
    reach = max(abs(effect) for effect in (*x.pair.effects.values(), *x.pair.width_effects))
    of_groups = effect_table(
        [Heading("evidence"), Heading("what is known"), EFFECT],
        [[one.group, one.known, one.effect] for one in evidence(x.pair, x.unit)],
        reach,
    )
    of_widths = effect_table(
        [
            Heading("memory"),
            Heading("Σ exp(−age/width) over their meetings", "meetings", right=True),
            Heading(f"over all events to {x.destination}", "to the destination", right=True),
            EFFECT,
        ],
        [
            [one.width, f"{one.meetings:.3g}", f"{one.to_candidate:.3g}", one.effect]
            for one in by_width(x.pair, x.unit)
        ],
        reach,
    )
    return f"""<p class="hint">The pair term adds {signed(x.pair.logit)} to the score; it
{escape(x.pair.remembers(x.unit))}.
<span class="key alpha-key"></span>Effect: how much lower the score would be with that part as for
strangers. The parts work together, so effects need not add up.</p>
{of_groups}
<h3 class="hint">By how long it is remembered</h3>
{of_widths}"""
