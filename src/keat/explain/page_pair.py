"""The page's section on the pair term: what is known of the two, what it is worth, and how long it lasts."""

from __future__ import annotations

from html import escape

from keat.explain.pair_wording import by_width, evidence
from keat.explain.scored import Scored
from keat.explain.wording import signed


def pair_section(x: Scored) -> str:
    """Nothing where the model has no pair term."""
    if x.pair is None:
        return ""
    return f"<section><h2>What the two have been to each other</h2>{pair_tables(x)}</section>"


def pair_tables(x: Scored) -> str:
    """Each kind of evidence, and each width, with its effect."""
    if x.pair is None:
        return ""
    known, widths = evidence(x.pair, x.unit), by_width(x.pair, x.unit)
    reach = max(abs(effect) for effect in (*x.pair.effects.values(), *x.pair.width_effects)) or 1.0
    of_groups = "\n".join(
        f'<tr><td class="wide"><span class="who">{escape(one.group)}</span></td>'
        f'<td class="wide">{escape(one.known)}</td>{effect_cells(one.effect, reach)}</tr>'
        for one in known
    )
    of_widths = "\n".join(
        f'<tr><td><span class="who">{escape(one.width)}</span></td>'
        f'<td class="right" data-label="meetings">{one.meetings:.3g}</td>'
        f'<td class="right" data-label="to the destination">{one.to_candidate:.3g}</td>'
        f"{effect_cells(one.effect, reach)}</tr>"
        for one in widths
    )
    return f"""<p class="hint">The pair term adds {signed(x.pair.logit)} to the score; it
{escape(x.pair.remembers(x.unit))}.
<span class="key alpha-key"></span>Effect: how much lower the score would be with that part as for
strangers. The parts work together, so effects need not add up.</p>
<table><thead><tr><th>evidence</th><th>what is known</th><th>effect −{reach:.2f} … +{reach:.2f}</th>
<th class="right">effect</th></tr></thead>
<tbody>
{of_groups}
</tbody></table>
<h3 class="hint">By how long it is remembered</h3>
<table><thead><tr><th>memory</th><th class="right">Σ exp(−age/width) over their meetings</th>
<th class="right">over all events to {escape(str(x.destination))}</th><th>effect</th>
<th class="right">effect</th></tr></thead>
<tbody>
{of_widths}
</tbody></table>"""


def effect_cells(effect: float, reach: float) -> str:
    """A bar on an axis from -reach to reach, and the number."""
    part = effect / reach
    bar = f"left:{50 + 50 * min(part, 0):.2f}%;width:{50 * abs(part):.2f}%"
    return (
        f'<td class="wide"><div class="logits"><i class="zero"></i><i class="effect" style="{bar}"></i></div>'
        f'</td><td class="right" data-label="effect">{signed(effect)}</td>'
    )
