from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from keat.errors import InputError
from keat.events import IdMap

MAPS = {
    "identity": IdMap.identity(3),
    "integers": IdMap(pa.array([5, 7, 9], pa.int16())),
    "text": IdMap(pa.array(["a", "b", "ü"])),
    "bipartite": IdMap(pa.array(["a", "b", "a"]), boundary=2),
    "bipartite identity": IdMap(None, 3, boundary=1),
}


@pytest.mark.parametrize("ids", MAPS.values(), ids=MAPS.keys())
def test_save_and_load(ids: IdMap, tmp_path: Path) -> None:
    ids.save(tmp_path / "ids.parquet")
    assert IdMap.load(tmp_path / "ids.parquet") == ids


@pytest.mark.parametrize("ids", MAPS.values(), ids=MAPS.keys())
def test_index_inverts_label(ids: IdMap) -> None:
    for node in range(len(ids)):
        assert ids.index([ids.label(node)], side=ids.side(node)) == [node]


def test_maps_compare_by_what_they_map() -> None:
    assert IdMap.identity(2) == IdMap(pa.array([0, 1], pa.int8()))
    assert IdMap.identity(2) != IdMap.identity(3)
    assert IdMap.identity(2) != IdMap(None, 2, boundary=1)
    assert IdMap(pa.array(["a"])) == IdMap(pa.array(["a"], pa.large_string()))
    assert IdMap(pa.array(["a"])) != IdMap(pa.array(["b"]))
    assert IdMap.identity(2) != 2


def test_labels_are_found_as_numbers_and_as_text() -> None:
    np.testing.assert_array_equal(MAPS["integers"].index(["9", "5"]), [2, 0])
    np.testing.assert_array_equal(MAPS["identity"].index(["2"]), [2])
    np.testing.assert_array_equal(MAPS["text"].index(np.array(["b", "a"])), [1, 0])


@pytest.mark.parametrize(
    ("ids", "label", "message"),
    [
        ("text", "z", "Node 'z' does not occur in this stream"),
        ("integers", 6, "Node '6' does not occur"),
        ("identity", 3, "Node '3' does not occur"),
        ("identity", "ann", "The nodes of this stream are whole numbers .*'ann'"),
        ("bipartite", "a", "different kinds; give the side"),
    ],
)
def test_unknown_labels_are_named(ids: str, label: str | int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        MAPS[ids].index([label])


@pytest.mark.parametrize(
    ("ids", "written", "nodes"),
    [
        (["007", "7", "0042"], ["7", "007", "0042"], [1, 0, 2]),
        (["7", " 7", "a b"], [" 7", "7 ", " a b\t"], [1, 0, 2]),
        ([5, -7, 2**63 - 1], ["-7", " 5", "9223372036854775807"], [1, 0, 2]),
        (["1", "2"], [2, 1], [1, 0]),
        ([2**53, 2**53 + 1], ["9007199254740993", 2**53], [1, 0]),
    ],
)
def test_ids_as_they_are_written(ids: list[str | int], written: list[str | int], nodes: list[int]) -> None:
    assert IdMap(pa.array(ids)).index_written(written).tolist() == nodes


@pytest.mark.parametrize("written", ["7.0", "1e3", "007", "+7", "0x7", "seven", "", "7 7", "٧", "nan", "-0"])
@pytest.mark.parametrize("ids", [IdMap.identity(2000), IdMap(pa.array([7, 1000]))], ids=["dense", "sparse"])
def test_what_is_not_written_like_a_whole_number(ids: IdMap, written: str) -> None:
    with pytest.raises(InputError, match=r"whole numbers, written like 7 or 42; '.*' is not"):
        ids.index_written(["7", written])


@pytest.mark.parametrize("written", ["9223372036854775808", "-9223372036854775809", "9" * 5000, "6000"])
@pytest.mark.parametrize("ids", [IdMap.identity(2000), IdMap(pa.array([7, 1000]))], ids=["dense", "sparse"])
def test_a_number_that_is_nobodys(ids: IdMap, written: str) -> None:
    with pytest.raises(InputError, match=f"Node '{written}' does not occur"):
        ids.index_written(["7", written])


def test_half_a_letter_is_nobodys() -> None:
    with pytest.raises(InputError, match=r"Node '\\udcff' does not occur"):
        IdMap(pa.array(["a"])).index_written(["\udcff"])


def test_ids_of_two_sides_as_they_are_written() -> None:
    ids = IdMap(pa.array(["a", "b", "a"]), boundary=2)
    assert ids.index_written([" a"], side="dst").tolist() == [2]
    with pytest.raises(InputError, match="Node 'b' does not occur"):
        ids.index_written(["b"], side="dst")


def test_a_label_of_the_other_side_does_not_occur() -> None:
    with pytest.raises(InputError, match="Node 'b' does not occur"):
        MAPS["bipartite"].index(["b"], side="dst")


def test_unknown_nodes_have_no_label() -> None:
    with pytest.raises(InputError, match="Node 3 does not exist: this stream has nodes 0 to 2"):
        MAPS["text"].label(3)


def test_repr_says_what_it_is() -> None:
    assert repr(MAPS["identity"]) == "IdMap(3 nodes, identity)"
    assert repr(MAPS["bipartite"]) == "IdMap(3 nodes, large_string, the first 2 sources)"
