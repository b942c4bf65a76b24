"""What is collected while a task is played is what is ranked; it changes nothing and never sees the test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from conftest import MakeStream
from keat.calibration import collectors
from keat.calibration.collectors import ShareFitter, fitter_of, judge_of
from keat.calibration.probability import Isotonic, Platt
from keat.calibration.temperature import Temperature
from keat.datasets.loading import Dataset, load
from keat.datasets.payments import simulate_payments
from keat.events import EventStream
from keat.events.splitting import split
from keat.models.contract import Queries
from keat.models.heuristics import EdgeBank
from keat.models.rank import RankConfig
from keat.models.tgn import TGNConfig
from keat.runs.epochs import best_epoch, kept_tensors, read_history
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec
from keat.tasks.candidates import OwnCandidates, SharedCandidates
from keat.tasks.link import LinkRanking
from keat.tasks.metrics import rank_of
from keat.tasks.node_label import NodeLabel
from keat.tasks.task_factory import make_task
from keat.tasks.task_spec import TaskSpec
from keat.training import fit as fit_module
from keat.training.evaluate import evaluate
from keat.training.fit import FitConfig

SMALL = RankConfig(hidden=8, ring=4, fanout=2)
FIT = FitConfig(epochs=3, lr=3e-3, seed=7, loss="listwise", negatives=10)


class Noisy(EdgeBank):
    """Logits that are a function of the question, and differ."""

    def score(self, queries: Queries) -> torch.Tensor:
        scores = super().score(queries)
        candidates = torch.from_numpy(np.broadcast_to(queries.candidates, scores.shape).copy())
        times = torch.from_numpy(queries.t)[:, None]
        return 2 * scores + torch.sin(candidates * 37.0 + times * 11.0).float()


@pytest.mark.parametrize("shared", [True, False])
def test_who_competes_is_who_is_ranked(shared: bool, random_stream: MakeStream) -> None:
    """The rank of the true one among those with a logit above −∞ is the task's own; times tie often."""
    stream = random_stream(1, events=400, times=60)
    parts, rng = split(stream), np.random.default_rng(1)
    events = parts.test
    if shared:
        task = LinkRanking(parts.train, SharedCandidates(events, np.unique(stream.dst)))
    else:
        negatives = rng.integers(8, 20, (len(events), 5)).astype(np.int32)
        lengths = rng.integers(1, 6, len(events)).astype(np.int32)
        task = LinkRanking(parts.train, OwnCandidates(events, negatives, lengths))
    rows = np.arange(len(events))
    scores = torch.from_numpy(rng.integers(0, 4, (len(events), task.width)).astype(np.float32))
    logits, true = task.candidates.contest(rows, scores)
    assert torch.equal(
        torch.isfinite(logits).sum(dim=1), 1 + torch.from_numpy(task.candidates.negatives_per_positive())
    )
    positive = logits.gather(1, true[:, None])[:, 0]
    alone = logits.scatter(1, true[:, None], -torch.inf)
    assert torch.equal(rank_of(positive, alone), task.candidates.ranks(rows, scores))


def test_collecting_changes_no_outcome(random_stream: MakeStream) -> None:
    data = load(random_stream(2))
    task = make_task(data, "val")
    assert isinstance(task, LinkRanking)
    fitter = fitter_of(task)
    assert isinstance(fitter, ShareFitter)
    plain, watched = evaluate(Noisy(data.train), task), evaluate(Noisy(data.train), task, collector=fitter)
    assert torch.equal(plain.outcomes, watched.outcomes)
    assert sum(len(part.true) for part in fitter.contests) == len(task)


