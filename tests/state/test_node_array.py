import numpy as np

from keat.state.node_array import NodeArray


def test_reading_beyond_the_end_gives_the_default_and_does_not_grow() -> None:
    array = NodeArray(3, -1, np.int64)
    array.writable(np.array([1], dtype=np.int32))[1] = 7
    assert array.at(np.array([1, 2, 900], dtype=np.int32)).tolist() == [7, -1, -1]
    assert len(array.values) == 3


def test_writing_beyond_the_end_grows_and_keeps_values() -> None:
    array = NodeArray(2, 0.0, np.float64)
    array.writable(np.array([1], dtype=np.int32))[1] = 2.5
    array.writable(np.array([50], dtype=np.int32))[50] = 1.5
    assert array.at(np.array([0, 1, 50, 51], dtype=np.int32)).tolist() == [0.0, 2.5, 1.5, 0.0]
    array.clear()
    assert array.at(np.array([1, 50], dtype=np.int32)).tolist() == [0.0, 0.0]
