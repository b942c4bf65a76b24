"""Which task, which negatives: the one place where a dataset becomes a task."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from keat.datasets.cache import negative_file
from keat.datasets.kept_negatives import Negatives, drawn_once, negatives_folder
from keat.datasets.loading import Dataset
from keat.datasets.official_negatives import load_official_negatives
from keat.disk import is_file
from keat.errors import InputError, Notice, unknown_name
from keat.events import EventStream
from keat.tasks.candidates import Candidates, OwnCandidates, SharedCandidates
from keat.tasks.edge_attribute import EdgeAttribute
from keat.tasks.kinds import NEGATIVES, TASKS, End, NegativesName, Protocol, TaskKind
from keat.tasks.link import LinkClassification, LinkRanking, drawn_rows
from keat.tasks.node_label import NodeLabel
from keat.tasks.node_property import NodeProperty
from keat.tasks.pair_negatives import pair_negatives
from keat.tasks.ranking_negatives import sample_negatives

AnyTask = LinkRanking | LinkClassification | NodeProperty | NodeLabel | EdgeAttribute

LARGEST_CATALOGUE = 12_000  # up to here a positive is ranked against every destination: no sampling noise
SAMPLED = 100  # beyond, against this many


def make_task(
    dataset: Dataset,
    split: Literal["val", "test"] = "test",
    *,
    kind: TaskKind | None = None,
    negatives: NegativesName | None = None,
    number: int | None = None,
    seed: int = 42,
    trust_pickle: bool = False,
    protocol: Protocol = "strict",
    end: End = "src",
    sample: tuple[int, int] | None = None,
) -> AnyTask:
    """The task of a split. What is not given is the dataset's own protocol, or for your own data:
    rank among all destinations if there are at most 12,000, else among 100 drawn as TGB draws them; node
    properties if it has node labels over time. ``protocol`` is of node properties, see `NodeProperty`;
    ``end`` says whose labels the labels of events are, see `NodeLabel`. Who will ask a ``sample`` alone, a
    number and a seed, may say so: of your own data, negatives are then kept for these alone."""
    kind = kind or usual_task(dataset)
    if kind not in TASKS:
        raise unknown_name("task", kind, TASKS)
    part, history = dataset.part(split), dataset.before(split)
    if kind == "node-property":
        return _node_property(dataset, split, protocol)
    if kind == "node-label":
        return NodeLabel(history, part, end)
    if kind == "edge-attribute":
        return EdgeAttribute(history, part)
    if kind == "link-classification":
        strategy: str = negatives or "random"
        _require_strategy(kind, strategy)
        if number is not None:
            raise InputError("link-classification has one negative a positive; leave their number out.")
        pairs = pair_negatives(
            strategy,  # type: ignore[arg-type]
            dataset.train,
            part,
            dataset.stream,
            seed,
            dataset.catalogue(part, kind),
        )
        classification = LinkClassification(history, part, *pairs)
        classification.strategy = strategy
        return classification
    only = None if sample is None or sample[0] >= len(part) else drawn_rows(len(part), *sample)
    candidates, strategy = _candidates(dataset, part, split, negatives, number, seed, trust_pickle, only)
    _tell_of_walkovers(candidates)
    ranking = LinkRanking(history, candidates)
    ranking.strategy = strategy
    return ranking


def _require_strategy(kind: str, strategy: str) -> None:
    if strategy in NEGATIVES[kind]:
        return
    if any(strategy in others for others in NEGATIVES.values()):  # no guess at a name: it is a known one
        raise InputError(f"{kind} has no '{strategy}' negatives; use {', '.join(NEGATIVES[kind])}.")
    raise unknown_name(f"kind of negatives for {kind}", strategy, NEGATIVES[kind])


def _tell_of_walkovers(candidates: Candidates) -> None:
    """A source that meets every candidate at one time leaves nobody to rank against."""
    negatives = candidates.negatives_per_positive()
    alone, total = int(np.count_nonzero(negatives == 0)), len(negatives)
    if alone == total:
        raise InputError(
            f"There is nothing to rank in {candidates.events.name}: no positive has a negative, because each "
            "source meets every destination at that very time; use another task or a finer clock."
        )
    if alone:
        warnings.warn(
            f"{alone:,} of {total:,} positives have no negative, because their source meets "
            "every candidate at that very time; they count as rank 1.",
            Notice,
            stacklevel=3,
        )


def usual_task(dataset: Dataset) -> TaskKind:
    if dataset.info is None:
        return "link-ranking" if dataset.stream.node_labels is None else "node-property"
    if dataset.info.task == "node-label":
        raise InputError(
            f"{dataset.name} labels nodes once and for all, not over time; train GEARSage on it."
        )
    return dataset.info.task


def _candidates(
    dataset: Dataset,
    part: EventStream,
    split: Literal["val", "test"],
    negatives: NegativesName | None,
    number: int | None,
    seed: int,
    trust_pickle: bool,
    only: npt.NDArray[np.int64] | None,
) -> tuple[Candidates, str]:
    catalogue = dataset.catalogue(part, "link-ranking")
    strategy: str | None = negatives
    usual = dataset.info.negatives if dataset.info and dataset.info.task == "link-ranking" else None
    if usual is not None and strategy in (None, usual[0]):
        number = usual[1] if number is None else number
    if strategy is None and usual is not None:
        strategy = usual[0]
        official = negative_file(dataset.name, split)
        if strategy != "all" and official is not None and is_file(official):
            if trust_pickle:
                return _official(dataset, part, split, trust_pickle), "official"
            warnings.warn(
                f"Negatives are drawn the way TGB draws them; for the leaderboard's own, which came with "
                f"{dataset.name} as a pickle file, say that you trust it (trust-pickle).",
                Notice,
                stacklevel=4,
            )
    if strategy is None:
        strategy = "all" if number is None and len(catalogue) <= LARGEST_CATALOGUE else "hist-rnd"
    _require_strategy("link-ranking", strategy)
    if strategy in ("all", "official") and number is not None:
        raise InputError(
            f"'{strategy}' negatives are not sampled, so {number} of them cannot be asked for; "
            "use hist-rnd or random negatives, or leave their number out."
        )
    if strategy == "all":
        return SharedCandidates(part, catalogue), strategy
    if strategy == "official":
        return _official(dataset, part, split, trust_pickle), strategy
    number = SAMPLED if number is None else number
    return _sampled(dataset, part, split, catalogue, strategy, number, seed, only), strategy


def _official(
    dataset: Dataset, part: EventStream, split: Literal["val", "test"], trust_pickle: bool
) -> OwnCandidates:
    path = None if dataset.info is None else negative_file(dataset.name, split)
    if path is None:
        raise InputError(f"{dataset.name} has no official negatives; use all or hist-rnd instead.")
    if not is_file(path):
        raise InputError(
            f"The official negatives of {dataset.name} are not here; put {path.name}, which is in its "
            f"download, into {path.parent}."
        )
    rows = load_official_negatives(
        path, part.src, part.dst, part.t, num_nodes=part.num_nodes, trust_pickle=trust_pickle
    )
    return OwnCandidates(part, *rows)


def _sampled(
    dataset: Dataset,
    part: EventStream,
    split: str,
    catalogue: npt.NDArray[np.int32],
    strategy: str,
    number: int,
    seed: int,
    only: npt.NDArray[np.int64] | None,
) -> OwnCandidates:
    share = 0.5 if strategy == "hist-rnd" else 0.0

    def drawn(file: Path | None, only: npt.NDArray[np.int64] | None) -> OwnCandidates:
        return sample_negatives(
            dataset.train, part, catalogue, number, historical_share=share, seed=seed, file=file, only=only
        )

    def draw(file: Path | None) -> Negatives:
        every = drawn(file, None)
        return every.negatives, every.lengths

    if dataset.info is None:
        return drawn(None, only)
    train = dataset.train
    made_of = (train.src, train.dst, part.src, part.dst, part.t, catalogue)
    folder = negatives_folder(dataset.name, f"{split}-{strategy}-{number}-seed{seed}", made_of)
    return OwnCandidates(part, *drawn_once(folder, len(part), part.num_nodes, draw))


def training_labels(task: NodeProperty) -> NodeProperty:
    """The node property task of the training split, given that of the validation split."""
    return NodeProperty(task.events, task.labels, 0, task.first, protocol=task.protocol, parts=task.parts[:2])


def _node_property(dataset: Dataset, split: Literal["val", "test"], protocol: Protocol) -> NodeProperty:
    """Labels of the split: those at or after the last time of what came before, and before its own last
    time. (TGB asks for a label once the edges have passed its time.)"""
    labels = dataset.stream.node_labels
    if labels is None:
        raise InputError(
            f"{dataset.name} has no node labels over time, so there is nothing to predict; make them of its "
            "events by a period."
        )
    part = dataset.part(split)
    begin = dataset.stream.t[part.offset - 1]
    first, last = np.searchsorted(labels.t, [begin, part.t[-1]])
    if first == last:
        raise InputError(
            f"No node label of {dataset.name} falls into the {split} split; a shorter period has more labels."
        )
    parts = [0, dataset.val.offset, dataset.test.offset, len(dataset.stream)]
    parts = parts[: 3 if split == "val" else 4]
    return NodeProperty(dataset.stream, labels, int(first), int(last), protocol=protocol, parts=parts)
