"""What cannot be run is refused when the recipe is read, before anything is trained."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from conftest import MakeStream
from keat.datasets.loading import Dataset
from keat.errors import KeatError
from keat.experiments.recipe import load_recipe
from keat.experiments.recipe_checking import METRICS
from keat.tasks.derived_labels import label_by_period
from keat.tasks.task_factory import make_task

SOUND = """
title = "X"
about = "x"
metric = "mrr"
datasets = ["mine"]
seeds = 2
also = ["hits@10"]
[fit]
epochs = 1
[[arms]]
label = "TGN"
model = "tgn"
config = { dim = 8, width = inf }
[[arms]]
label = "EdgeBank"
model = "edgebank"
"""
CHANGES = [
    ('metric = "mrr"', 'metric = "nope"', "Unknown metric of link-ranking 'nope'; known: hits@1, .*, mrr"),
    ('metric = "mrr"', "metric = 3", "'metric' cannot be 3"),
    ('metric = "mrr"', "", "There is no 'metric' in the recipe mine"),
    ('metric = "mrr"', 'metric = "ap"\ntask = "link-ranking"', "Unknown metric of link-ranking 'ap'"),
    ('metric = "mrr"', 'metric = "mrr"\ntask = "link-rank"', "Unknown task 'link-rank'; did you mean"),
    ('metric = "mrr"', 'metric = "mrr"\ntask = "node-label"', "Unknown task 'node-label'"),
    ('metric = "mrr"', 'metric = "mrr"\nmetrik = "x"', "Unknown entry of the recipe mine 'metrik'; did you"),
    ('["hits@10"]', '["hits@11"]', "Unknown metric of link-ranking 'hits@11'"),
    ('["hits@10"]', '"hits@10"', "'also' cannot be 'hits@10'"),
    ('title = "X"', "title = 2024-01-01", "'title' cannot be"),
    ('["mine"]', "[]", "It needs at least one of its datasets"),
    ('["mine"]', '"mine"', "'datasets' cannot be 'mine'"),
    ('["mine"]', "[1]", r"'datasets' cannot be \(1,\)"),
    ('["mine"]', '["mine", "mine"]', "Two of its datasets have the same name"),
    ('["mine"]', '[""]', "It needs at least one of its datasets, each with a name"),
    ("seeds = 2", "seeds = 0", "'seeds' must be at least 1"),
    ("seeds = 2", "seeds = []", r"'seeds' cannot be \[\]"),
    ("seeds = 2", "seeds = true", "'seeds' cannot be True"),
    ("seeds = 2", "seeds = 2.5", "'seeds' cannot be 2.5"),
    ("seeds = 2", 'seeds = 2\nusual = "yes"', "'usual' cannot be 'yes'"),
    ("seeds = 2", 'seeds = 2\npreset = "papers"', "'preset' cannot be 'papers'"),
    ("seeds = 2", 'seeds = 2\nusual = true\npreset = "paper"', "as usual or by a preset, not by both"),
    ("epochs = 1", "budget = 0", "budget must be above 0"),
    ("epochs = 1", 'budget = "1 h"', r"'budget' in \[fit\] cannot be '1 h'"),
    ("seeds = 2", "seeds = 2\nrefresh = [0]", "'refresh' must be at least 1"),
    ("seeds = 2", 'seeds = 2\nrefresh = ["x"]', "'refresh' cannot be"),
    ("seeds = 2", "seeds = 2\nsample = { mien = 5 }", "Unknown dataset in sample 'mien'; did you"),
    ("seeds = 2", "seeds = 2\nsample = { mine = 0 }", "'sample' must be at least 1"),
    ("seeds = 2", 'seeds = 2\nreading.mine = { units = "s" }', "A recipe's reading has unit"),
    ('metric = "mrr"', 'metric = "mrr"\ntask = 3', "Unknown task '3'"),
    ("epochs = 1", "lr = -1.0", "'?lr'?"),
    (
        SOUND,
        SOUND.replace('"mrr"', '"ndcg@10"\ntask = "node-property"').replace(
            'also = ["hits@10"]', "sample = { mine = 5 }"
        ),
        "Only link tasks are sampled",
    ),
    (
        SOUND,
        SOUND.replace('"mrr"', '"auc"\ntask = "graph-label"')
        .replace('also = ["hits@10"]', "")
        .replace("epochs = 1", "batch_size = 5")
        .replace('"tgn"\nconfig = { dim = 8, width = inf }', '"gearsage"'),
        r"Unknown setting in \[fit\] 'batch_size'",
    ),
    ("epochs = 1", "epoch = 1", r"Unknown setting in \[fit\] 'epoch'; did you mean 'epochs'"),
    ("epochs = 1", 'epochs = "1"', r"'epochs' in \[fit\] cannot be '1'"),
    ("epochs = 1", "epochs = 0", "'epochs' must be at least 1"),
    ("epochs = 1", "seed = 1", r"Unknown setting in \[fit\] 'seed'"),
    ("epochs = 1", "lr = nan", r"'lr' in \[fit\] cannot be nan"),
    ("epochs = 1", 'loss = "listwize"', r"'loss' in \[fit\] cannot be 'listwize'"),
    ('model = "tgn"', 'model = "tgnn"', "Unknown model of link-ranking 'tgnn'; did you mean 'tgn'"),
    ('model = "tgn"', 'model = "gearsage"', "Unknown model of link-ranking 'gearsage'"),
    ('model = "tgn"', 'modle = "tgn"', "Unknown entry of an arm of the recipe mine 'modle'"),
    ("dim = 8", "dims = 8", "Unknown setting in the config of 'TGN' 'dims'; did you mean"),
    ("dim = 8", "dim = 8.5", "'dim' in the config of 'TGN' cannot be 8.5"),
    ("dim = 8", "dim = -8", "with the config of 'TGN'|dim"),
    ("dim = 8", 'kernel = "lapacian"', "[Kk]ernel"),
    ('label = "TGN"', 'label = "EdgeBank"', "Two of its arms have the same name"),
    ('label = "TGN"', 'label = ""', "It needs at least one of its arms, each with a name"),
    ('label = "TGN"', 'label = "TGN"\nagainst = "TGNN"', "Unknown arm to compare with 'TGNN'; did you mean"),
    ('label = "TGN"', 'label = "TGN"\ndatasets = ["other"]', "Unknown dataset of an arm 'other'"),
    ('label = "TGN"', 'label = "TGN"\npublished = { mine = "x" }', "'published' of the arm 'TGN' cannot be"),
    ('model = "edgebank"', 'model = "edgebank"\nconfig = { dim = 8 }', "edgebank is a heuristic without"),
    (SOUND, 'arms = 3\ntitle = "x"', "has no list of arms"),
    (SOUND, 'arms = ["a"]\ntitle = "x"', "In an arm of the recipe mine, 'a' is no table"),
    (SOUND, 'like = "table-lnk"\narms = []', "did you mean 'table-link'"),
    (SOUND, 'like = "table-link"\narms = ["TGNN"]', "Unknown arm of table-link 'TGNN'; did you mean"),
    (SOUND, 'like = "table-link"\narms = ["TGN"]\nmetrik = "x"', "Unknown entry of the recipe mine 'metrik'"),
    (SOUND, 'like = "table-link"', "It needs at least one of its arms"),
    (SOUND, "[[", "The recipe mine is not one"),
    (SOUND, "", "There is no 'title' in the recipe mine"),
]


def write(folder: Path, text: str) -> str:
    (folder / "mine.toml").write_text(text, encoding="utf-8")
    return str(folder / "mine.toml")


@pytest.mark.parametrize(("old", "new", "message"), CHANGES)
def test_what_cannot_be_run_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    load_recipe(write(tmp_path, SOUND))
    assert old in SOUND
    with pytest.raises(KeatError, match=message):
        load_recipe(write(tmp_path, SOUND.replace(old, new)))


def test_files_that_are_no_recipe(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b"title = '\xff'")
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "self.toml").write_text(f"like = '{tmp_path / 'self.toml'}'\narms = []")
    for name, message in {
        "x": r"cannot be read \(.*0xff",
        "pipe": "a pipe",
        "folder": "There is no recipe",
        "self": "is not one",
        "x" * 300: "too long",
    }.items():
        with pytest.raises(KeatError, match=message):
            load_recipe(str(tmp_path / f"{name}.toml"))


def test_the_metrics_are_those_of_the_tasks(random_stream: MakeStream) -> None:
    data = Dataset(random_stream(0))
    ranking = make_task(data, kind="link-ranking")
    assert (*ranking.metrics(torch.ones(len(ranking))),) == METRICS["link-ranking"]
    pairs = make_task(data, kind="link-classification")
    assert (*pairs.metrics(torch.ones(len(pairs), 2)),) == METRICS["link-classification"]
    labelled = label_by_period(Dataset(random_stream(0, times=10**6)), "day")
    task = make_task(labelled, kind="node-property")
    assert (*task.metrics(torch.from_numpy(np.ones(len(task)))),) == METRICS["node-property"]
