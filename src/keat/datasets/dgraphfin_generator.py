"""A stand-in for `dgraphfin.npz`, which is only handed out by hand: same arrays, any size, known truth.

Fraud is drawn from evidence that fades: a contact of a risky type counts 2^(-age / half-life), its age taken
from the person's latest contact. What is planted, and what is not, is told in docs/understand/dgraphfin.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keat.disk import new_file
from keat.errors import InputError

NODES, EDGES = 3_700_550, 4_300_999  # of the true file
DAYS, TYPES, RAW_FEATURES = 821, 11, 17
LABELLED = 1_225_601 / NODES  # share of classes 0 and 1
SECOND_CLASS = 1_620_851 / (1_620_851 + 854_098)  # share of class 2 in the background
PARTS = (0.7, 0.85)  # where training ends and testing begins, of the labelled nodes

RISKY_TYPES = (4, 8, 11)
INFORMATIVE = 3  # columns of x, from the first, that lean towards fraud
MOST_EVIDENCE = 2.0  # a person with many risky contacts is not beyond doubt

Ints = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ContactsConfig:
    """Knobs of what is planted. An infinite half-life makes old contacts count as much as new ones."""

    half_life: float = 60.0  # days
    strength: float = 2.5  # log odds of fraud for one fresh risky contact
    lean: float = 0.4  # log odds for one standard deviation of an informative feature
    fraud_share: float = 15_509 / 1_225_601  # of the labelled nodes
    activity: float = 0.8  # spread of the logarithm of how many contacts people have
    missing: float = 0.2  # share of the features that are unknown


@dataclass(frozen=True, slots=True, eq=False)
class ContactsTruth:
    """What was planted, node by node: for studies, never for a model."""

    evidence: Doubles  # (N,) faded sum over risky contacts
    log_odds: Doubles  # (N,) fraud is drawn without replacement with weights exp(log_odds)


def generate_dgraphfin(
    nodes: int = NODES, edges: int | None = None, *, seed: int = 0, config: ContactsConfig | None = None
) -> tuple[dict[str, npt.NDArray[Any]], ContactsTruth]:
    """The arrays of the file under its own names, and what was planted. Same arguments, same bits."""
    config = config if config is not None else ContactsConfig()
    edges = round(nodes * EDGES / NODES) if edges is None else edges
    _check(config, nodes, edges)
    rng = np.random.default_rng(seed)
    ends = _contacts(nodes, edges, config.activity, rng)
    day = rng.integers(1, DAYS, edges, endpoint=True)
    kind = rng.integers(1, TYPES, edges, endpoint=True)

    evidence = _evidence(nodes, ends, day, kind, config.half_life)
    x = rng.standard_normal((nodes, RAW_FEATURES))
    known = rng.random(x.shape) >= config.missing
    lean = (x * known)[:, :INFORMATIVE].sum(axis=1)
    x = np.where(known, np.round(x, 4), -1.0)
    log_odds = config.strength * np.minimum(evidence, MOST_EVIDENCE) + config.lean * lean

    y, labelled = _classes(nodes, log_odds, config.fraud_share, rng)
    train, valid, test = np.split(labelled, [round(part * len(labelled)) for part in PARTS])
    arrays = {
        "x": x,
        "y": y,
        "edge_index": ends,
        "edge_type": kind,
        "edge_timestamp": day,
        "train_mask": train,
        "valid_mask": valid,
        "test_mask": test,
    }
    return arrays, ContactsTruth(evidence, log_odds)


def write_dgraphfin(
    path: Path,
    nodes: int = NODES,
    edges: int | None = None,
    *,
    seed: int = 0,
    config: ContactsConfig | None = None,
) -> ContactsTruth:
    """`generate_dgraphfin` into an .npz file; the true size takes 0.7 GB."""
    arrays, truth = generate_dgraphfin(nodes, edges, seed=seed, config=config)
    with new_file(path) as part, part.open("wb") as file:  # an open one: of a path numpy makes another
        np.savez(file, allow_pickle=False, **arrays)
    return truth


def _check(config: ContactsConfig, nodes: int, edges: int) -> None:
    if nodes < 20 or not nodes <= 2 * edges <= nodes * (nodes - 1) // 4:
        raise InputError(
            f"{edges} contacts among {nodes} people cannot be generated; ask for at least 20 people, one "
            "contact for every two of them, and at most an eighth of all pairs."
        )
    if not config.half_life > 0:
        raise InputError(f"The half-life of evidence must be positive, not {config.half_life} days.")
    if not 0 < config.fraud_share < 1:
        raise InputError(f"The share of fraud must lie between 0 and 1, not be {config.fraud_share}.")


def _contacts(nodes: int, edges: int, activity: float, rng: np.random.Generator) -> Ints:
    """(edges, 2), no pair twice in the same direction, nobody their own contact, nobody without one.

    Half of the people name one partner each; the other contacts join people in proportion to activity.
    """
    shuffled = rng.permutation(nodes)
    pairs = np.stack((shuffled, np.roll(shuffled, 1)), axis=1)[::2]  # with an odd number one is in two
    ladder = np.cumsum(rng.lognormal(sigma=activity, size=nodes))
    keys = pairs[:, 0] * nodes + pairs[:, 1]
    while len(keys) < edges:
        drawn = np.searchsorted(ladder, rng.random((edges - len(keys), 2)) * ladder[-1])
        drawn = drawn[drawn[:, 0] != drawn[:, 1]]
        keys, place = np.unique(np.append(keys, drawn[:, 0] * nodes + drawn[:, 1]), return_index=True)
        keys = keys[np.argsort(place)]  # in order of drawing, so that no pair is favoured
    return np.stack(np.divmod(keys[rng.permutation(edges)], nodes), axis=1)


def _evidence(nodes: int, ends: Ints, day: Ints, kind: Ints, half_life: float) -> Doubles:
    """e_i = Σ over risky contacts of i, in either role, of 2^(-(latest day of i - day) / half-life)."""
    person, when = ends.ravel(), np.repeat(day, 2)
    latest = np.zeros(nodes, np.int64)
    np.maximum.at(latest, person, when)
    weight = np.exp2(-(latest[person] - when) / half_life) * np.repeat(np.isin(kind, RISKY_TYPES), 2)
    return np.bincount(person, weight, nodes).astype(np.float64)


def _classes(nodes: int, log_odds: Doubles, share: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """The class of each node, and the labelled ones in an order of chance."""
    labelled = rng.permutation(nodes)[: round(nodes * LABELLED)]
    y = np.where(rng.random(nodes) < SECOND_CLASS, 2, 3)
    y[labelled] = 0
    luck = log_odds[labelled] + rng.gumbel(size=len(labelled))  # the largest of these: weights exp(log odds)
    frauds = max(3, round(share * len(labelled)))
    y[labelled[np.argpartition(-luck, frauds)[:frauds]]] = 1
    return y, labelled
