"""`keat evaluate`: the numbers and fields of each task, on names, files and the real data."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from command import ORDERS, assert_fails, keat, write_orders

from conftest import FindFile
from keat.models.registry import LINK_MODELS

HEURISTICS = [name for name, entry in LINK_MODELS.items() if entry.heuristic]
WHAT_WAS_RUN = {"seed", "model", "dataset", "split", "task", "refresh", "events", "seconds"}
RANKING = WHAT_WAS_RUN | {"candidates", "negatives", "mrr", "hits@1", "hits@3", "hits@10"}
CLASSIFICATION = WHAT_WAS_RUN | {"negatives", "ap", "auc", "ap_batch_mean", "auc_batch_mean"}


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KEAT_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_ranking_fields() -> None:
    result = keat("evaluate", "edgebank", "payments:2000", "--json").json
    assert set(result) == RANKING
    assert (result["model"], result["dataset"], result["split"]) == ("edgebank", "payments", "test")
    assert (result["task"], result["refresh"], result["events"]) == ("link-ranking", 200, 300)
    assert 0 <= result["hits@1"] <= result["mrr"]
    assert result["hits@1"] <= result["hits@3"] <= result["hits@10"] <= 1
    assert result["negatives"]["fewest"] <= result["negatives"]["most"] < result["candidates"]
    assert result["seconds"] >= 0


def test_classification_fields() -> None:
    options = ("--task", "link-classification", "--negatives", "historical", "--split", "val")
    result = keat("evaluate", "local-global", "payments:2000", *options, "--json").json
    assert set(result) == CLASSIFICATION
    assert result["split"] == "val"
    assert 0 < result["ap"] <= 1


def test_all_heuristics_side_by_side() -> None:
    several = keat("evaluate", "heuristics", "payments:2000", "--json").json
    assert several["dataset"] == "payments"
    assert [result["model"] for result in several["results"]] == HEURISTICS
    alone = keat("evaluate", "poptrack", "payments:2000", "--json").json
    together = several["results"][HEURISTICS.index("poptrack")]
    assert {k: v for k, v in alone.items() if k != "seconds"} == {
        k: v for k, v in together.items() if k != "seconds"
    }


def test_the_table_has_the_best_first_and_says_what_was_done() -> None:
    ran = keat("evaluate", "heuristics", "payments:2000", "--refresh", "1")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("payments, test split: link-ranking")
    rows = re.findall(r"│ ([a-z0-9-]+) +│ (\d\.\d{4})", ran.out)
    assert {name for name, _ in rows} == set(HEURISTICS)
    values = [float(value) for _, value in rows]
    assert values == sorted(values, reverse=True)
    assert re.search(
        r"300 targets, each against \d+ negatives.*refreshed\s+at\s+every\s+distinct\s+time", ran.out
    )


def test_freshness_changes_the_result_and_the_seed_only_sampled_negatives() -> None:
    def mrr(*options: str) -> float:
        value = keat("evaluate", "local-global", "payments:2000", *options, "--json").json["mrr"]
        assert isinstance(value, float)
        return value

    assert mrr() != mrr("--refresh", "1")
    assert mrr("--seed", "1") == mrr("--seed", "2")
    sampled = ("--negatives", "random", "--num-negatives", "20", "--seed")
    assert mrr(*sampled, "1") == mrr(*sampled, "1")
    assert mrr(*sampled, "1") != mrr(*sampled, "2")


def test_a_log_with_string_ids_end_to_end(tmp_path: Path) -> None:
    orders = write_orders(tmp_path)
    ran = keat("evaluate", "local-global", orders, *ORDERS, "--refresh", "1", "--json")
    assert ran.err == ""
    by_hand = reciprocal_ranks(orders)
    assert ran.json["events"] == len(by_hand)
    assert ran.json["mrr"] == pytest.approx(np.mean(by_hand), abs=1e-6)


def reciprocal_ranks(orders: Path) -> list[float]:
    """The heuristic with lists and names: the customer's own shops, latest first, then all others."""
    with orders.open(encoding="utf-8") as file:
        events = [(row["customer"], row["shop"]) for row in csv.DictReader(file)]
    shops = sorted({shop for _, shop in events})
    found = []
    for now in range(340, 400):  # the last 15 % of 400 events, all at different times
        customer, true = events[now]
        past = [*enumerate(events[:now])]

        def key(shop: str, customer: str = customer, past: list[tuple[int, tuple[str, str]]] = past) -> int:
            own = [when for when, pair in past if pair == (customer, shop)]
            anybody = [when for when, (_, other) in past if other == shop]
            return 1000 + own[-1] if own else (anybody[-1] if anybody else -1)

        scores = {shop: key(shop) for shop in shops}
        others = [score for shop, score in scores.items() if shop != true]
        above, level = sum(s > scores[true] for s in others), sum(s >= scores[true] for s in others)
        found.append(1 / (1 + (above + level) / 2))
    return found


