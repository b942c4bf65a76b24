"""Jobs are named by content, run once, and survive a kill."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from keat.datasets.payments import simulate_payments
from keat.errors import InputError
from keat.experiments.code_fingerprint import Code
from keat.experiments.job import Job, spec_of
from keat.experiments.ledger import Ledger
from keat.experiments.line import Settings
from keat.experiments.recipe import load_recipe
from keat.experiments.recipe_table import table_of
from keat.experiments.runner import keys_of, run_jobs
from keat.experiments.sources import source_of
from keat.experiments.work import run_folder
from keat.models.registry import build_model
from keat.runs.epochs import read_history
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec, SourceSpec, configuration
from keat.tasks.task_spec import TaskSpec

SMALL = {"dim": 8, "neighbors": 3}
FAST = {"epochs": 2, "patience": 2, "lr": 1e-3}


def nobody(_: str) -> None:
    """Listens, and does nothing with it."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    stream = simulate_payments(1_500, seed=2)
    path = tmp_path_factory.mktemp("data") / "payments.parquet"
    pq.write_table(pa.table({"src": stream.src, "dst": stream.dst, "t": stream.t}), path)
    return path


RANKING = TaskSpec(kind="link-ranking")


def a_job(
    file: Path,
    model: str = "tgn",
    *,
    config: Settings = SMALL,
    fit: Settings = FAST,
    seed: int = 1,
    task: TaskSpec = RANKING,
) -> Job:
    return Job("payments", spec_of(model, config, fit, seed, task, SourceSpec(str(file))))


@pytest.fixture
def job(file: Path) -> Job:
    return a_job(file)


def test_a_name_is_the_content(job: Job, file: Path) -> None:
    others = [
        a_job(file, seed=2),
        a_job(file, "keat-tgn"),
        a_job(file, config={**SMALL, "kernel": "rbf"}),
        a_job(file, fit={**FAST, "lr": 1e-4}),
        replace(job, refresh=(1,)),
        a_job(file, task=replace(RANKING, sample=10)),
        a_job(file, task=TaskSpec(kind="link-classification")),
    ]
    keys = keys_of([job, *others])
    assert len(set(keys)) == len(keys)
    same = replace(a_job(file, config={**SMALL, "kernel": "identity"}), data="another name", arm="a row")
    assert keys_of([same]) == keys[:1]


def test_a_model_with_a_kernel_has_one_name_however_it_is_called(file: Path) -> None:
    named = a_job(file, "keat-tgn", config={})
    spelled = a_job(file, config={"kernel": "laplacian"})
    plain = a_job(file, config={})
    assert named.key("data") == spelled.key("data") != plain.key("data")


def test_a_finished_run_is_not_repeated(job: Job, tmp_path: Path) -> None:
    ledger, said = Ledger(tmp_path / "ledger.jsonl"), list[str]()
    (first,) = run_jobs([job], ledger, tmp_path / "runs", listener=said.append)
    (again,) = run_jobs([job], ledger, tmp_path / "runs", listener=said.append)
    assert first == again
    assert len(ledger.lines()) == 1
    assert "1 to go" in said[0]
    assert "0 to go" in said[-1]
    assert 0 < first.test["200"].metrics["mrr"] < 1
    learned = build_model(job.open().stream, configuration("tgn", **SMALL)).parameters()
    assert (first.epochs, first.parameters) == (2, sum(each.numel() for each in learned))
    assert first.train_seconds is not None
    assert first.milliseconds is not None
    assert first.milliseconds.keys() == first.test.keys()
    assert min(first.train_seconds, *first.milliseconds.values()) > 0
    (run,) = (tmp_path / "runs").iterdir()
    trained = (run / "metrics.jsonl").stat().st_mtime_ns
    # Scored in another way, the same run is opened again and not trained.
    (fresh,) = run_jobs([replace(job, refresh=(1, 200))], ledger, tmp_path / "runs", listener=said.append)
    assert list((tmp_path / "runs").iterdir()) == [run]
    assert (run / "metrics.jsonl").stat().st_mtime_ns == trained
    assert fresh.test["200"] == first.test["200"]
    assert fresh.val == first.val


