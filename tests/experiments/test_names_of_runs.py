"""Runs keep the names under which ledgers have them: no result that was ever measured is lost."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from conftest import FindFile
from keat.experiments.as_released import SUFFIX as RELEASED
from keat.experiments.hits_over_k import SUFFIX as HITS
from keat.experiments.ledger import Ledger
from keat.experiments.measured import Known, measured
from keat.experiments.recipe import Recipe, load_recipe, recipe_names

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "ledger.jsonl"
FINGERPRINTS = {  # of the files that the results are of
    "wikipedia": "77170afdd34740cbfefaaaa5",
    "uci": "b9ca24779895993e13e654cf",
    "bitcoin_otc": "dfc204515d35144d68e7530c",
    "email_eu": "d8b7fd85695fd59d731fdf50",
    "ml_100k": "b1c01839b6472dd9c919a0b5",
    "highschool": "5ebc1cfc54ed18ae11ebaed2",
    "mathoverflow": "c2614bc3e12d5cdeb0a4f4fe",
    "icews14": "8b7cf670673b2b2de8297835",
    "us_flights": "77531adb6c4f317ec41c4b02",
    "online_retail": "88643d402ad8baf41d310c3b",
    "reddit_links": "75ad2320d7eb2fe65e6d5b4e",
    "trade": "f1abdf4496e29cd12eaccab3?unit=year&period=year&weight=trade",
}
READ_OTHERWISE = {  # of a recipe that reads files with features or labels, by what the data are and how read
    (
        "table-evidence",
        "us_flights",
    ): "5efc70a6658463348407d5bc?latest=100000&features=f_delay%2Cf_pre_distance"
    "&known_after=f_delay%3D10800&scale=true&target=f_delay%3E15",
    (
        "table-evidence",
        "icews14",
    ): "21b32887e8df1705f3af5f20?features=c_quad%2Cf_goldstein&target=c_quad%3E1.5",
    ("table-evidence", "bitcoin_otc"): "e3e590e5535aca50af7de6d2?features=rating&target=rating%3C0",
    (
        "table-evidence-late",
        "us_flights_late",
    ): "822512926d74b19648c10a6d?latest=200000&features=f_delay%2Cf_pre_distance"
    "&known_after=f_delay%3D10800&scale=true&target=f_delay%3E15",
    (
        "table-evidence-late",
        "us_flights_month",
    ): "7b3b81752a3b37f4da45daac?features=f_delay%2Cf_pre_distance"
    "&known_after=f_delay%3D10800&scale=true&target=f_delay%3E15",
    ("table-evidence-links", "bitcoin_otc"): "f99c9b7ecb4a2b76dac0455e?features=rating&scale=true",
    ("table-evidence-links", "bitcoin_otc_bare"): FINGERPRINTS["bitcoin_otc"],
    ("table-board", "uci"): "531033ba23455af27df8f876?latest=20000",
    ("table-board", "icews14"): "1b113be90f73290cd8e8f4b8?latest=20000",
    ("table-board", "online_retail"): "f9bb67e17cf02d66a5284328?latest=20000",
    ("table-board", "us_flights"): "fd528e841b3c7517f8c5fc77?latest=20000",
    ("table-board", "reddit_links"): "66abe152b5f6161fb8ee04c9?latest=20000",
    ("table-board", "wikipedia"): "c149a3a844bd7e48fe787dd4?latest=20000",
    ("table-board", "bitcoin_otc"): "1a9fa90fe5f8ec89fb2e8bbf?latest=20000",
    ("table-board", "email_eu"): "419bb8ab8a13b1c471f6af23?latest=20000",
    ("table-rank-features", "bitcoin_otc"): "289f916e6249940813eb1d03?latest=20000&features=rating",
    (
        "table-rank-features",
        "icews14",
    ): "13c8ddab42cac2f6665d1e7e?latest=20000&features=c_root%2Cf_goldstein&categorical=c_root",
    (
        "table-rank-features",
        "online_retail",
    ): "0ac931aa26208d9b474f80ea?latest=20000&features=f_log_qty%2Cf_log_price%2Cf_basket_log_size",
    (
        "table-rank-features",
        "reddit_links",
    ): "d5b2605c9383904d8e15f890?latest=20000"
    "&features=f_log_score%2Cf_log_comments%2Cf_over18%2Cf_title_len%2Cf_flair",
}
DIGESTS = {  # of the names of all runs of a recipe, in their order, as they were before there was a `RunSpec`
    "figure-blurring": "384b5d6a24fe75ed",
    "figure-hits": "c1013cceee83c148",
    "figure-neighbors": "384b5d6a24fe75ed",
    "figure-width": "0203a89b11bbcbb2",
    "rank-editions": "6c89a0465b3ef869",
    "rank-parts": "d47d23497bd1be44",
    "rank-training": "8a17fe1a791a5510",
    "table-board": "785abe6a46d8c6f2",
    "table-dgraphfin": "7aaf4dd4caca8ccd",
    "table-dyglib": "bd275e81d3b56b88",
    "table-evidence": "05d98dc068579acd",
    "table-evidence-late": "01cc06381edef4c8",
    "table-evidence-links": "1b28813d9cf9b00d",
    "table-flight": "98010a79f849fe58",
    "table-jodie": "bd57d6fecbc988cc",
    "table-kernels": "a3800ad05e5d52e7",
    "table-link": "733c653a75169fa6",
    "table-modulation": "d619519d1945c035",
    "table-paper": "7a3dad343d868e63",
    "table-rank": "ddf074d7b1835fa6",
    "table-rank-features": "6e7da03dee392f6b",
    "table-released": "a2ec0d1a93dd013f",
    "table-tgbn": "c1d059132b7a784f",
    "table-time-encodings": "3520beebafb1ba02",
    "uci-backbones": "823d09a1c0222f8f",
    "uci-cooccurrence": "079fb0e54e67356b",
    "uci-readings": "774f7f727b0cc045",
    "wikipedia-cooccurrence": "c2e8a10f2779ec6a",
    "wikipedia-readings": "cf823b3e7083e699",
}


def recipes() -> list[Recipe]:
    return [load_recipe(name) for name in recipe_names()]


def fingerprints_of(recipe: Recipe) -> dict[str, str]:
    known = {
        name: READ_OTHERWISE.get((recipe.name, name), FINGERPRINTS.get(name)) for name in recipe.datasets
    }
    return {name: found for name, found in known.items() if found is not None}


def test_every_line_of_the_results_is_a_run_of_a_recipe() -> None:
    keys = {
        job.key(prints[job.data]) + suffix
        for recipe in recipes()
        for prints in (fingerprints_of(recipe),)
        for job in recipe.jobs({name: f"{name}.parquet" for name in prints})
        for suffix in ("", HITS, RELEASED)
    }
    assert Ledger(RESULTS).keys() <= keys


def test_lines_are_found_without_their_data() -> None:
    known = Known.of(RESULTS)
    found = {line.key for recipe in recipes() for _, line in measured(recipe, {}, known)}
    assert found == {line.key for line in Ledger(RESULTS).lines() if not line.key.endswith((HITS, RELEASED))}


@pytest.mark.parametrize("name", recipe_names())
def test_names_are_what_they_were(name: str) -> None:
    recipe = load_recipe(name)
    jobs = recipe.jobs({data: data for data in recipe.datasets})
    keys = " ".join(job.key(f"fingerprint of {job.data}") for job in jobs)
    assert hashlib.blake2b(keys.encode(), digest_size=8).hexdigest() == DIGESTS[name]


@pytest.mark.parametrize("data", FINGERPRINTS)
@pytest.mark.filterwarnings("ignore::keat.errors.Notice")
def test_fingerprints_are_what_they_were(data: str, shared_file: FindFile) -> None:
    recipe = load_recipe("table-tgbn" if data == "trade" else "rank-editions")
    (job, *_) = recipe.jobs({data: str(shared_file(f"{data}.parquet"))}, seeds=1)
    assert job.fingerprint() == FINGERPRINTS[data]


@pytest.mark.parametrize(("name", "data"), READ_OTHERWISE)
@pytest.mark.filterwarnings("ignore::keat.errors.Notice")
def test_fingerprints_of_what_is_read_otherwise(name: str, data: str, shared_file: FindFile) -> None:
    file = shared_file(f"{data.removesuffix('_bare').removesuffix('_late').removesuffix('_month')}.parquet")
    (job, *_) = load_recipe(name).jobs({data: str(file)}, seeds=1)
    assert job.fingerprint() == READ_OTHERWISE[name, data]
