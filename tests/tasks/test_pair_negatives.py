import numpy as np
import pytest

from conftest import MakeStream
from keat.errors import UnknownNameError
from keat.events.splitting import split
from keat.tasks.kinds import PairNegatives
from keat.tasks.pair_negatives import pair_negatives


def test_random_keeps_the_source(random_stream: MakeStream) -> None:
    stream = random_stream(0)
    parts = split(stream)
    src, dst = pair_negatives("random", parts.train, parts.test, stream)
    assert np.array_equal(src, parts.test.src)
    assert set(dst.tolist()) <= set(stream.dst.tolist())


@pytest.mark.parametrize("strategy", ["historical", "inductive"])
@pytest.mark.parametrize("nodes", [(40, 60), (400, 600)])
def test_history_comes_before_the_batch_and_is_not_in_it(
    strategy: PairNegatives, nodes: tuple[int, int], random_stream: MakeStream
) -> None:
    stream = random_stream(1, events=6000, sources=nodes[0], destinations=nodes[1], times=2000)
    parts = split(stream)
    src, dst = pair_negatives(strategy, parts.train, parts.test, stream)
    in_train = set(zip(parts.train.src.tolist(), parts.train.dst.tolist(), strict=True))
    historical = 0
    for low in range(0, len(parts.test), 200):
        high = min(low + 200, len(parts.test))
        begin, end = parts.test.t[low], parts.test.t[high - 1]
        inside = (stream.t >= begin) & (stream.t <= end)
        current = set(zip(stream.src[inside].tolist(), stream.dst[inside].tolist(), strict=True))
        before = stream.t < begin
        seen = set(zip(stream.src[before].tolist(), stream.dst[before].tolist(), strict=True)) - current
        if strategy == "inductive":
            seen -= in_train
        pairs = list(zip(src[low:high].tolist(), dst[low:high].tolist(), strict=True))
        assert not set(pairs) & current
        from_history = [pair for pair in pairs if pair in seen]
        assert len(set(from_history)) >= min(high - low, len(seen))  # all that history has, then random
        historical += len(from_history)
    assert historical > 0


def test_a_graph_whose_batch_has_every_pair_still_ends(random_stream: MakeStream) -> None:
    stream = random_stream(2, events=300, sources=1, destinations=2, times=100)
    parts = split(stream)
    src, _ = pair_negatives("historical", parts.train, parts.test, stream)
    assert len(src) == len(parts.test)


def test_unknown_strategy(random_stream: MakeStream) -> None:
    stream = random_stream(0)
    with pytest.raises(UnknownNameError, match="did you mean 'historical'"):
        pair_negatives("historic", stream, stream, stream)  # type: ignore[arg-type]
