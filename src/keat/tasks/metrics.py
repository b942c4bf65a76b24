"""Metrics, vectorized over positives. Each is tested equal to TGB's evaluator or scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import torch


def ranking_metrics(ranks: torch.Tensor, ks: Sequence[int] = (1, 3, 10)) -> dict[str, float]:
    """MRR and Hits@k of ranks in which a tie counts half.

    TGB takes 1/rank in float32 and averages; so do we, but the mean is in float64, where a million
    terms do not lose digits.
    """
    reciprocal = 1.0 / ranks.float()
    hits = {f"hits@{k}": (ranks <= k).double().mean().item() for k in ks}
    return {"mrr": reciprocal.double().mean().item(), **hits}


def standard_errors(
    metrics: Callable[[torch.Tensor], dict[str, float]], outcomes: torch.Tensor, draws: int = 200
) -> dict[str, float]:
    """Of metrics of a random sample of targets, by the bootstrap: their spread when the outcomes are drawn
    again with replacement."""
    generator = torch.Generator().manual_seed(0)
    number = len(outcomes)
    drawn = [metrics(outcomes[torch.randint(number, (number,), generator=generator)]) for _ in range(draws)]
    return {name: float(np.std([draw[name] for draw in drawn], ddof=1)) for name in drawn[0]}


def rank_of(
    positive: torch.Tensor, negatives: torch.Tensor, valid: torch.Tensor | None = None
) -> torch.Tensor:
    """Rank of each positive (B,) among its negatives (B, M): 1 + ½(#greater + #greater-or-equal)."""
    above = negatives > positive[:, None]
    level = negatives >= positive[:, None]
    if valid is not None:
        above, level = above & valid, level & valid
    return 1.0 + 0.5 * (above.sum(dim=1) + level.sum(dim=1))


def classification_metrics(
    positive: npt.NDArray[np.floating], negative: npt.NDArray[np.floating], batch: int = 200
) -> dict[str, float]:
    """AP and ROC-AUC of one negative a positive, over all events and as the mean over batches.

    The batch mean is what PyG's example (and so the JODIE tables of the paper) report: the last short
    batch weighs as much as a full one, and scores of different batches are never compared. The global
    value is the one that says whether a single threshold would work.
    """
    starts = range(0, len(positive), batch)
    per_batch = np.array([_of_pairs(positive[s : s + batch], negative[s : s + batch]) for s in starts])
    ap, auc = _of_pairs(positive, negative)
    batch_ap, batch_auc = per_batch.mean(axis=0)
    return {"ap": ap, "auc": auc, "ap_batch_mean": float(batch_ap), "auc_batch_mean": float(batch_auc)}


def _of_pairs(positive: npt.NDArray[np.floating], negative: npt.NDArray[np.floating]) -> tuple[float, float]:
    truth = np.arange(len(positive) + len(negative)) < len(positive)
    return ap_and_auc(truth, np.concatenate((positive, negative)))


def ap_and_auc(truth: npt.NDArray[np.bool_], scores: npt.NDArray[np.floating]) -> tuple[float, float]:
    """Average precision and area under the ROC curve."""
    from sklearn.metrics import average_precision_score, roc_auc_score  # a second to import: only when used

    return float(average_precision_score(truth, scores)), float(roc_auc_score(truth, scores))


def ndcg(
    truth: npt.NDArray[np.floating], scores: npt.NDArray[np.floating], k: int = 10
) -> npt.NDArray[np.float64]:
    """NDCG@k of each row, (B, C) → (B,). Tied scores share the mean of their gains, as in scikit-learn,
    which does the same with a Python loop over rows."""
    truth = truth.astype(np.float64)
    rows, classes = truth.shape
    discount = np.zeros(classes)
    discount[:k] = 1.0 / np.log2(np.arange(min(k, classes)) + 2.0)

    order = np.argsort(-scores, axis=1, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=1)
    gains = np.take_along_axis(truth, order, axis=1)
    starts_tie = np.ones((rows, classes), dtype=bool)
    starts_tie[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    tie = np.cumsum(starts_tie.ravel()) - 1  # a number for each run of equal scores, over all rows
    size = np.bincount(tie)
    gain_of_tie = np.bincount(tie, weights=gains.ravel()) / size
    discount_of_tie = np.bincount(tie, weights=np.tile(discount, rows))
    row_of_tie = np.flatnonzero(starts_tie.ravel()) // classes
    dcg = np.bincount(row_of_tie, weights=gain_of_tie * discount_of_tie, minlength=rows)

    ideal = -np.sort(-truth, axis=1) @ discount
    return np.divide(dcg, ideal, out=np.zeros(rows), where=ideal > 0)
