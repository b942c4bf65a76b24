import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score
from tgb.linkproppred.evaluate import Evaluator

from keat.tasks.metrics import classification_metrics, ndcg, rank_of, ranking_metrics


@pytest.mark.parametrize("levels", [2, 5, 10_000])
def test_ranking_equals_tgb_with_ties(levels: int) -> None:
    rng = np.random.default_rng(levels)
    positive, negatives = rng.integers(0, levels, 500) / levels, rng.integers(0, levels, (500, 37)) / levels
    theirs = Evaluator("tgbl-wiki").eval(
        {"y_pred_pos": positive, "y_pred_neg": negatives, "eval_metric": ["mrr"]}
    )
    ours = ranking_metrics(rank_of(torch.from_numpy(positive), torch.from_numpy(negatives)))
    assert ours["mrr"] == pytest.approx(float(theirs["mrr"]), rel=1e-6)
    assert ours["hits@10"] == pytest.approx(float(theirs["hits@10"]), rel=1e-6)


def test_a_tie_counts_half() -> None:
    ranks = rank_of(torch.tensor([1.0, 1.0]), torch.tensor([[1.0, 1.0, 0.0], [2.0, 0.0, 0.0]]))
    assert ranks.tolist() == [2.0, 2.0]


def test_only_valid_negatives_count() -> None:
    scores = torch.tensor([[9.0, 9.0, 0.0]])
    valid = torch.tensor([[True, False, True]])
    assert rank_of(torch.tensor([5.0]), scores, valid).tolist() == [2.0]


@pytest.mark.parametrize("levels", [3, 100_000])
def test_classification_equals_scikit_learn(levels: int) -> None:
    rng = np.random.default_rng(1)
    positive, negative = rng.integers(1, levels, 730) / levels, rng.integers(0, levels, 730) / levels
    found = classification_metrics(positive, negative)
    truth = np.repeat([1, 0], 730)
    assert found["ap"] == average_precision_score(truth, np.append(positive, negative))
    assert found["auc"] == roc_auc_score(truth, np.append(positive, negative))
    parts = [(positive[s : s + 200], negative[s : s + 200]) for s in (0, 200, 400, 600)]
    batch_ap = [average_precision_score(np.repeat([1, 0], len(p)), np.append(p, n)) for p, n in parts]
    assert found["ap_batch_mean"] == pytest.approx(np.mean(batch_ap))


@pytest.mark.parametrize("levels", [2, 4, 10_000])
@pytest.mark.parametrize("classes", [4, 10, 60])
def test_ndcg_equals_scikit_learn_with_ties(levels: int, classes: int) -> None:
    rng = np.random.default_rng(levels * classes)
    truth = rng.random((80, classes)) * (rng.random((80, classes)) < 0.4)
    truth[0] = 0.0  # a node without any weight counts 0
    scores = rng.integers(0, levels, (80, classes)).astype(float)
    expected = [ndcg_score(truth[[i]], scores[[i]], k=10) for i in range(80)]
    assert ndcg(truth, scores) == pytest.approx(np.array(expected), abs=1e-12)