@pytest.mark.parametrize("room", [1, 50, 10**6])
def test_what_is_kept_has_bounds_and_spans_the_split(
    room: int, random_stream: MakeStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collectors, "SCORES_KEPT", room)
    data = load(random_stream(3))
    task = make_task(data, "val")
    assert isinstance(task, LinkRanking)
    by_batch = []
    for refresh in (1, 7):
        fitter = ShareFitter(task)
        evaluate(Noisy(data.train), task, refresh=refresh, collector=fitter)
        kept = np.concatenate([part.true for part in fitter.contests])
        assert len(kept) == min(len(task), max(1, room // task.width))
        by_batch.append(kept)
    assert by_batch[0].tolist() == by_batch[1].tolist()  # whichever pieces the questions come in


def test_a_judge_finds_what_can_be_counted_by_hand(random_stream: MakeStream) -> None:
    data = load(random_stream(4))
    task = make_task(data, "test")
    assert isinstance(task, LinkRanking)
    made = Temperature(1.0, 1.0, 1.0, candidates=12, sampled=False, questions=45)
    judge, fitter = judge_of(task, made), ShareFitter(task)
    assert judge is not None
    ranks = evaluate(Noisy(data.train), task, collector=judge).outcomes
    evaluate(Noisy(data.train), task, collector=fitter)
    judged = judge.judgement()
    best, every = judged.after
    shares = np.concatenate([made.shares(part.logits) for part in fitter.contests])
    rate = np.average([b.observed for b in best.bins], weights=[b.count for b in best.bins])
    assert rate == pytest.approx(float((ranks == 1).double().mean()))  # nothing ties in these logits
    mean = np.average([b.forecast for b in best.bins], weights=[b.count for b in best.bins])
    assert mean == pytest.approx(shares.max(axis=1).mean())
    assert sum(b.count for b in every.bins) == int((shares > 0).sum())
    assert judged.before == judged.after  # the temperature is that of the logits as they are
    assert best.ece >= abs(mean - rate) - 1e-12


@pytest.fixture(scope="module")
def data() -> Dataset:
    return Dataset(simulate_payments(1_500, seed=1))


@pytest.fixture(scope="module")
def run(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    train_run(RunSpec("keat-rank", SMALL, FIT), data, folder)
    return folder


def test_every_best_epoch_has_its_own_and_no_other_has_one(run: Path) -> None:
    history = read_history(run)
    assert [line.calibration is not None for line in history] == [line.best for line in history]
    made = best_epoch(run).calibration
    assert isinstance(made, Temperature)
    assert not made.sampled


def test_losses_metrics_and_parameters_are_those_without(
    data: Dataset, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit_module, "fitter_of", lambda _: None)
    train_run(RunSpec("keat-rank", SMALL, FIT), data, tmp_path / "bare")
    mine, theirs = read_history(run), read_history(tmp_path / "bare")
    assert [(line.loss, line.val) for line in mine] == [(line.loss, line.val) for line in theirs]
    assert best_epoch(tmp_path / "bare").calibration is None
    one, other = kept_tensors(run, "best"), kept_tensors(tmp_path / "bare", "best")
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_the_test_split_has_no_say(data: Dataset, run: Path, tmp_path: Path) -> None:
    """Other destinations in test, from the same catalogue: the same calibration, to the bit."""
    stream, start = data.stream, data.test.offset
    dst = stream.dst.copy()
    dst[start:] = np.random.default_rng(1).permutation(dst[start:])
    assert not np.array_equal(dst, stream.dst)
    train_run(RunSpec("keat-rank", SMALL, FIT), Dataset(replace(stream, dst=dst)), tmp_path / "run")
    assert best_epoch(tmp_path / "run").calibration == best_epoch(run).calibration


def test_logits_that_speak_too_loudly_are_calmed() -> None:
    """A source returns to whom it met last nine times in ten; the model is surer of whom it ever met."""
    rng = np.random.default_rng(0)
    src, last = rng.integers(0, 15, 3_000), rng.integers(15, 35, 15)
    dst = np.empty(3_000, dtype=np.int64)
    for i, u in enumerate(src):
        last[u] = rng.integers(15, 35) if rng.random() < 0.1 else last[u]
        dst[i] = last[u]
    planted = Dataset(EventStream.from_arrays(src, dst, np.arange(3_000), num_nodes=35))

    class Loud(Noisy):
        def score(self, queries: Queries) -> torch.Tensor:
            return 3 * super().score(queries)

    validation, test = make_task(planted, "val"), make_task(planted, "test")
    fitter = fitter_of(validation)
    assert fitter is not None
    evaluate(Loud(planted.train), validation, refresh=1, collector=fitter)
    judge = judge_of(test, fitter.fit())
    assert judge is not None
    evaluate(Loud(planted.train), test, refresh=1, collector=judge)
    judged = judge.judgement()
    for before, after in zip(judged.before, judged.after, strict=True):
        assert after.ece < 0.5 * before.ece


@pytest.mark.parametrize("kind", ["link-classification", "node-label"])
def test_probabilities_of_pairs_and_of_labels(
    kind: Literal["link-classification", "node-label"], tmp_path: Path
) -> None:
    stream = simulate_payments(900, seed=1)
    odd = (np.random.default_rng(1).random(len(stream)) < 0.2).astype(np.float32)
    labelled = Dataset(replace(stream, labels=odd))
    test = make_task(labelled, "test", kind=kind)
    config = TGNConfig(dim=8, neighbors=3)
    train_run(RunSpec("tgn", config, FitConfig(epochs=1, lr=3e-3), TaskSpec(kind=kind)), labelled, tmp_path)
    made = best_epoch(tmp_path).calibration
    assert isinstance(made, Platt | Isotonic)
    judge = judge_of(test, made)
    assert judge is not None
    evaluate_run(tmp_path, labelled, test, "test", collector=judge)
    (after,) = judge.judgement().after
    said = np.average([b.forecast for b in after.bins], weights=[b.count for b in after.bins])
    if isinstance(test, NodeLabel):
        assert said == pytest.approx(0.2, abs=0.08)  # labels at random: the base rate is all there is
    else:
        assert sum(b.count for b in after.bins) == 2 * len(test)
    assert judge_of(make_task(labelled, "test"), made) is None  # a curve of probabilities makes no shares
    assert judge_of(test, None) is None
