"""The code of a run: what changes it, what does not, and what may stand beside what."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from keat.errors import InputError
from keat.experiments import same_code
from keat.experiments.code_fingerprint import OF_TASKS, PIECES, ROOTS, SOURCES, Code, closure, code_of
from keat.experiments.job import Job, spec_of
from keat.experiments.line import Line, Score
from keat.experiments.recipe import Arm, Recipe
from keat.experiments.recipe_table import table_of
from keat.models.registry import ATTRIBUTE_MODELS, LINK_MODELS, NODE_MODELS
from keat.report.sections.comparison import shown
from keat.runs.spec import SourceSpec
from keat.tasks.task_spec import TaskSpec

TGN = ("keat.models.tgn", "keat.models.tgn_config")


def sources_with(folder: Path, file: str, change: tuple[str, str]) -> Path:
    """A copy of the package in which one text of a file is another."""
    copy = folder / f"{abs(hash((file, change)))}"
    shutil.copytree(SOURCES / "keat", copy / "keat", ignore=shutil.ignore_patterns("__pycache__"))
    path = copy / "keat" / file
    before = path.read_text(encoding="utf-8")
    assert change[0] in before
    path.write_text(before.replace(*change, 1), encoding="utf-8")
    return copy


def test_words_are_no_part_of_a_code_and_everything_else_is(tmp_path: Path) -> None:
    now = code_of(TGN, "link-ranking")
    words = sources_with(tmp_path, "models/tgn.py", ('"""', '"""Said in other words. '))
    assert code_of(TGN, "link-ranking", words) == now
    commented = sources_with(tmp_path, "ops/gru.py", ("import torch\n", "import torch  # of course\n"))
    assert code_of(TGN, "link-ranking", commented) == now
    for file, change, part in (
        ("ops/gru.py", ("import torch\n", "import torch\n\nX = 1\n"), "model"),  # behind a door
        ("kernels.py", ("import math\n", "import math\n\nX = 1\n"), "model"),
        ("models/rank.py", ("import torch\n", "import torch\n\nX = 1\n"), None),  # of another model
        ("tasks/metrics.py", ("import torch\n", "import torch\n\nX = 1\n"), "protocol"),
        ("tasks/node_label.py", ("import torch\n", "import torch\n\nX = 1\n"), None),  # of another task
        ("models/registry.py", ("torch.manual_seed(seed)", "torch.manual_seed(seed + 1)"), "protocol"),
        ("models/registry.py", ("destinations, latest first", "by recency"), None),  # a table of names
        ("report/html/document.py", ('"""', '"""\nX = 1\n"""'), None),
    ):
        then = code_of(TGN, "link-ranking", sources_with(tmp_path, file, change))
        changed = [name for name in ("protocol", "model") if getattr(then, name) != getattr(now, name)]
        assert changed == ([] if part is None else [part]), file


def test_every_piece_and_every_root_is_there() -> None:
    """A definition that is renamed would silently be no part of any code."""
    for module, names in PIECES.items():
        text = SOURCES.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
        assert all(f"def {name}(" in text for name in names), module
    for task, roots in ROOTS.items():
        assert set(roots) <= closure(roots, OF_TASKS), task


@pytest.mark.parametrize("name", sorted({**LINK_MODELS, **NODE_MODELS, **ATTRIBUTE_MODELS}))
def test_every_model_has_a_code_that_is_more_than_its_own_file(name: str) -> None:
    kind = "link-ranking" if name in LINK_MODELS else "node-property"
    kind = "edge-attribute" if name in ATTRIBUTE_MODELS else kind
    job = Job("d", spec_of(name, {}, {}, 1, TaskSpec(kind=kind), SourceSpec("d")))  # type: ignore[arg-type]
    assert job.code() == job.code()
    assert "keat.models.contract" in closure(job.model_files, frozenset({"models"}))
    assert not any(module.startswith("functools") for module in job.model_files)


