"""The 56 features against a slow, literal reading of the specification."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from contact_streams import contact_stream

from keat.errors import InputError
from keat.events import EventStream
from keat.models.gearsage import FEATURES, build_features


def slow_features(stream: EventStream, y: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Node by node and edge by edge, in the order the specification adds columns."""
    assert stream.node_features is not None
    edges = list(
        zip(
            stream.src.tolist(),
            stream.dst.tolist(),
            stream.t.tolist(),
            stream.features[:, 0].astype(int).tolist(),
            strict=True,
        )
    )
    known: list[list[float]] = []
    for node in range(stream.num_nodes):
        row = [float(value) for value in stream.node_features[node]]
        into = [edge for edge in edges if edge[1] == node]
        out = [edge for edge in edges if edge[0] == node]
        total = sum(t for _, _, t, _ in out)
        row += [len(into), total / math.sqrt(total**2) if total else 0.0]
        row += [math.log(1 + max([t for _, _, t, _ in into + out], default=0))]
        row += [sum(kind == wanted for _, _, _, kind in out) for wanted in range(1, 12)]
        known.append([*row, len(into), len(out)])

    rows: list[list[float]] = []
    for node in range(stream.num_nodes):
        cosines = [
            np.dot(known[node], known[v]) / (np.linalg.norm(known[node]) * np.linalg.norm(known[v]))
            for u, v, _, _ in edges
            if u == node
        ]
        row = [*known[node], float(sum(cosines))]
        flags = [float(value == -1) for value in row[:17]]
        row[:17] = [0.0 if value == -1 else value for value in row[:17]]
        others = [v for u, v, _, _ in edges if u == node != v] + [u for u, v, _, _ in edges if v == node != u]
        counts = [sum(y[other] < 2 for other in others), sum(y[other] >= 2 for other in others)]
        merged = 0 if y[node] == 1 else y[node]
        rows.append([*row, *flags, *counts, *(float(merged == c) for c in (0, 1, 2))])
    return np.array(rows, dtype=np.float64)


@pytest.mark.parametrize("seed", range(4))
def test_equal_the_slow_reading(seed: int) -> None:
    stream, y = contact_stream(seed)
    features = build_features(stream, y)
    assert features.shape == (stream.num_nodes, FEATURES)
    assert features.dtype == np.float32
    np.testing.assert_allclose(features, slow_features(stream, y), rtol=2e-6, atol=2e-6)


def test_no_feature_tells_a_fraud_from_a_normal_node() -> None:
    stream, y = contact_stream(5)
    hidden = np.where(y == 1, 0, y)
    np.testing.assert_array_equal(build_features(stream, y), build_features(stream, hidden))


def test_many_edges_go_through_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, y = contact_stream(6)
    whole = build_features(stream, y)
    monkeypatch.setattr("keat.models.gearsage.features.EDGES_AT_ONCE", 7)
    np.testing.assert_allclose(build_features(stream, y), whole, rtol=1e-6)


def test_what_is_missing_or_wrong_is_named() -> None:
    stream, y = contact_stream(7)
    no_nodes = EventStream.from_arrays(stream.src, stream.dst, stream.t, stream.features, name="bare")
    with pytest.raises(InputError, match=r"needs 17 features a node.*bare has none"):
        build_features(no_nodes, y)
    with pytest.raises(InputError, match="has 40 nodes but 39 classes"):
        build_features(stream, y[:-1])
    with pytest.raises(InputError, match=r"Node 0 of contacts-7 is of class 9"):
        build_features(stream, np.full_like(y, 9))
    typeless = EventStream.from_arrays(
        stream.src, stream.dst, stream.t, num_nodes=40, node_features=stream.node_features, name="typeless"
    )
    with pytest.raises(InputError, match="typeless has 0 edge features"):
        build_features(typeless, y)
    odd = EventStream.from_arrays(
        stream.src,
        stream.dst,
        stream.t,
        stream.features + 0.5,
        num_nodes=40,
        node_features=stream.node_features,
        name="odd",
    )
    with pytest.raises(InputError, match="Edge 0 of odd is of type"):
        build_features(odd, y)
