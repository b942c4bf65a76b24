import numpy as np
import pytest
import torch
from tgb.linkproppred.evaluate import Evaluator

from conftest import FindFile, MakeStream
from keat.errors import InputError
from keat.events import EventStream, read_events
from keat.events.splitting import split
from keat.tasks.candidates import OwnCandidates, SharedCandidates


def negatives_by_definition(events: EventStream, catalogue: np.ndarray, row: int) -> np.ndarray:
    same = (events.src == events.src[row]) & (events.t == events.t[row])
    return np.setdiff1d(catalogue, events.dst[same])


@pytest.mark.parametrize("seed", range(5))
def test_shared_ranks_equal_one_call_of_tgb_a_positive(seed: int, random_stream: MakeStream) -> None:
    events = random_stream(seed, times=40)  # few times: many true destinations to leave out
    catalogue = np.arange(8, 20, dtype=np.int32)
    candidates = SharedCandidates(events, catalogue)
    scores = torch.from_numpy(np.random.default_rng(seed).integers(0, 6, (len(events), 12)) / 6)
    ranks = torch.cat(
        [candidates.ranks(slice(a, a + 50), scores[a : a + 50]) for a in range(0, len(events), 50)]
    )
    for row in range(len(events)):
        negatives = negatives_by_definition(events, catalogue, row)
        theirs = Evaluator("tgbl-wiki").eval(
            {
                "y_pred_pos": scores[row, [events.dst[row] - 8]].numpy(),
                "y_pred_neg": scores[row, negatives - 8].numpy()[None],
                "eval_metric": ["mrr"],
            }
        )
        assert 1 / ranks[row].item() == pytest.approx(float(theirs["mrr"]), rel=1e-6)
        assert candidates.negatives_per_positive()[row] == len(negatives)


def test_own_candidates_count_only_their_length(random_stream: MakeStream) -> None:
    events = random_stream(0, events=2)
    negatives = np.array([[9, 10, 11], [9, 9, 9]], dtype=np.int32)
    candidates = OwnCandidates(events, negatives, np.array([3, 1], dtype=np.int32))
    assert candidates.queries(slice(0, 2)).candidates[:, 0].tolist() == events.dst.tolist()
    scores = torch.tensor([[1.0, 2.0, 0.0, 3.0], [1.0, 2.0, 2.0, 2.0]])
    assert candidates.ranks(slice(0, 2), scores).tolist() == [3.0, 2.0]


def test_a_positive_outside_the_catalogue_is_refused(random_stream: MakeStream) -> None:
    with pytest.raises(InputError, match="not among the 1 candidates"):
        SharedCandidates(random_stream(0), np.array([8], dtype=np.int32))


def test_negatives_of_other_data_are_refused(random_stream: MakeStream) -> None:
    with pytest.raises(InputError, match="5 rows of negatives for 300 positives"):
        OwnCandidates(random_stream(0), np.zeros((5, 2), np.int32), np.zeros(5, np.int32))


def test_wikipedia_has_999_negatives_but_for_four(shared_file: FindFile) -> None:
    stream = read_events(shared_file("wikipedia.parquet"))
    for part in split(stream)[1:]:
        counts = SharedCandidates(part, stream.dst).negatives_per_positive()
        assert np.unique(counts, return_counts=True)[1].tolist() == [2, 23_619]
        assert set(counts.tolist()) == {998, 999}