def test_what_is_said_to_be_the_same_has_evidence() -> None:
    text = (SOURCES / "keat/experiments/same_numbers.toml").read_text(encoding="utf-8")
    for entry in tomllib.loads(text).get("same", []):
        assert entry.keys() == {"code", "as", "evidence"}
        assert len(entry["evidence"]) > 20
        assert entry["code"] != entry["as"]


RECIPE = Recipe(
    "x",
    "X",
    "about",
    "mrr",
    ("d",),
    (
        Arm("EdgeBank", "edgebank"),
        Arm("TGN", "tgn"),
        Arm("KEAT", "keat-tgn", against="TGN"),
        Arm("rank", "keat-rank", against="TGN"),
    ),
    seeds=2,
)
OLD, NEW = Code("p", "old"), Code("p", "new")


def results(**codes: Code | str) -> list[tuple[Job, Line]]:
    """Lines of every arm; a code by model, or the commit of lines that have none."""
    jobs = RECIPE.jobs({"d": "file"})
    lines = []
    for job in jobs:
        value = {"edgebank": 0.4, "tgn": 0.5, "keat-tgn": 0.6, "keat-rank": 0.7}[job.model] + job.seed / 100
        code = codes[job.model.replace("-", "_")]
        told = {"commit": code} if isinstance(code, str) else {"code": code, "commit": "c"}
        line = Line(key="x", val={"mrr": value}, test={"200": Score({"mrr": value})}, **told)
        lines.append((job, line))
    return lines


def test_a_table_with_runs_of_two_codes_is_refused() -> None:
    rank = Code("p", "rank")
    table_of(RECIPE, "d", results(edgebank=Code("p", "e"), tgn=OLD, keat_tgn=OLD, keat_rank=rank))
    with pytest.raises(InputError, match=r"runs of two codes: TGN, seed 1 \(model old, .*KEAT, seed 1"):
        table_of(RECIPE, "d", results(edgebank=Code("p", "e"), tgn=OLD, keat_tgn=NEW, keat_rank=rank))
    with pytest.raises(InputError, match=r"runs of two codes: EdgeBank, seed 1 \(protocol q"):
        table_of(RECIPE, "d", results(edgebank=Code("q", "e"), tgn=OLD, keat_tgn=OLD, keat_rank=rank))


def test_codes_that_are_known_to_be_the_same_stand_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(same_code, "_same", lambda: {"new": "between", "between": "old"})
    found = results(edgebank=Code("p", "e"), tgn=OLD, keat_tgn=NEW, keat_rank=Code("p", "rank"))
    row = table_of(RECIPE, "d", found)["rows"][2]
    assert str(row["difference"]).startswith("+0.1000")


def test_lines_that_do_not_name_their_code_are_known_by_their_commit() -> None:
    found = results(edgebank="a", tgn="a", keat_tgn="b", keat_rank="c")
    table = table_of(RECIPE, "d", found)
    _, _, keat, rank = table["rows"]
    assert keat["difference"] == "not compared with TGN: another code"  # commit a and commit b
    assert str(rank["difference"]).startswith("+0.2000"), "another class of models; the note has the commits"
    assert "Lines of before runs named their code; commits a, b, c." in shown(table).caption
    one = table_of(RECIPE, "d", results(edgebank="a", tgn="a", keat_tgn="a", keat_rank="a"))
    assert str(one["rows"][2]["difference"]).startswith("+0.1000")


def test_pairs_of_one_commit_are_compared_where_others_are_not() -> None:
    found = results(edgebank="a", tgn="a", keat_tgn="a", keat_rank="a")
    job, line = found[-2]  # KEAT, the second seed
    assert (job.model, job.seed) == ("keat-tgn", 2)
    found[-2] = (job, replace(line, commit="b"))
    assert table_of(RECIPE, "d", found)["rows"][2]["difference"] == "+0.1000 vs TGN"  # one pair: no interval
