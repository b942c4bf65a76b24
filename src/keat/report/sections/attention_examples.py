"""Attention and pair term of a run at two events, for a report: one it ranked well and one it did not."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import torch

from keat.datasets.loading import Dataset
from keat.errors import InputError
from keat.explain.asker import Asker
from keat.explain.explanation import Explanation
from keat.explain.link_wording import counterfactual, model_line, story
from keat.explain.phrases import moment, signed, three_days
from keat.explain.scored import Scored
from keat.explain.subject import Subject
from keat.report.explained.pair_tables import pair_tables
from keat.report.explained.past_tables import table
from keat.report.html.report_page import Section
from keat.tasks.link import LinkRanking
from keat.tasks.script import TGB_BATCH

TITLE = "What it looked at"


def attention_section(
    subject: Subject, data: Dataset, name: str, tested: LinkRanking | None = None
) -> Section:
    """Of the first block of the test split, the event ranked best and the one ranked worst among those whose
    source has a past. A model that nothing can be read of has a sentence instead. ``tested`` is the ranking
    of the test split, where it was made already."""
    try:
        asker = Asker(subject, data, tested)
    except InputError as error:
        return Section(TITLE, str(error))
    rows = _best_and_worst(asker, data)
    if not rows:
        return Section(TITLE, "No source of the first test events has a past event to look at.")
    explained = [asker.event(row, older=three_days(data.stream.unit)) for row in rows]
    parts = [_example(x, said) for x, said in zip(explained, ("best", "worst"), strict=False)]
    hint = (
        f"{name}: {model_line(explained[0])}. Of the first {min(TGB_BATCH, len(data.test))} test events, "
        "the one it ranked best and the one it ranked worst. More, and what-if: keat explain."
    )
    return Section(TITLE, hint, "\n".join(parts))


def _best_and_worst(asker: Asker, data: Dataset) -> Sequence[int]:
    task = asker.ranking("test")
    events = data.test[:TGB_BATCH]
    next(asker.states(data, [data.test.offset]))
    places = np.arange(len(events))
    queries = task.candidates.queries(places)
    in_turn = asker.refresh == 1
    with torch.no_grad():
        scores = asker.model.score_in_turn([queries], events)[0] if in_turn else asker.model.score(queries)
    ranks = task.candidates.ranks(places, scores).numpy()
    history = data.before("test")
    has_past = np.isin(events.src, np.concatenate((history.src, history.dst)))
    order = places[has_past][np.argsort(ranks[has_past], kind="stable")]
    chosen = dict.fromkeys(order[[0, -1]].tolist()) if len(order) else {}
    return [place + data.test.offset for place in chosen]


def _example(x: Scored, said: str) -> str:
    rank = "" if x.rank is None else f", ranked {said}: {x.rank:g} of {x.candidates:,} candidates"
    title = escape(f"{x.source} → {x.destination} at {moment(x.t, x.unit)}{rank}")
    parts = f"Score {signed(x.score, plus=False)}"
    if isinstance(x, Explanation):
        parts += f"; from memory alone, without any past event, {signed(x.score_of_memory, plus=False)}"
    sentence, attention = story(x), ""
    if isinstance(x, Explanation):  # the source's events are shown, so the sentence is about one of them
        sentence, attention = counterfactual(x, sides=(0,)) or sentence, table(x, 0, sliding=False)
    return f"<h3>{title}</h3><p>{escape(f'{parts}. {sentence}')}</p>{pair_tables(x)}{attention}"
