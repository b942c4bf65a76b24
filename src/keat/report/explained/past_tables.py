"""The page's lists of past events: to choose from, and as tables with bars."""

from __future__ import annotations

from html import escape

import numpy as np
import numpy.typing as npt

from keat.events import humanize
from keat.explain.ends import Neighbor
from keat.explain.explanation import Explanation
from keat.explain.link_wording import LOGIT_PARTS, logit_parts
from keat.explain.phrases import ago, moment, signed
from keat.report.explained.effect_table import bar


def choices(x: Explanation) -> str:
    """Every event, that of the headline chosen, and all events of an end together."""
    options = []
    most = x.most_telling()
    for side, end in enumerate(x.ends):
        if not end.neighbors:
            continue
        options.append(f'<optgroup label="{escape(f"{end.role} {end.node}")}">')
        options.append(f'<option value="{side},-1">all its past events together</option>')
        for k, neighbor in enumerate(end.neighbors):
            chosen = " selected" if most is not None and most[1] is neighbor else ""
            what = f"#{k + 1} with {neighbor.node}, {ago(neighbor.since, x.unit)} ago"
            options.append(f'<option value="{side},{k}"{chosen}>{escape(what)}</option>')
        options.append("</optgroup>")
    return "\n".join(options)


def table(x: Explanation, side: int, *, sliding: bool = True) -> str:
    """Past events of one end. Where there is a slider, it finds the bars by their ids and moves them."""
    end = x.ends[side]
    title = f"<h2>Past events of the {end.role}, {escape(str(end.node))}</h2>"
    if not end.neighbors:
        none = '<p class="hint">It has none: its part of the score is memory alone.</p>'
        return f"<section>{title}{none}</section>"
    parts = logit_parts(x, end)
    reach = float(np.abs(parts).max()) or 1.0
    scale = max(max(max(line) for line in sweep) for sweep in (end.shared, end.frozen, end.recomputed))
    rows = "\n".join(
        _row(x, f"{side}-{k}" if sliding else None, k, neighbor, parts[k] / reach, scale)
        for k, neighbor in enumerate(end.neighbors)
    )
    names = LOGIT_PARTS[x.model["modulate"]]
    was = ' now, <span class="key was"></span>as it was' if sliding else ""
    return f"""<section class="end" data-scale="{scale:.6f}">{title}
<p class="hint">Logit of each event, mean over {len(end.neighbors[0].psi)} heads:
<span class="key node"></span>{names[0]}, against its mean, since attention sees differences only;
<span class="key edge"></span>{names[1]}. <span class="key alpha-key"></span>Attention{was}.</p>
<table><thead><tr><th>event</th><th>age</th><th class="right">ψ</th><th>logit −{reach:.2f} … +{reach:.2f}</th>
<th>attention, 0 … {scale:.0%}</th><th class="right">share</th>
<th class="right">score if {escape(humanize(x.older, x.unit))} older</th>
<th class="right">without it</th></tr></thead>
<tbody>
{rows}
</tbody></table></section>"""


def _row(
    x: Explanation, place: str | None, k: int, n: Neighbor, parts: npt.NDArray[np.float64], scale: float
) -> str:
    """``parts`` are -1 … 1 of the logit's axis, ``scale`` is the end of the attention's. ``place`` is for a
    slider to find the row by."""
    bars = "".join(bar(kind, part) for kind, part in zip(("node", "edge"), parts.tolist(), strict=True))
    share = 100 * n.attention
    long = f"{share / scale:.2f}%"
    bar_id, share_id = ("", "") if place is None else (f' id="alpha-{place}"', f' id="share-{place}"')
    was = "" if place is None else f'<u style="left:{long}"></u>'
    row = f"row {n.row:,}" if n.row is not None else moment(n.happened, x.unit)
    used = "" if n.age == n.since else f"<small>Δ {escape(ago(n.age, x.unit))}</small>"
    heads = " · ".join(f"{alpha:.2f}" for alpha in n.alpha)
    psi = " · ".join(f"{value:.2f}" for value in (n.psi if len(set(n.psi)) > 1 else n.psi[:1]))
    return f"""<tr><td class="wide"><span class="who">#{k + 1} {escape(str(n.node))}</span><small>{
        row
    }</small></td>
<td data-label="age">{escape(ago(n.since, x.unit))}{used}</td><td class="right" data-label="ψ">{psi}</td>
<td class="wide"><div class="logits"><i class="zero"></i>{bars}</div></td>
<td class="wide"><div class="alpha"{bar_id}><i style="width:{long}"></i>{was}</div><small>heads {
        heads
    }</small></td>
<td class="right" data-label="share"{share_id}>{share:.1f} %</td>
<td class="right" data-label="if older">{signed(n.score_if_older, plus=False)}<small>{
        signed(n.score_if_older - x.score)
    }</small></td>
<td class="right" data-label="without">{signed(n.score_without, plus=False)}<small>{
        signed(n.score_without - x.score)
    }</small></td></tr>"""