def test_two_jobs_at_a_time_give_what_one_gives(job: Job, file: Path, tmp_path: Path) -> None:
    jobs = [job, a_job(file, "edgebank"), a_job(file, seed=2)]
    alone = run_jobs(jobs, Ledger(tmp_path / "a.jsonl"), tmp_path / "a", listener=nobody)
    both = run_jobs(jobs, Ledger(tmp_path / "b.jsonl"), tmp_path / "b", parallel=2, listener=nobody)
    for one, two in zip(alone, both, strict=True):
        assert one.test == two.test
        assert one.key == two.key


def test_a_sample_says_its_error(file: Path, tmp_path: Path) -> None:
    sampled = a_job(file, task=replace(RANKING, sample=40))
    (line,) = run_jobs([sampled], Ledger(tmp_path / "l"), tmp_path / "r", listener=nobody)
    errors = line.test["200"].standard_errors
    assert errors is not None
    assert errors["mrr"] > 0


KILLED = """
import sys
from pathlib import Path
from keat.experiments.job import Job, spec_of
from keat.experiments.ledger import Ledger
from keat.experiments.runner import run_jobs
from keat.runs.spec import SourceSpec
from keat.tasks.task_spec import TaskSpec
file, folder = sys.argv[1], Path(sys.argv[2])
config, fit = {"dim": 8, "neighbors": 3}, {"epochs": 12, "patience": 12, "lr": 1e-3}
job = Job("payments", spec_of("tgn", config, fit, 1, TaskSpec(kind="link-ranking"), SourceSpec(file)))
run_jobs([job], Ledger(folder / "ledger.jsonl"), folder / "runs")
"""


def test_a_killed_plan_loses_at_most_the_epoch_under_way(file: Path, tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(file), str(tmp_path)])
    metrics: list[Path] = []
    while not metrics or metrics[0].read_text().count("\n") < 2:  # two epochs are kept
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.02)
        metrics = list((tmp_path / "runs").glob("*/metrics.jsonl"))
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = metrics[0].read_text().splitlines()[:2]
    longer = a_job(file, fit={**FAST, "epochs": 12, "patience": 12})
    (line,) = run_jobs([longer], Ledger(tmp_path / "ledger.jsonl"), tmp_path / "runs", listener=nobody)
    assert metrics[0].read_text().splitlines()[:2] == kept
    (whole,) = run_jobs([longer], Ledger(tmp_path / "other.jsonl"), tmp_path / "other", listener=nobody)
    assert (line.test, line.loss) == (whole.test, whole.loss)


def test_a_run_of_an_earlier_version_is_gone_on_with(file: Path, tmp_path: Path) -> None:
    """It was called as another table calls it, and did not say how its labels were made."""
    task, source = TaskSpec(kind="node-property"), source_of(str(file), {"period": "week"})
    spec = spec_of("tgn", {**SMALL, "kernel": "laplacian"}, FAST, 1, task, source)
    assert isinstance(spec, RunSpec)
    job, once = Job("payments", spec), replace(spec.fitting, epochs=1)
    data = job.open()
    folder = run_folder(job, tmp_path / "runs", data)
    train_run(RunSpec("keat-tgn", spec.config, once, task), data, folder)
    begun = read_history(folder)
    (line,) = run_jobs([job], Ledger(tmp_path / "a.jsonl"), tmp_path / "runs", listener=nobody)
    (whole,) = run_jobs([job], Ledger(tmp_path / "b.jsonl"), tmp_path / "other", listener=nobody)
    assert read_history(folder)[:1] == begun
    assert (line.val, line.test, line.loss) == (whole.val, whole.test, whole.loss)