def test_an_unsorted_log_is_sorted_with_a_note(tmp_path: Path) -> None:
    orders = write_orders(tmp_path)
    expected = keat("evaluate", "local-global", orders, *ORDERS, "--json").json
    lines = orders.read_text().splitlines()
    orders.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    ran = keat("evaluate", "local-global", orders, *ORDERS, "--json")
    assert ran.notes == [
        "note: orders was not in time order (data row 2 is the first that is earlier than the one before); "
        "sorted, events of equal time keep their order."
    ]
    assert ran.json["events"] == expected["events"]


def test_where_everybody_meets_everybody_at_once_a_note_says_so(tmp_path: Path) -> None:
    rows = [f"{a},{b},{year}" for year in range(1990, 2010) for a in "xy" for b in "pqr"]
    (tmp_path / "trade.csv").write_text("src,dst,t\n" + "\n".join(rows) + "\n")
    message = assert_fails(keat("evaluate", "edgebank", tmp_path / "trade.csv", "--unit", "year", "--json"))
    assert "nothing to rank in trade: no positive has a negative" in message


WRONG_KIND = [
    (
        ("moving-average", "payments:2000"),
        "moving-average predicts node properties, but the task is link-rank",
    ),
    (("edgebank", "payments:2000", "--task", "node-property"), "payments has no node labels over time"),
    (
        ("edgebank", "payments:2000", "--negatives", "inductive"),
        "link-ranking has no 'inductive' negatives; use",
    ),
    (("edgebank", "payments:2000", "--negatives", "official"), "payments has no official negatives; use"),
    (
        ("edgebank", "payments:2000", "--negatives", "all", "--num-negatives", "5"),
        "'all' negatives are not sam",
    ),
    (("edgebank", "payments:2000", "--workers", "2"), "Only runs of links are shared by workers; leave"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG_KIND, ids=lambda value: " ".join(value))
def test_what_does_not_go_together_is_said(arguments: tuple[str, ...], message: str) -> None:
    assert message in assert_fails(keat("evaluate", *arguments))


def test_node_properties_of_a_named_dataset(data_folder: Path) -> None:
    """Files of the true format, put into the data folder by hand; no network."""
    raw = data_folder / "tgbn-trade" / "raw"
    raw.mkdir(parents=True)
    nations, rng = [f"N{k}" for k in range(8)], np.random.default_rng(0)
    edges, labels = ["year,nation,trading nation,weight"], ["year,nation,trading nation,weight"]
    for year in range(1990, 2020):
        for one in range(8):
            for other in rng.permutation(8)[:4].tolist():
                edges.append(f"{year},{nations[one]},{nations[other]},{rng.random():.4f}")
                labels.append(f"{year},{nations[one]},{nations[other]},0.25")
    (raw / "tgbn-trade_edgelist.csv").write_text("\n".join(edges) + "\n")
    (raw / "tgbn-trade_node_labels.csv").write_text("\n".join(labels) + "\n")
    results = keat("evaluate", "heuristics", "tgbn-trade", "--json").json["results"]
    assert [result["model"] for result in results] == ["persistent-forecast", "moving-average"]
    assert set(results[0]) == WHAT_WAS_RUN | {"ndcg@10"}
    assert all(0 < result["ndcg@10"] <= 1 for result in results)
    assert "edgebank predicts links" in assert_fails(keat("evaluate", "edgebank", "tgbn-trade"))


@pytest.mark.parametrize(
    ("model", "options", "mrr", "tolerance"),
    [
        ("edgebank", ("--split", "test"), 0.4947, 5e-5),
        ("edgebank", ("--split", "val"), 0.5267, 5e-5),
        ("edgebank-tw", ("--split", "test"), 0.5710, 5e-5),
        ("local-global", ("--refresh", "1"), 0.8206, 1e-3),
    ],
)
def test_wikipedia_gives_the_leaderboards_numbers(
    model: str, options: tuple[str, ...], mrr: float, tolerance: float, shared_file: FindFile
) -> None:
    result = keat("evaluate", model, shared_file("wikipedia.parquet"), *options, "--json").json
    assert result["mrr"] == pytest.approx(mrr, abs=tolerance)
    assert result["events"] == 23_621
    assert result["negatives"] == {"strategy": "all", "fewest": 998, "most": 999}
