"""Names of tasks and of what can be chosen about them. It brings no torch: the command's help reads it."""

from __future__ import annotations

from typing import Literal, get_args

from keat.datasets.dataset_info import TaskKind as TaskKind  # datasets have one, too

TASKS: tuple[TaskKind, ...] = get_args(TaskKind)
RankingNegatives = Literal["all", "hist-rnd", "random", "official"]
PairNegatives = Literal["random", "historical", "inductive"]
NegativesName = RankingNegatives | PairNegatives
NEGATIVES: dict[str, tuple[str, ...]] = {
    "link-ranking": get_args(RankingNegatives),
    "link-classification": get_args(PairNegatives),
}
Protocol = Literal["strict", "legacy"]  # of node properties
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
End = Literal["src", "dst"]  # of an event
ENDS: tuple[End, ...] = get_args(End)
