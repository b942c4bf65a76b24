"""The list of tables and figures has all of the paper's, and every cell says where it stands."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from keat.datasets.payments import simulate_payments
from keat.experiments.catalogue import Entry, states
from keat.experiments.job import Job
from keat.experiments.ledger import USUAL_LEDGER, Ledger
from keat.experiments.line import Line, Score
from keat.experiments.published import published
from keat.experiments.ranking import PAPER_RANKS, RANKED, averages, ranking, ranks_of
from keat.experiments.recipe import load_recipe, recipe_names
from keat.experiments.runner import keys_of
from keat.experiments.work import Found, line_of
from keat.models.registry import LINK_MODELS
from keat.runs.presets import usual_fit
from keat.runs.spec import RunSpec

PAPER_LABELS = """
fig:temporal-mismatch fig:intro_attn_plots tab:link_pred_results tab:kernel_ablations tab:notation
tab:tgbl_stats tab:jodie-stats tab:tgbn_stats tab:dgraphfin-stats fig:spectral_density fig:moment_decay
fig:kernels tab:ranking_penalty tab:node_edge_modulation fig:wiki_kernel_width fig:wiki_hits
tab:link_pred_results_tgbl_flight tab:node_classification_ndcg fig:dgraphfin_keat tab:jodie_results
tab:time_encoding_ablation_2 tab:param-count fig:12_dataset_dist fig:attn_summary_1
fig:attn_for_10_neighbors_1 fig:attn_summary_ex_2 fig:n_summary_ex_2 fig:attn_summary_ex_3
fig:n_summary_ex_3
"""


@pytest.fixture
def nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without data and without a ledger, which we are in."""
    monkeypatch.setenv("KEAT_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def by_name(sources: dict[str, str], ledger: Path) -> dict[str, Entry]:
    return {entry["name"]: entry for entry in states(sources, ledger)}


def test_everything_in_the_paper_has_an_entry(nothing_here: Path) -> None:
    entries = states({}, nothing_here / "none.jsonl")
    named = [label for entry in entries for label in entry["paper"].split(", ") if label]
    assert sorted(named) == sorted(PAPER_LABELS.split())
    assert len({entry["name"] for entry in entries}) == len(entries)
    json.dumps(entries)


@pytest.mark.usefixtures("nothing_here")
def test_every_cell_has_a_number_or_says_what_it_would_take() -> None:
    for entry in states({}, USUAL_LEDGER):
        assert entry["cells"] or "nothing to measure" in entry["state"], entry["name"]
        for cell in entry["cells"]:
            match cell["state"]:
                case "data missing":
                    assert " not " in str(cell["why"])
                    assert cell["command"].split(" && ")[-1].startswith(f"keat reproduce {entry['name']}")
                case "published only":
                    assert cell.keys() & {"paper", "leaderboard", "DyGLib", "TPNet"}
                case "computed on demand":
                    assert cell["command"] == f"keat reproduce {entry['name']}"
                case "measured":
                    assert cell["measured"] == cell["paper"]["total"]  # parameters, counted right now
                case other:
                    raise AssertionError(other)


@pytest.mark.usefixtures("nothing_here")
def test_the_file_that_is_missing_is_named() -> None:
    entries = by_name({}, USUAL_LEDGER)
    (flight, *_) = entries["table-flight"]["cells"]
    assert "tgbl-flight_edgelist_v2.csv" in str(flight["why"])
    assert flight["command"] == "keat data get tgbl-flight && keat reproduce table-flight"
    assert flight["leaderboard"] == {"test": "0.167", "val": "0.166"}
    (fraud, *_) = entries["table-dgraphfin"]["cells"]
    assert fraud["command"] == "keat reproduce table-dgraphfin --data dgraphfin=dgraphfin.npz"
    (own,) = {cell["command"] for cell in entries["uci-readings"]["cells"]}
    assert own == "keat reproduce uci-readings --data uci=uci.parquet"


def test_commands_name_the_ledger_and_all_files(nothing_here: Path) -> None:
    stream = simulate_payments(300, seed=3)
    table = pa.table({"src": stream.src, "dst": stream.dst, "t": stream.t})
    sources = {name: str(nothing_here / f"{name}.parquet") for name in ("wikipedia", "uci")}
    for file in sources.values():
        pq.write_table(table, file)
    named = {name: f"--data {shlex.quote(f'{name}={file}')}" for name, file in sources.items()}
    given = " ".join(named.values())
    entries = by_name(sources, Path("my own.jsonl"))
    assert entries["figure-gaps"]["command"] == f"keat reproduce figure-gaps {given}"
    parts = entries["rank-parts"]
    assert parts["command"] == f"keat reproduce rank-parts {given} --ledger 'my own.jsonl'"
    wikipedia, *_ = parts["cells"]
    assert wikipedia["command"].endswith(f"{named['wikipedia']} --ledger 'my own.jsonl'")
    assert entries["table-ranking"]["command"] == "keat reproduce table-ranking --ledger 'my own.jsonl'"


def line_with(job: Job, key: str, mrr: float) -> Line:
    metrics = {"mrr": mrr, "hits@10": mrr, "hits@1": mrr, "hits@3": mrr}
    return line_of(job, key, Found(1_000, metrics, {"200": Score(metrics)}), seconds=1.0)


def test_what_a_ledger_has_counts_by_content_or_by_name(nothing_here: Path) -> None:
    stream = simulate_payments(1_000, seed=3)
    file = nothing_here / "mine.parquet"
    pq.write_table(pa.table({"src": stream.src, "dst": stream.dst, "t": stream.t}), file)
    recipe, ledger = load_recipe("table-link"), nothing_here / "ledger.jsonl"
    jobs = [job for job in recipe.jobs({"wikipedia": str(file)}, 2) if job.model in ("edgebank", "tgn")]
    for place, (job, key) in enumerate(zip(jobs, keys_of(jobs), strict=True)):
        Ledger(ledger).append(line_with(job, key, 0.5 + 0.1 * place))
    Ledger(ledger).append(line_with(jobs[0], "0123-hits", 0.9))  # other work does not count
    other = nothing_here / "other.parquet"
    pq.write_table(pa.table({"src": stream.src, "dst": stream.dst, "t": stream.t + 1}), other)
    for source, runs in ((str(file), 3), (None, 3), (str(other), 0)):
        entry = by_name({} if source is None else {"wikipedia": source}, ledger)["table-link"]
        assert entry["datasets"]["wikipedia"]["runs"] == runs
        cells = {cell["row"]: cell for cell in entry["cells"] if cell["data"] == "wikipedia"}
        if runs:
            assert cells["EdgeBank∞"]["test"] == "0.5000"
            assert (cells["TGN"]["seeds"], cells["TGN"]["of"]) == (2, 5)
            assert cells["TGN"]["command"].startswith("keat reproduce table-link --")  # for the other three
            assert "command" not in cells["EdgeBank∞"]
        assert cells["DyGFormer"]["state"] == ("to run" if source else "data missing")
    found = ranking({}, nothing_here, ledger).by_title["Ranks of what was measured, by test MRR"]
    assert [(row["model"], row["wikipedia"]) for row in found] == [("TGN", 1), ("EdgeBank∞", 2)]


@pytest.mark.parametrize("name", recipe_names())
def test_published_numbers_are_of_datasets_of_the_recipe_and_stand_once(name: str) -> None:
    recipe, theirs = load_recipe(name), {number.data for number in published(name)}
    assert theirs <= set(recipe.datasets)
    assert not (theirs and any(arm.published for arm in recipe.arms)), "published.toml has them"


def test_published_numbers_keep_their_digits() -> None:
    numbers = {(n.row, n.data, n.by): str(n) for n in published("table-tgbn") if n.split == "test"}
    assert numbers["TGN", "tgbn-token", "paper"] == "0.141 ± 0.006"
    assert numbers["TGN", "tgbn-token", "leaderboard"] == "0.169"
    assert str(next(n for n in published("table-jodie") if n.data == "jodie-wiki")) == "0.9593"
    assert published("uci-readings") == ()


def test_the_table_of_dyglib_has_all_of_its_rows_and_the_runs_of_the_backbones() -> None:
    recipe, backbones = load_recipe("table-dyglib"), load_recipe("uci-backbones")
    theirs = {number.row: number.mean for number in published("table-dyglib")}
    assert theirs.keys() - {arm.label for arm in recipe.arms} == {"PINT"}
    assert {arm.label.removeprefix("KEAT-") for arm in recipe.arms} <= theirs.keys()
    assert {arm.label: theirs[arm.label] for arm in backbones.arms} == {
        arm.label: arm.published["uci"] for arm in backbones.arms
    }
    ours, known = ({job.key("uci") for job in each.jobs({"uci": "uci"}, 2)} for each in (recipe, backbones))
    assert known <= ours  # what was measured for one is not run again for the other


def test_every_model_that_others_rank_has_an_arm_of_its_own() -> None:
    """But for two that keat has no model of."""
    link = {arm.label for arm in load_recipe("table-link").arms}
    assert PAPER_RANKS.keys() <= link
    assert {number.row for number in published("table-link")} - link == {"DyGMamba", "HyperEvent"}
    flights = {arm.label for arm in load_recipe("table-flight").arms}
    assert {number.row for number in published("table-flight")} <= flights


def test_the_board_has_every_model_under_one_rule() -> None:
    recipe = load_recipe("table-board")
    assert sorted(arm.model for arm in recipe.arms) == sorted(LINK_MODELS)
    assert all(arm.label == arm.model and not arm.config and not arm.fit for arm in recipe.arms)
    specs = [job.spec for job in recipe.jobs({"uci": "uci"}, 1)]
    fits = {spec.model: spec.fitting for spec in specs if isinstance(spec, RunSpec)}
    for model, fit in fits.items():  # all else is the model's own
        assert fit == replace(usual_fit(model), epochs=8, patience=8, validate_every=4, budget=10)
    assert recipe.reading == {data: {"latest": "20000"} for data in recipe.datasets}
    assert {job.spec.task.sample for job in recipe.jobs({"uci": "uci"}, 1)} == {200, 60}
    kernels = {arm.model: arm.against for arm in recipe.arms if arm.model.startswith("keat-")}
    assert kernels.pop("keat-rank") == "best heuristic"
    assert all(other == model.removeprefix("keat-") for model, other in kernels.items())


def test_ranks_average_to_the_papers() -> None:
    rows = {row["model"]: row for row in averages(PAPER_RANKS, RANKED)}
    for model, average, reciprocal in (("TNCN", 1.8, 0.733), ("TGN", 5.0, 0.26), ("TCL", 15.0, 0.069)):
        assert rows[model]["average rank"] == average
        assert rows[model]["ranking MRR"] == reciprocal
    assert rows["DyRep"]["ranking MRR"] == 0.177  # the paper prints 0.178
    assert next(iter(rows)) == "TNCN"


def test_the_table_of_ranks_says_what_17_means(nothing_here: Path) -> None:
    (table,) = ranking({}, nothing_here, nothing_here / "none.jsonl").tables("Ranks")
    assert "17 among the leaderboard's 16" in table.caption
    assert any("17" in row for row in table.rows)


def test_a_model_that_is_missing_is_ranked_last() -> None:
    ranks = ranks_of({"a": {"x": 0.5, "y": 0.7, "z": 0.5}, "b": {"x": 0.1}})
    assert ranks == {"x": [2, 1], "y": [1, 4], "z": [2, 4]}
