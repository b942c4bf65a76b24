"""Two candidates side by side, in words."""

from __future__ import annotations

from keat.explain.contrast import Contrast, ContrastedGroup
from keat.explain.phrases import ordinal, rank_written, signed
from keat.explain.scored import Scored
from keat.explain.why_event import NOTABLE


def why_contrast(x: Scored, contrast: Contrast) -> str:
    """Who ranks where, what counts more for the one ahead, and what for the other. What is the same of both
    is left to the table."""
    assert x.rank is not None
    first = (
        f"{x.destination} ranks {_place(x.rank)} of {x.candidates:,} for {x.source}, and {contrast.other} "
        f"ranks {_place(contrast.rank)}."
    )
    told = [group for group in contrast.groups if group.known != group.known_of_other]
    least = NOTABLE * max((abs(group.effect) for group in told), default=0.0)
    for_asked = next((group for group in told if group.effect > 0), None)
    for_other = next((group for group in told if group.effect < 0), None)
    asked_leads = contrast.difference > 0
    ahead, behind = (for_asked, for_other) if asked_leads else (for_other, for_asked)
    sentences = [first]
    if ahead is None:
        leader = x.destination if asked_leads else contrast.other
        sentences.append(f"Nothing that is known of the two counts more for {leader} by itself.")
    else:
        sentences.append(_counts_more(x, contrast, ahead))
    if behind is not None and abs(behind.effect) >= least:
        sentences.append(_counts_more(x, contrast, behind))
    beside = of_embeddings(x, contrast)
    if beside is not None and abs(beside) > max(abs(group.effect) for group in contrast.groups):
        sentences.append(
            f"The embeddings make {signed(beside)} of the difference of {signed(contrast.difference)}, more "
            "than anything that is known of the two."
        )
    return " ".join(sentences)


def of_embeddings(x: Scored, contrast: Contrast) -> float | None:
    """The part of the difference that embeddings make; None for keat-rank, which has none."""
    if x.model["name"] == "keat-rank":
        return None
    return contrast.difference - contrast.difference_of_pair_terms


def difference_line(x: Scored, contrast: Contrast) -> str:
    """Both scores, and the difference."""
    beside = of_embeddings(x, contrast)
    return (
        f"{x.destination} scored {signed(x.score, plus=False)}, {contrast.other} "
        f"{signed(contrast.score, plus=False)}: a difference of {signed(contrast.difference)}"
        + ("." if beside is None else f", of which the embeddings make {signed(beside)}.")
    )


def what_an_effect_is(x: Scored, contrast: Contrast) -> str:
    return (
        f"Effect: how much more that part counts for {x.destination} than for {contrast.other}, which is how "
        f"much lower the difference would be with it as for strangers in both. Rank without: that of "
        f"{x.destination}, with that part as for strangers in it alone. Effects need not add up."
    )


def _place(rank: float) -> str:
    return ordinal(int(rank)) if rank == int(rank) else rank_written(rank)


def _counts_more(x: Scored, contrast: Contrast, group: ContrastedGroup) -> str:
    """For whom a group of numbers counts more, with what is known of either; of the one asked about, also
    where it would rank without."""
    sides = [(x.destination, group.known), (contrast.other, group.known_of_other)]
    (name, known), (other, known_of_other) = sides if group.effect > 0 else sides[::-1]
    text = f"What counts more for {name}: {group.group} ({name}: {known}; {other}: {known_of_other})"
    if group.effect > 0 and group.rank_without != x.rank:
        text += f", without which {name} would rank {_place(group.rank_without)}"
    return f"{text}."
