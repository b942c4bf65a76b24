import warnings

import numpy as np
import pytest
import torch
from tgb.linkproppred.evaluate import Evaluator

from conftest import FindFile, MakeStream
from every_model import EVERY_MODEL, create
from keat.datasets.loading import Dataset, load
from keat.errors import KeatError, Notice
from keat.events.splitting import split
from keat.models.contract import LearnedModel, Queries
from keat.models.heuristics import EdgeBank
from keat.models.registry import create_link_model
from keat.tasks.candidates import SharedCandidates
from keat.tasks.link import LinkClassification, LinkRanking
from keat.tasks.task_factory import make_task
from keat.training.evaluate import evaluate


@pytest.mark.parametrize("name", EVERY_MODEL)
def test_ranks_equal_tgbs_loop_over_positives(name: str, random_stream: MakeStream) -> None:
    """One model call and one evaluator call a positive, batches of 50, as TGB's examples do it."""
    stream = random_stream(1, events=1000, times=400)
    parts = split(stream)
    history = stream[: parts.test.offset]
    catalogue = np.unique(stream.dst)
    fast = evaluate(
        create(name, parts.train),
        LinkRanking(history, SharedCandidates(parts.test, catalogue)),
        refresh=50,
    )
    model, evaluator, reciprocal = create(name, parts.train), Evaluator("tgbl-wiki"), []
    for block in history.blocks(200):
        model.observe(block)
    for block in parts.test.blocks(50):
        for u, v, t in zip(block.src, block.dst, block.t, strict=True):
            same = (parts.test.src == u) & (parts.test.t == t)
            candidates = np.append(v, np.setdiff1d(catalogue, parts.test.dst[same])).astype(np.int32)
            scores = model.score(Queries(np.array([u]), np.array([t]), candidates))[0].numpy()
            metrics = evaluator.eval(
                {"y_pred_pos": scores[:1], "y_pred_neg": scores[None, 1:], "eval_metric": ["mrr"]}
            )
            reciprocal.append(float(metrics["mrr"]))
        model.observe(block)
    assert (1 / fast.outcomes).tolist() == pytest.approx(reciprocal, rel=1e-6)
    assert fast.metrics["mrr"] == pytest.approx(np.mean(reciprocal), rel=1e-6)
    assert fast.events == len(parts.test)


@pytest.mark.parametrize("refresh", [1, 20])
def test_changing_later_events_changes_no_earlier_outcome(refresh: int, random_stream: MakeStream) -> None:
    stream = random_stream(2, events=600, times=250)
    parts = split(stream)
    cut = 40
    end = parts.test.offset + cut
    start = parts.test.offset + (
        int(np.searchsorted(parts.test.t, parts.test.t[cut])) if refresh == 1 else cut
    )
    dst = stream.dst.copy()
    dst[end:] = np.random.default_rng(0).permutation(dst[end:])
    changed = type(stream).from_arrays(stream.src, dst, stream.t, num_nodes=stream.num_nodes)
    outcomes = []
    for version in (stream, changed):
        task = LinkRanking(
            version[: parts.test.offset], SharedCandidates(version[parts.test.offset :], stream.dst)
        )
        result = evaluate(create_link_model("local-global", parts.train), task, refresh=refresh)
        outcomes.append(result.outcomes[: start - parts.test.offset])
    # The last time before the cut may share its true destinations with a changed event; leave it out.
    assert torch.equal(*outcomes)
    assert len(outcomes[0]) > 0


def test_classification_asks_true_and_false_at_the_same_time(random_stream: MakeStream) -> None:
    stream = random_stream(3)
    parts = split(stream)
    ones = np.zeros(len(parts.test), dtype=np.int32)
    task = LinkClassification(stream[: parts.test.offset], parts.test, parts.test.src, ones)
    result = evaluate(create_link_model("edgebank", parts.train), task)
    assert result.outcomes.shape == (len(parts.test), 2)
    assert result.outcomes[:, 1].sum() == 0  # node 0 is never a destination
    assert result.metrics["auc"] == pytest.approx(0.5 + result.outcomes[:, 0].mean().item() / 2)


@pytest.mark.parametrize("negatives", ["all", "random"])
def test_scores_that_are_not_numbers_are_refused(negatives: str, random_stream: MakeStream) -> None:
    """Every comparison with NaN is false, so a broken model would rank first."""

    class Broken(EdgeBank):
        def score(self, queries: Queries) -> torch.Tensor:
            scores = super().score(queries)
            scores[-1, -1] = torch.nan
            return scores

    data = load(random_stream(5))
    with pytest.raises(KeatError, match="scores that are not numbers"):
        evaluate(Broken(data.train), make_task(data, negatives=negatives))  # type: ignore[arg-type]