LONG = """
title = "Long"
about = "Longer than anybody waits."
metric = "mrr"
datasets = ["mine"]
seeds = 2
[fit]
epochs = 100000
patience = 100000
[[arms]]
label = "TGN"
model = "tgn"
config = { dim = 8, neighbors = 3 }
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc")
def test_workers_of_a_killed_plan_end_with_it(file: Path, tmp_path: Path) -> None:
    """Otherwise two processes would train in one folder when the plan is started again."""
    (tmp_path / "long.toml").write_text(LONG)
    where: list[str | Path] = ["--scratch", tmp_path / "runs", "--ledger", tmp_path / "ledger.jsonl"]
    plan: list[str | Path] = [
        "reproduce",
        tmp_path / "long.toml",
        "--data",
        f"mine={file}",
        "--jobs",
        "2",
        *where,
    ]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen([sys.executable, "-m", "keat", *plan], stdout=log, stderr=log)
        while len(list((tmp_path / "runs").glob("*/metrics.jsonl"))) < 2:  # both are at it
            assert process.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.05)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(children) >= 2
    deadline = time.monotonic() + 120
    while any(_is_alive(child) for child in children):
        assert time.monotonic() < deadline, "a worker goes on without its plan"
        time.sleep(0.1)


def _is_alive(process: str) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # dead, and nobody has asked yet


def test_runs_of_another_code_are_run_again_when_that_is_said(job: Job, file: Path, tmp_path: Path) -> None:
    ledger, said = Ledger(tmp_path / "ledger.jsonl"), list[str]()
    (first,) = run_jobs([job], ledger, tmp_path / "runs", listener=nobody)
    assert first.code == job.code()
    assert first.val_refresh == 200
    assert first.features == ()
    blocks = first.test["200"].without_block
    assert blocks is not None
    assert len(blocks["mrr"]) == 20
    ledger.path.unlink()
    ledger.append(replace(first, code=Code("other", "other")))
    (kept,) = run_jobs([job], ledger, tmp_path / "runs", listener=said.append)
    assert kept.code == Code("other", "other")
    assert "not known to be of today's code" in said[-1]
    with pytest.raises(InputError, match=r"1 runs in .* are of another code than today's"):
        run_jobs([job, a_job(file, seed=2)], ledger, tmp_path / "runs", listener=nobody)
    (again,) = run_jobs([job], ledger, tmp_path / "runs", listener=nobody, again=True)
    assert again.code == first.code
    assert again.test == first.test
    assert len(ledger.lines()) == 2
    assert run_jobs([job], ledger, tmp_path / "runs", listener=nobody) == [again]  # the later one


def test_an_attribute_of_events_is_run_by_a_recipe(tmp_path: Path) -> None:
    stream = simulate_payments(1_500, seed=3)
    rng = np.random.default_rng(0)
    amount = rng.random(len(stream)).astype(np.float32)
    columns = {"src": stream.src, "dst": stream.dst, "t": stream.t, "amount": amount}
    pq.write_table(pa.table(columns), tmp_path / "mine.parquet")
    (tmp_path / "mine.toml").write_text(ATTRIBUTE)
    recipe = load_recipe(str(tmp_path / "mine.toml"))
    jobs = recipe.jobs({"mine": str(tmp_path / "mine.parquet")})
    lines = run_jobs(jobs, Ledger(tmp_path / "ledger.jsonl"), tmp_path / "runs", listener=nobody)
    assert {line.task for line in lines} == {"edge-attribute"}
    assert all(line.source.endswith("known_after=amount%3D3600&target=amount%3E0.5") for line in lines)
    assert all(line.features == ("amount",) for line in lines)
    assert all(0 < line.tested()["auc"] < 1 for line in lines)
    row = table_of(recipe, "mine", list(zip(jobs, lines, strict=True)))["rows"][-1]
    assert str(row["difference"]).endswith("vs mean")


ATTRIBUTE = """
title = "Amounts"
about = "A test."
metric = "auc"
also = ["ap"]
task = "edge-attribute"
datasets = ["mine"]
seeds = 1
[fit]
epochs = 1
[reading.mine]
target = "amount>0.5"
known_after = "amount=3600"
[[arms]]
label = "mean"
model = "mean-pair"
[[arms]]
label = "KEAT"
model = "keat-tgn"
config = { dim = 8, neighbors = 3 }
against = "mean"
"""
