"""A run asked by several workers: the bits of one, also where a worker or a node dies on the way."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from keat.datasets.loading import Dataset
from keat.datasets.payments import simulate_payments
from keat.errors import InputError
from keat.experiments import sliced_evaluation
from keat.experiments.engines import Engine
from keat.experiments.sliced_evaluation import (
    FOLDER,
    NONE_YET,
    Sliced,
    answer_into,
    evaluate_in_slices,
    sliced,
)
from keat.models.rank import RankConfig
from keat.models.tgn import TGNConfig
from keat.runs.run_evaluation import evaluate_run, one_thread
from keat.runs.run_file import read_run_file
from keat.runs.run_model import train_run
from keat.runs.spec import RunSpec, SourceSpec
from keat.tasks.link import LinkTask
from keat.tasks.task_spec import TaskSpec
from keat.training.evaluate import Evaluation
from keat.training.fit import FitConfig

TASK = TaskSpec(kind="link-ranking")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    stream = simulate_payments(900, seed=2)
    path = tmp_path_factory.mktemp("data") / "payments.parquet"
    pq.write_table(pa.table({"src": stream.src, "dst": stream.dst, "t": stream.t}), path)
    return path


def trained(file: Path, folder: Path, name: str = "keat-tgn") -> tuple[Sliced, Dataset, LinkTask, Evaluation]:
    """A run, what is asked of it, and what it finds in a row."""
    tgn = TGNConfig(kernel="laplacian", dim=8, neighbors=3)
    config = RankConfig(hidden=8, ring=4, fanout=2) if name == "keat-rank" else tgn
    source = SourceSpec(str(file))
    data = source.open(TASK)
    train_run(RunSpec(name, config, FitConfig(epochs=1, lr=1e-3), TASK, source), data, folder)
    task = TASK.make(data, "test")
    assert isinstance(task, LinkTask)
    asked = replace(sliced(folder, source, TASK, "test", 20), slices=4)
    with one_thread():
        whole = evaluate_run(folder, data, task, "test", file=read_run_file(folder), refresh=20)
    return asked, data, task, whole


def require_equal(found: Evaluation, whole: Evaluation, asked: Sliced) -> None:
    assert torch.equal(found.outcomes, whole.outcomes)
    assert found.metrics == whole.metrics
    assert found.answering > 0
    assert not (Path(asked.run) / FOLDER).exists()  # nothing is left behind


@pytest.mark.parametrize("name", ["keat-tgn", "keat-rank"])
def test_slices_of_one_process_give_what_one_evaluation_gives(name: str, file: Path, tmp_path: Path) -> None:
    asked, data, task, whole = trained(file, tmp_path / "run", name)
    heard = list[tuple[int, int]]()
    for slices in (1, 4):
        by_slices = replace(asked, slices=slices)
        found = evaluate_in_slices(by_slices, data, task, workers=1, progress=lambda *now: heard.append(now))
        require_equal(found, whole, asked)
    assert heard[-1] == (len(task), len(task))
    fresh = replace(asked, split="val")  # which begins with nothing observed
    val = TASK.make(data, "val")
    assert isinstance(val, LinkTask)
    expected = evaluate_run(Path(asked.run), data, val, "val", refresh=20)
    assert torch.equal(evaluate_in_slices(fresh, data, val, workers=1).outcomes, expected.outcomes)


def test_after_an_interruption_answers_that_are_there_are_used(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, data, task, whole = trained(file, tmp_path / "run")
    done = list[int]()

    def interrupted(asked: Sliced, number: int, folder: str) -> tuple[int, int]:
        if number == 2:
            raise KeyboardInterrupt
        return answer_into(asked, number, folder)

    def watched(asked: Sliced, number: int, folder: str) -> tuple[int, int]:
        if not sliced_evaluation._answers(Path(folder), number).exists():
            done.append(number)
        return answer_into(asked, number, folder)

    monkeypatch.setattr(sliced_evaluation, "answer_into", interrupted)
    with pytest.raises(KeyboardInterrupt):
        evaluate_in_slices(asked, data, task, workers=1)
    monkeypatch.setattr(sliced_evaluation, "answer_into", watched)
    require_equal(evaluate_in_slices(asked, data, task, workers=1), whole, asked)
    assert done == [2, 3]


def test_data_in_memory_are_refused() -> None:
    with pytest.raises(InputError, match="given in memory"):
        sliced(Path("run"), SourceSpec(), TASK, "test", 200)


def dies_once(asked: Sliced, number: int, folder: str) -> tuple[int, int]:
    """Work of a worker that is killed with a slice in its hands, the first time."""
    mark = Path(folder) / f"{number}.died"
    if number == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return answer_into(asked, number, folder)


@pytest.mark.parametrize(("engine", "workers"), [("local", 4), ("ray", 2)])  # one worker is asked above
def test_a_killed_worker_costs_its_slice_alone(
    engine: Engine, workers: int, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "ray":
        pytest.importorskip("ray", reason="Ray is not installed; it comes with keat[ray]")
        monkeypatch.delenv("RAY_ADDRESS", raising=False)
        monkeypatch.setenv(
            "PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
        )
    asked, data, task, whole = trained(file, tmp_path / "run")
    monkeypatch.setattr(sliced_evaluation, "answer_into", dies_once)
    require_equal(evaluate_in_slices(asked, data, task, workers=workers, engine=engine), whole, asked)


@pytest.fixture
def two_nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster of two nodes of one core each."""
    ray = pytest.importorskip("ray", reason="Ray is not installed; it comes with keat[ray]")
    from ray.cluster_utils import Cluster

    here = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]  # where `slow_elsewhere` is found
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(here))
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()  # type: ignore[no-untyped-call]


def slow_elsewhere(asked: Sliced, number: int, folder: str) -> tuple[int, int]:
    """Work that says where it is done. The second node gets some, and takes long."""
    if number == NONE_YET:
        return answer_into(asked, number, folder)
    import ray

    node, marks = ray.get_runtime_context().get_node_id(), Path(folder).parent
    (marks / f"{number}-{node}").touch()
    head = (marks / "head").read_text()
    if node != head:
        time.sleep(60)
    while all(mark.name.endswith(head) for mark in marks.glob("[0-9]*-*")):
        time.sleep(0.1)
    return answer_into(asked, number, folder)


def test_a_node_that_is_killed_midway_changes_no_bit(
    two_nodes: Any, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, data, task, whole = trained(file, tmp_path / "run")
    marks, (second,) = tmp_path / "run" / FOLDER, two_nodes.worker_nodes
    marks.mkdir()
    (marks / "head").write_text(two_nodes.head_node.node_id)

    def kill() -> None:
        """As soon as the second node has a slice in its hands."""
        while not list(marks.glob(f"*-{second.node_id}")):
            time.sleep(0.1)
        two_nodes.remove_node(second, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    monkeypatch.setattr(sliced_evaluation, "answer_into", slow_elsewhere)
    found = evaluate_in_slices(asked, data, task, workers=2, engine="ray")
    killer.join()
    assert torch.equal(found.outcomes, whole.outcomes)
    taken = {number: len(list(marks.glob(f"{number}-*"))) for number in range(asked.slices)}
    assert max(taken.values()) == 2  # what the dead node had was done again by the other
    assert min(taken.values()) == 1