def test_progress_is_told_to_the_end(random_stream: MakeStream) -> None:
    stream = random_stream(4)
    told: list[tuple[int, int]] = []
    data = load(stream)
    evaluate(create_link_model("edgebank", data.train), make_task(data), progress=lambda *at: told.append(at))
    assert told[-1] == (len(data.test), len(data.test))


# The leaderboard's own numbers for the heuristics, and the freshest state for the best of them.
WIKIPEDIA = [
    ("edgebank", "val", 200, 0.5267, 0.818),
    ("edgebank", "test", 200, 0.4947, 0.796),
    ("edgebank-tw", "val", 200, 0.5997, 0.774),
    ("edgebank-tw", "test", 200, 0.5710, 0.736),
    ("local-global", "val", 1, 0.8415, None),
    ("local-global", "test", 1, 0.8206, None),
    ("local-global", "test", 20, 0.7870, None),
    ("local-global", "test", 200, 0.7290, None),
]


@pytest.mark.parametrize(("name", "part", "refresh", "mrr", "hits"), WIKIPEDIA)
def test_wikipedia(
    name: str, part: str, refresh: int, mrr: float, hits: float | None, shared_file: FindFile
) -> None:
    data = load(str(shared_file("wikipedia.parquet")))
    task = make_task(data, part)  # type: ignore[arg-type]
    result = evaluate(create_link_model(name, data.train), task, refresh=refresh)
    assert result.metrics["mrr"] == pytest.approx(mrr, abs=5e-5 if hits else 5e-4)
    if hits is not None:
        assert result.metrics["hits@10"] == pytest.approx(hits, abs=5e-4)


@pytest.mark.parametrize("name", EVERY_MODEL)
def test_asked_in_turn_is_asked_time_by_time(name: str, random_stream: MakeStream) -> None:
    """Whatever shortcut a model takes, every query knows its strict past and nothing else."""
    stream = random_stream(4, events=400, times=150)
    parts = split(stream)
    task = LinkRanking(stream[: parts.test.offset], SharedCandidates(parts.test, np.unique(stream.dst)))
    fast = evaluate(create(name, parts.train), task, refresh=1)
    model, ranks = create(name, parts.train), []
    for block in stream[: parts.test.offset].blocks(200):
        model.observe(block)
    for now in np.unique(parts.test.t):
        rows = np.flatnonzero(parts.test.t == now)
        ranks.append(task.candidates.ranks(rows, model.score(task.candidates.queries(rows))))
        model.observe(parts.test[int(rows[0]) : int(rows[-1]) + 1])
    torch.testing.assert_close(fast.outcomes.double(), torch.cat(ranks).double(), rtol=0, atol=0.51)
    assert fast.metrics["mrr"] == pytest.approx(float((1 / torch.cat(ranks)).mean()), abs=1e-3)


def test_a_sample_asks_some_and_says_how_far_off_it_may_be(random_stream: MakeStream) -> None:
    stream = random_stream(5, events=2000, times=900)
    parts = split(stream)
    task = LinkRanking(stream[: parts.test.offset], SharedCandidates(parts.test, np.unique(stream.dst)))
    whole = evaluate(EdgeBank(parts.train), task)
    part = task.sample(100, seed=1)
    some = evaluate(EdgeBank(parts.train), part)
    assert whole.standard_errors is None
    assert some.events == 100
    assert torch.equal(some.outcomes, whole.outcomes[torch.from_numpy(part.asked)])
    assert some.standard_errors is not None
    expected = float((1 / some.outcomes).std() / 10)
    assert some.standard_errors["mrr"] == pytest.approx(expected, rel=0.25)
    assert not task.sample(10**6, seed=1).is_sample


def test_a_model_that_has_learned_nothing_is_said_to_be_so(random_stream: MakeStream) -> None:
    """Scores of fresh parameters look like any others."""
    data = Dataset(random_stream(4, events=300, times=200))
    task, model = make_task(data), create_link_model("tgn", data.train)
    with pytest.warns(Notice, match="The tgn has not been trained: .* train it with keat.train"):
        evaluate(model, task)
    assert isinstance(model, LearnedModel)
    with torch.no_grad():
        next(model.parameters()).add_(0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", Notice)
        evaluate(model, task)
        evaluate(create_link_model("local-global", data.train), task)
