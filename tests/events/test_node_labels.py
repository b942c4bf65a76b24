from __future__ import annotations

import numpy as np
import pytest

from keat.events import NodeLabels


def from_rows(*rows: tuple[int, int, int, float]) -> NodeLabels:
    t, node, classes, weights = zip(*rows, strict=True)
    return NodeLabels.from_long(
        np.array(t, dtype=np.int64),
        np.array(node, dtype=np.int32),
        np.array(classes, dtype=np.int32),
        np.array(weights, dtype=np.float32),
        num_classes=3,
    )


LABELS = from_rows((5, 1, 0, 0.5), (2, 0, 2, 1.0), (5, 1, 2, 0.5), (5, 0, 1, 1.0), (2, 0, 2, 0.25))


def test_rows_are_joined_sorted_and_the_last_weight_wins() -> None:
    assert LABELS.t.tolist() == [2, 5, 5]
    assert LABELS.node.tolist() == [0, 0, 1]
    np.testing.assert_array_equal(LABELS.dense(), [[0, 0, 0.25], [0, 1, 0], [0.5, 0, 0.5]])


def test_a_slice_is_a_view_with_its_own_rows() -> None:
    part = LABELS[1:]
    np.testing.assert_array_equal(part.dense(), LABELS.dense()[1:])
    assert np.shares_memory(part.weights, LABELS.weights)
    with pytest.raises(ValueError, match="steps of 1"):
        LABELS[::2]


def test_sorting_is_checked_when_built_and_not_in_every_slice() -> None:
    t = LABELS.t.copy()
    labels = NodeLabels(t, LABELS.node, LABELS.indptr, LABELS.classes, LABELS.weights, 3)
    t[0] = 9  # behind the back of the read-only view: a slice that looked would complain
    assert labels[:2].t.tolist() == [9, 5]
    assert not labels[:2].t.flags.writeable


@pytest.mark.parametrize(("time", "rows"), [(1, 0), (2, 1), (4, 1), (5, 3), (9, 3)])
def test_up_to_a_time(time: int, rows: int) -> None:
    assert len(LABELS.up_to(time)) == rows


def test_no_labels_at_all() -> None:
    none = np.empty(0, dtype=np.int32)
    empty = NodeLabels.from_long(none.astype(np.int64), none, none, none.astype(np.float32), num_classes=3)
    assert empty.dense().shape == (0, 3)


def test_parts_must_belong_together() -> None:
    with pytest.raises(ValueError, match="belong together"):
        NodeLabels(LABELS.t, LABELS.node[:1], LABELS.indptr, LABELS.classes, LABELS.weights, 3)
    with pytest.raises(ValueError, match="sorted by time"):
        NodeLabels(LABELS.t[::-1], LABELS.node, LABELS.indptr, LABELS.classes, LABELS.weights, 3)
