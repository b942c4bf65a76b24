"""The same plan on a real local Ray."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from keat.datasets.payments import simulate_payments
from keat.errors import MissingExtraError, UnknownNameError
from keat.experiments.job import Job, Untrained
from keat.experiments.ledger import Ledger
from keat.experiments.runner import run_jobs
from keat.models.tgn import TGNConfig
from keat.runs.spec import RunSpec, SourceSpec
from keat.tasks.task_spec import TaskSpec
from keat.training.fit import FitConfig


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """A plan on a file that is named as seen from here, as a user would."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    stream = simulate_payments(1_000, seed=2)
    pq.write_table(pa.table({"src": stream.src, "dst": stream.dst, "t": stream.t}), "payments.parquet")
    task, source = TaskSpec(kind="link-ranking"), SourceSpec("payments.parquet")
    fitting = FitConfig(epochs=1, lr=1e-3, seed=1)
    tgn = RunSpec("tgn", TGNConfig(dim=8, neighbors=3), fitting, task, source)
    again = replace(tgn, fitting=replace(fitting, seed=2))
    return [Job("payments", spec) for spec in (tgn, Untrained("edgebank", task, source), again)]


def test_ray_gives_what_one_process_gives(jobs: list[Job], tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed; it comes with keat[ray]")
    said = list[str]()
    alone = run_jobs(jobs, Ledger(tmp_path / "a.jsonl"), tmp_path / "a", listener=said.append)
    ledger = Ledger(tmp_path / "b.jsonl")
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        spread = run_jobs(jobs, ledger, Path("b"), engine="ray", listener=said.append)
        for one, other in zip(alone, spread, strict=True):
            assert (one.key, one.source) == (other.key, other.source)
            assert (one.val, one.test) == (other.val, other.test)
        assert len(list(Path("b").iterdir())) == 2  # the two that are trained
        again = run_jobs(jobs, ledger, Path("b"), engine="ray", listener=said.append)
        assert again == spread
        assert "0 to go" in said[-1]
        unknown = replace(jobs[1], spec=replace(jobs[1].spec, model="edgebnk"))
        with pytest.raises(UnknownNameError, match=r"^Unknown .*'edgebnk'; did you mean 'edgebank'"):
            run_jobs([unknown], ledger, Path("b"), engine="ray", listener=said.append)
        assert ray.is_initialized()  # it was there before, so it stays
    finally:
        ray.shutdown()


def test_without_ray_it_says_what_to_install(
    jobs: list[Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"keat\[ray\]"):
        run_jobs(jobs, Ledger(tmp_path / "l"), tmp_path, engine="ray", listener=lambda _: None)
