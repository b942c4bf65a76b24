"""The stand-in for dgraphfin.npz: the schema of the true file, and the fraud that was planted."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from keat.datasets.dataset_entries import dataset_info
from keat.datasets.dgraphfin import read_contacts, read_node_labels
from keat.datasets.dgraphfin_generator import (
    EDGES,
    NODES,
    RISKY_TYPES,
    ContactsConfig,
    generate_dgraphfin,
    write_dgraphfin,
)
from keat.errors import InputError


def auc(truth: npt.NDArray[np.bool_], score: npt.NDArray[np.float64]) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth, score))


@pytest.mark.parametrize(("nodes", "edges"), [(500, None), (501, 400), (100, 1200)])
def test_is_a_graph_of_contacts(nodes: int, edges: int | None) -> None:
    arrays, truth = generate_dgraphfin(nodes, edges, seed=3)
    expected = round(nodes * EDGES / NODES) if edges is None else edges
    ends = arrays["edge_index"]
    assert ends.shape == (expected, 2)
    assert len(np.unique(ends, axis=0)) == expected
    assert (ends[:, 0] != ends[:, 1]).all()
    np.testing.assert_array_equal(np.unique(ends), np.arange(nodes))  # nobody without a contact
    assert arrays["x"].shape == (nodes, 17)
    assert 0.1 < (arrays["x"] == -1).mean() < 0.3
    assert 1 <= arrays["edge_timestamp"].min() <= arrays["edge_timestamp"].max() <= 821
    assert 1 <= arrays["edge_type"].min() <= arrays["edge_type"].max() <= 11
    labelled = np.concatenate([arrays[f"{part}_mask"] for part in ("train", "valid", "test")])
    np.testing.assert_array_equal(np.sort(labelled), np.flatnonzero(arrays["y"] < 2))
    assert truth.evidence.shape == (nodes,)


def test_class_sizes_are_those_of_the_true_file_in_proportion() -> None:
    share = np.bincount(generate_dgraphfin(50_000, seed=1)[0]["y"], minlength=4) / 50_000
    np.testing.assert_allclose(share, np.array([1_210_092, 15_509, 1_620_851, 854_098]) / NODES, atol=0.01)
    assert share[1] == pytest.approx(15_509 / NODES, rel=0.01)


def test_evidence_is_what_the_docs_say() -> None:
    arrays, truth = generate_dgraphfin(60, 80, seed=2, config=ContactsConfig(half_life=100))
    for node in range(60):
        mine = (arrays["edge_index"] == node).any(axis=1)
        day, kind = arrays["edge_timestamp"][mine], arrays["edge_type"][mine]
        faded = [0.5 ** ((day.max() - d) / 100) for d, k in zip(day, kind, strict=True) if k in RISKY_TYPES]
        assert truth.evidence[node] == pytest.approx(sum(faded))


def test_fresh_contacts_tell_fraud_and_stale_ones_do_not() -> None:
    arrays, truth = generate_dgraphfin(40_000, seed=5, config=ContactsConfig(half_life=30, fraud_share=0.1))
    asked = np.flatnonzero(arrays["y"] < 2)
    fraud = arrays["y"][asked] == 1
    person, day = arrays["edge_index"].ravel(), np.repeat(arrays["edge_timestamp"], 2)
    latest = np.zeros(40_000, np.int64)
    np.maximum.at(latest, person, day)
    age = latest[person] - day
    risky = np.repeat(np.isin(arrays["edge_type"], RISKY_TYPES), 2)

    def count(which: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        return np.bincount(person[which], minlength=40_000)[asked].astype(np.float64)

    assert auc(fraud, count(risky & (age < 30))) > 0.75
    stale = auc(fraud, count(risky & (age > 200))), auc(fraud, count(~risky & (age > 200)))
    assert stale[0] == pytest.approx(stale[1], abs=0.03)  # old contacts tell how many there are, no more
    assert auc(fraud, truth.log_odds[asked]) > 0.8


def test_without_fading_all_risky_contacts_count() -> None:
    arrays, truth = generate_dgraphfin(300, seed=4, config=ContactsConfig(half_life=math.inf))
    risky = np.repeat(np.isin(arrays["edge_type"], RISKY_TYPES), 2)
    counts = np.bincount(arrays["edge_index"].ravel()[risky], minlength=300)
    np.testing.assert_array_equal(truth.evidence, counts)


def test_same_arguments_same_bits_through_the_loader(tmp_path: Path) -> None:
    write_dgraphfin(tmp_path / "deep" / "dgraphfin.npz", 400, seed=9)
    arrays, _ = generate_dgraphfin(400, seed=9)
    info = dataclasses.replace(dataset_info("dgraphfin"), name="generated")
    data = read_node_labels(tmp_path / "deep", info, read_contacts(tmp_path / "deep", info))
    order = np.argsort(arrays["edge_timestamp"], kind="stable")
    np.testing.assert_array_equal(
        np.stack((data.stream.src, data.stream.dst), 1), arrays["edge_index"][order]
    )
    np.testing.assert_array_equal(data.stream.features[:, 0], arrays["edge_type"][order])
    np.testing.assert_array_equal(data.y, arrays["y"])
    np.testing.assert_array_equal(data.valid, arrays["valid_mask"])
    assert (generate_dgraphfin(400, seed=10)[0]["edge_index"] != arrays["edge_index"]).any()


@pytest.mark.parametrize(
    ("nodes", "edges", "config", "says"),
    [
        (10, 10, ContactsConfig(), "at least 20 people"),
        (100, 40, ContactsConfig(), "one contact for every two"),
        (100, 5000, ContactsConfig(), "an eighth of all pairs"),
        (100, 100, ContactsConfig(half_life=0), "half-life"),
        (100, 100, ContactsConfig(fraud_share=1.5), "share of fraud"),
    ],
)
def test_what_cannot_be_generated_is_said(nodes: int, edges: int, config: ContactsConfig, says: str) -> None:
    with pytest.raises(InputError, match=says):
        generate_dgraphfin(nodes, edges, config=config)


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file and no folder; choose another place"):
        write_dgraphfin(tmp_path / "file" / "x.npz", 100)
