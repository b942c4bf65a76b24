"""Statistics against scipy, and tables that say what was measured."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

from keat.errors import InputError, UnknownNameError
from keat.experiments.computed import COMPUTED
from keat.experiments.job import GRAPH_LABEL, Job, fit_of
from keat.experiments.line import Line, Score
from keat.experiments.recipe import BEST_HEURISTIC, Arm, Recipe, load_recipe, recipe_names
from keat.experiments.recipe_table import table_of
from keat.experiments.statistics import Value, holm, paired_difference, spread, without_blocks
from keat.models.gearsage import GEARSAGE_CONFIGS
from keat.models.registry import ATTRIBUTE_MODELS, LINK_MODELS, NODE_MODELS
from keat.report.sections.comparison import shown, side_by_side
from keat.runs.presets import usual_fit
from keat.runs.spec import RunSpec, configuration
from keat.tasks.task_spec import TaskSpec


def test_paired_difference_is_a_paired_t_interval() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.random(6), rng.random(6)
    found = paired_difference(dict(enumerate(ours)), dict(enumerate(theirs)))
    interval = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.mean == pytest.approx(np.mean(ours - theirs))
    assert found.is_clear == (interval.low > 0 or interval.high < 0)


def test_differences_are_taken_over_common_seeds() -> None:
    found = paired_difference({1: 0.5, 2: 0.7}, {2: 0.6, 3: 0.9})
    assert found is not None
    assert found.n == 1
    assert found.mean == pytest.approx(0.1)
    assert math.isnan(found.low)
    assert not found.is_clear
    assert paired_difference({1: 0.5}, {2: 0.5}) is None


def test_one_seed_has_no_spread() -> None:
    assert str(spread([0.25])) == "0.2500"
    assert str(spread([0.1, 0.3])) == f"0.2000 ± {np.std([0.1, 0.3], ddof=1):.4f}"


def recipe() -> Recipe:
    arms = (
        Arm("EdgeBank", "edgebank", published={"d": 0.5}),
        Arm("TGN", "tgn"),
        Arm("KEAT", "keat-tgn", against="TGN"),
    )
    return Recipe("x", "X", "about", "mrr", ("d", "e"), arms, seeds=3, fit={"lr": 1e-3})


def line_with(val: float, test: float, sample: int | None = None) -> Line:
    return Line(key="x", val={"mrr": val}, test={"200": Score({"mrr": test})}, sample=sample)


def line_of(model: str, seed: int) -> Line:
    value = {"edgebank": 0.4, "tgn": 0.5, "keat-tgn": 0.6}[model] + seed / 100
    return line_with(value, value)


def test_the_best_heuristic_is_the_best_in_validation() -> None:
    weak, strong = Arm("EdgeBank", "edgebank"), Arm("PopTrack", "poptrack")
    arms = (weak, strong, Arm("KEAT", "keat-tgn", against=BEST_HEURISTIC))
    plan = Recipe("x", "X", "about", "mrr", ("d",), arms, seeds=2)

    def line(model: str, seed: int) -> Line:
        val, test = {"edgebank": (0.3, 0.5), "poptrack": (0.4, 0.2), "keat-tgn": (0.5, 0.5 + seed / 10)}[
            model
        ]
        return line_with(val, test)

    jobs = plan.jobs({"d": "file"})
    rows = table_of(plan, "d", [(job, line(job.model, job.seed)) for job in jobs])["rows"]
    difference = str(rows[-1]["difference"])
    assert difference.startswith("+0.4500 [")  # each seed beside the one result it has
    assert difference.endswith("vs PopTrack")


def test_what_a_result_took_stands_beside_it() -> None:
    names = ("over_heuristic", "milliseconds", "parameters", "epochs", "train_seconds")
    plan = replace(recipe(), also=names, seeds=1)

    def line(job: Job) -> Line:
        old = line_of(job.model, job.seed)
        if job.model == "tgn":  # measured by a version that did not say
            return old
        took = {"200": 1.2345, "1": 7.0}
        if job.is_heuristic:
            return replace(old, milliseconds=took)
        return replace(old, milliseconds=took, parameters=12_345, epochs=4, train_seconds=151.26)

    results = [(job, line(job)) for job in plan.jobs({"d": "file", "e": "file"})]
    table = table_of(plan, "d", results)
    found = {row["label"]: list(row["also"].values()) for row in table["rows"]}
    assert found == {
        "EdgeBank": ["", "1.23", "", "", ""],
        "TGN": ["+0.1000", "", "", "", ""],
        "KEAT": ["+0.2000", "1.23", "12,345", "4.0", "151"],
    }
    assert list(shown(table).columns)[4:9] == [
        "over the best heuristic, refresh 200",
        "ms a question, refresh 200",
        "parameters",
        "epochs trained",
        "seconds of training",
    ]


def test_arms_may_be_trained_as_the_paper_says() -> None:
    recipe = load_recipe("table-paper")
    jobs = {
        (job.data, job.arm): job.spec
        for job in recipe.jobs({data: data for data in recipe.datasets}, seeds=1)
    }
    for data, epochs, patience in (("wikipedia", 200, 25), ("tgbl-wiki", 200, 25), ("tgbl-coin", 30, 5)):
        spec = jobs[data, "KEAT-TGN"]
        assert isinstance(spec, RunSpec)
        assert (spec.fitting.epochs, spec.fitting.patience, spec.fitting.lr) == (epochs, patience, 1e-4)
        assert spec.fitting.recipe == "tgb-parity"
    widths = {data: jobs[data, "KEAT-DyGFormer"].config.width for data in recipe.datasets}  # type: ignore[union-attr]
    assert widths == {
        "wikipedia": 1.0, "tgbl-wiki": 1.0, "tgbl-review": 10.0, "tgbl-coin": 100.0, "tgbl-comment": 100.0
    }  # fmt: skip


def test_arms_may_be_trained_as_their_models_usually_are() -> None:
    arms = (Arm("TGN", "tgn"), Arm("TGAT", "tgat", fit={"lr": 0.5}), Arm("EdgeBank", "edgebank"))
    plan = Recipe("x", "X", "about", "mrr", ("d",), arms, seeds=2, usual=True, fit={"epochs": 2})
    specs = [job.spec for job in plan.jobs({"d": "d"})]
    fits = {(spec.model, spec.fitting.seed): spec.fitting for spec in specs if isinstance(spec, RunSpec)}
    assert fits["tgn", 2] == replace(usual_fit("tgn"), epochs=2, seed=2)
    assert fits["tgat", 1] == replace(usual_fit("tgat"), epochs=2, lr=0.5)


def test_an_arm_may_be_for_some_data_and_a_sample_of_it() -> None:
    small = Arm("DyGFormer", "dygformer", datasets=("d",), sample={"d": 50})
    plan = Recipe("x", "X", "about", "mrr", ("d", "e"), (Arm("TGN", "tgn"), small), seeds=1)
    jobs = plan.jobs({"d": "file", "e": "file"})
    assert [(job.data, job.model, job.spec.task.sample) for job in jobs] == [
        ("d", "tgn", None),
        ("d", "dygformer", 50),
        ("e", "tgn", None),
    ]
    results = [(job, line_with(0.5, 0.5, job.spec.task.sample)) for job in jobs]
    text = shown(table_of(plan, "d", results)).markdown()
    assert "| TGN |" in text
    assert "| DyGFormer (50 positives) |" in text


def test_every_refresh_has_a_column_that_says_so() -> None:
    plan = replace(recipe(), refresh=(200, 1), also=("hits@1",))

    def line(seed: int) -> Line:
        stale, fresh = (Score({"mrr": value + seed / 100, "hits@1": 0.3}) for value in (0.2, 0.7))
        return Line(key="x", val={"mrr": 0.4}, test={"200": stale, "1": fresh})

    results = [(job, line(job.seed)) for job in plan.jobs({"d": "file", "e": "file"}, seeds=1)]
    table = shown(table_of(plan, "d", results))
    assert list(table.columns) == [
        "model",
        "seeds",
        "val mrr, refresh 200",
        "test mrr, refresh 200",
        "test mrr, refresh 1",
        "test hits@1, refresh 200",
        "difference in test, paired, refresh 200",
        "published",
    ]
    assert table.rows[1][:6] == ["TGN", "1", "0.4000", "0.2100", "0.7100", "0.3000"]
    assert {len(row) for row in table.rows} == {len(table.columns)}
    (together,) = side_by_side([table_of(plan, data, results) for data in ("d", "e")])
    assert together.title == "X: test mrr, refresh 200, all datasets"
    assert "test mrr" in shown(table_of(plan, "d", [])).columns  # of which nothing is known


def test_datasets_stand_side_by_side() -> None:
    plan = recipe()
    results = [(job, line_of(job.model, job.seed)) for job in plan.jobs({"d": "file", "e": "file"}, seeds=1)]
    results = [(job, line) for job, line in results if (job.data, job.model) != ("e", "keat-tgn")]
    tables = [table_of(plan, data, results) for data in ("d", "e")]
    assert side_by_side(tables[:1]) == []
    (table,) = side_by_side(tables)
    assert table.columns == ["model", "d", "e"]
    assert table.rows == [
        ["EdgeBank", "0.4100", "0.4100"],
        ["TGN", "0.5100", "0.5100"],
        ["KEAT", "0.6100", ""],  # not run there
    ]


def test_a_table_pairs_arms_by_seed() -> None:
    plan = recipe().jobs({"d": "file"})
    assert sum(job.model == "edgebank" for job in plan) == 1  # nothing random in a heuristic
    table = table_of(recipe(), "d", [(job, line_of(job.model, job.seed)) for job in plan])
    edgebank, tgn, keat = table["rows"]
    assert (edgebank["seeds"], tgn["seeds"], keat["seeds"]) == (1, 3, 3)
    assert str(keat["difference"]).startswith("+0.1000")
    assert keat["clear"]
    text = shown(table).markdown()
    assert "| EdgeBank | 1 | 0.4100 | 0.4100 |  | 0.5000 |" in text
    assert "**+0.1000" in text


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_names_what_exists(name: str) -> None:
    found = load_recipe(name)
    labels = [arm.label for arm in found.arms]
    assert len(set(labels)) == len(labels)
    for arm in found.arms:
        if found.task == GRAPH_LABEL:
            assert arm.model in ("degree", "logistic", *GEARSAGE_CONFIGS)
        else:
            assert arm.model in {**NODE_MODELS, **LINK_MODELS, **ATTRIBUTE_MODELS}
        replace(fit_of(TaskSpec(kind=found.task)), **{**found.fit, **arm.fit})
        if not arm.is_heuristic:
            configuration(arm.model, **arm.config)
        assert arm.against in (None, BEST_HEURISTIC, *labels)
        assert set(arm.datasets) | arm.sample.keys() <= set(found.datasets)


def test_bad_recipes_are_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="table-link"):
        load_recipe("table-lnk")
    file = tmp_path / "mine.toml"
    file.write_text("title = 'x'\n[[arms]]\nlabel = 'a'\n")
    with pytest.raises(InputError, match="There is no 'model' in an arm of the recipe mine"):
        load_recipe(str(file))
    with pytest.raises(InputError, match="There is no recipe"):
        load_recipe(str(tmp_path / "absent.toml"))


def test_parameter_counts_are_the_papers(tmp_path: Path) -> None:
    rows = COMPUTED["table-params"].make({}, tmp_path / "x.png", tmp_path / "ledger.jsonl").rows
    assert [row["total"] for row in rows] == [row["paper's total"] for row in rows]
    assert len(rows) == 5


def test_averages_are_over_the_seeds_that_compared_rows_share() -> None:
    jobs = recipe().jobs({"d": "file"})
    found = [(job, line_of(job.model, job.seed)) for job in jobs if (job.model, job.seed) != ("keat-tgn", 3)]
    table = table_of(recipe(), "d", found)
    _, tgn, keat = table["rows"]
    assert (tgn["seeds"], keat["seeds"]) == (2, 2)
    assert tgn["test"].startswith("0.5150")  # of seeds 1 and 2
    assert "Seeds that not every compared row has are left out (TGN: 3)." in table["notes"]
    alone = [(job, line) for job, line in found if job.model != "keat-tgn"]
    assert table_of(recipe(), "d", alone)["rows"][1]["seeds"] == 3  # nobody beside it
    assert "Not run: KEAT." in table_of(recipe(), "d", alone)["notes"]


def test_a_cell_says_how_fresh_it_is_where_it_is_not_as_its_column() -> None:
    plan = replace(recipe(), arms=(*recipe().arms, Arm("DyGFormer", "dygformer")))

    def line(model: str) -> Line:
        fresh = "1" if model == "dygformer" else "200"
        score = {fresh: Score({"mrr": 0.5})}
        return Line(key="x", val={"mrr": 0.4}, val_refresh=int(fresh), test=score)

    found = [(job, line(job.model)) for job in plan.jobs({"d": "file"}, seeds=1)]
    table = shown(table_of(plan, "d", found))
    assert table.columns[2:4] == ["val mrr, refresh 200", "test mrr, refresh 200"]
    assert table.rows[1][2:4] == ["0.4000", "0.5000"]
    assert table.rows[-1][2:4] == ["0.4000 (refresh 1)", "0.5000 (refresh 1)"]


def test_older_lines_of_a_trained_model_were_validated_as_it_was_trained() -> None:
    plan = replace(recipe(), refresh=(1,))
    found = [
        (job, Line(key="x", val={"mrr": 0.4}, test={"1": Score({"mrr": 0.5})}))
        for job in plan.jobs({"d": "file"}, seeds=1)
    ]
    edgebank, tgn, _ = table_of(plan, "d", found)["rows"]
    assert (edgebank["val_refresh"], tgn["val_refresh"], tgn["test_refresh"]) == ("1", "200", "1")


def test_the_sampling_error_of_test_events_is_in_the_interval() -> None:
    """Where seeds do not differ, it is the standard error of a mean of differences."""
    rng = torch.Generator().manual_seed(0)
    ours, theirs = (1 / (1 + 9 * torch.rand(4_000, generator=rng)) for _ in range(2))

    def mean(outcomes: torch.Tensor) -> dict[str, float]:
        return {"mrr": outcomes.double().mean().item()}

    values = []
    for outcomes in (ours, theirs):
        blocks = without_blocks(mean, outcomes)
        assert blocks is not None
        values.append(Value(mean(outcomes)["mrr"], blocks["mrr"]))
    found = paired_difference({1: values[0], 2: values[0]}, {1: values[1], 2: values[1]})
    assert found is not None
    assert found.has_sampling_error
    expected = (ours - theirs).double().std().item() / math.sqrt(len(ours))
    width = (found.high - found.low) / 2 / stats.t.ppf(0.975, 19)
    assert width == pytest.approx(expected, rel=0.35)  # twenty blocks are a rough estimate of it
    plain = paired_difference({1: 0.5, 2: 0.5}, {1: 0.4, 2: 0.4})
    assert plain is not None
    assert not plain.has_sampling_error
    assert without_blocks(mean, ours[:30]) is None


def test_several_comparisons_are_corrected() -> None:
    p = [0.01, 0.04, 0.03, math.nan]
    corrected = holm(p)
    assert corrected[:3] == pytest.approx([0.03, 0.06, 0.06])
    assert math.isnan(corrected[3])
    assert holm([]) == []
    assert holm([0.6, 0.7]) == [1.0, 1.0]


def test_a_difference_is_bold_only_if_it_stands_out_among_all() -> None:
    """Alone, this one would be; among ten it is not."""
    others = tuple(Arm(f"KEAT {i}", "keat-tgn", {"width": 1.0 + i}, against="TGN") for i in range(10))
    plan = Recipe("x", "X", "about", "mrr", ("d",), (Arm("TGN", "tgn"), *others), seeds=3)
    noise = {1: 0.0, 2: 0.004, 3: -0.004}

    def line(job: Job) -> Line:
        gain = {"TGN": 0.0, "KEAT 0": 0.011 + noise[job.seed]}.get(job.arm, 10 * noise[job.seed])
        return line_with(0.5, 0.5 + gain)

    found = [(job, line(job)) for job in plan.jobs({"d": "file"})]
    first = table_of(plan, "d", found)["rows"][1]
    assert "[+0.001" in str(first["difference"])
    assert not first["clear"]
    two = replace(plan, arms=plan.arms[:2])
    assert table_of(two, "d", [(job, at) for job, at in found if job.arm in ("TGN", "KEAT 0")])["rows"][1][
        "clear"
    ]
