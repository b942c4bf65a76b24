"""The unit of time changes no score: the same log in s, ms, µs, ns and as a frame makes the same model."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import keat
import keat.models.registry
from every_model import EVERY_MODEL, PAIR_TERM, READS_FEATURES, smaller
from format_1_runs import as_format_1
from keat.clock import PLAIN, Clock
from keat.datasets.loading import Dataset
from keat.errors import UnknownNameError
from keat.events import EventStream, TimeUnit
from keat.events.units import UNITS, clock_of
from keat.models.architectures import ARCHITECTURES
from keat.models.dygformer import DyGFormerConfig
from keat.models.registry import create_label_model
from keat.models.tgn import TGNConfig
from keat.runs.run_evaluation import evaluate_run
from keat.runs.run_file import read_run_file
from keat.runs.run_model import open_model, train_run
from keat.runs.spec import RunSpec, configuration
from keat.tasks.task_factory import make_task
from keat.training.evaluate import evaluate
from keat.training.fit import FitConfig

EVENTS = 240
PER_SECOND: dict[TimeUnit, int] = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def log(unit: TimeUnit = "s", fractions: bool = False) -> EventStream:
    """Two months of events, at whole seconds or at hundredths of one."""
    rng = np.random.default_rng(3)
    seconds = 1_700_000_000 + np.sort(rng.integers(0, 60 * 86_400, EVENTS))
    hundredths = 100 * seconds + (np.sort(rng.integers(0, 100, EVENTS)) if fractions else 0)
    return EventStream.from_arrays(
        rng.integers(0, 12, EVENTS),
        rng.integers(12, 30, EVENTS),
        hundredths // 100 * PER_SECOND[unit] + hundredths % 100 * PER_SECOND[unit] // 100,
        rng.normal(size=(EVENTS, 2)),
        labels=rng.integers(0, 2, EVENTS),
        unit=unit,
    )


def small(name: str) -> Any:
    if name == READS_FEATURES:
        return replace(small("keat-rank"), feature_means=True)
    config: Any = ARCHITECTURES[name.removesuffix(PAIR_TERM)].config
    if name.endswith(PAIR_TERM):
        config = replace(config, pair_term="rank")
    if isinstance(config, DyGFormerConfig):
        config = replace(config, patch=2, cooccurrence="both")
    return smaller(config)


@pytest.mark.parametrize("name", [name for name in EVERY_MODEL if name.startswith(tuple(ARCHITECTURES))])
def test_a_trained_model_is_the_same_to_the_last_bit(name: str, tmp_path: Path) -> None:
    fitting = FitConfig(epochs=1, lr=1e-3, batch_size=50)
    found = {}
    for unit in PER_SECOND:
        data = Dataset(log(unit))
        model = "keat-rank" if name == READS_FEATURES else name.removesuffix(PAIR_TERM)
        reports = train_run(RunSpec(model, small(name), fitting), data, tmp_path / unit).reports
        test = evaluate_run(tmp_path / unit, data, make_task(data), "test", refresh=1)
        found[unit] = reports[0].loss, reports[0].val, test.metrics
    assert all(of_unit == found["s"] for of_unit in found.values()), found


@pytest.mark.parametrize("time_encoder", ["cosine", "fixed", "lete"])
@pytest.mark.parametrize("delta", ["neighbor", "query"])
@pytest.mark.parametrize("kernel", ["laplacian", "mlp"])
def test_so_is_one_with_fractions_of_seconds(time_encoder: str, delta: str, kernel: str) -> None:
    """Ages are quotients of whole numbers, rounded once: 1234 ms and 1234000 µs are one number."""
    config = configuration("keat-tgn", time_encoder=time_encoder, delta=delta, kernel=kernel)
    outcomes = []
    for unit in ("ms", "us"):
        data = Dataset(log(unit, fractions=True))
        model = keat.models.registry.build_model(data.train, config, seed=2)
        outcomes.append(evaluate(model, make_task(data), refresh=20).outcomes)
    assert torch.equal(*outcomes)


@pytest.mark.parametrize("name", [name for name in EVERY_MODEL if not name.startswith(tuple(ARCHITECTURES))])
def test_heuristics_agree(name: str) -> None:
    outcomes = []
    for unit in PER_SECOND:
        data = Dataset(log(unit))
        outcomes.append(evaluate(keat.create_link_model(name, data.train), make_task(data)).outcomes)
    assert all(torch.equal(outcomes[0], other) for other in outcomes)


def test_counts_agree() -> None:
    scores = []
    for unit in PER_SECOND:
        data = Dataset(log(unit))
        model = create_label_model("counts", data.train)
        scores.append(evaluate(model, make_task(data, kind="node-label")).outcomes)
    assert all(torch.equal(scores[0], other) for other in scores)


def test_a_file_and_a_frame_of_the_same_log_are_one_model(tmp_path: Path) -> None:
    """The defect: a CSV was read in seconds, a frame in microseconds, and φ made two models of them."""
    stream = log()
    moments = [datetime.fromtimestamp(int(t), UTC).replace(tzinfo=None) for t in stream.t]
    frame = pd.DataFrame({"src": stream.src, "dst": stream.dst, "t": moments})
    frame.assign(t=stream.t).to_csv(tmp_path / "log.csv", index=False)
    frame.assign(t=stream.t + 0.0).to_csv(tmp_path / "float.csv", index=False)
    read = [keat.load(str(tmp_path / "log.csv")), keat.load(str(tmp_path / "float.csv")), keat.load(frame)]
    assert [data.stream.unit for data in read] == ["s", "s", "us"]
    outcomes = [
        evaluate(
            keat.models.registry.build_model(data.train, TGNConfig(kernel="laplacian")), make_task(data)
        ).outcomes
        for data in read
    ]
    assert torch.equal(outcomes[0], outcomes[1])
    assert torch.equal(outcomes[0], outcomes[2])


def test_days_and_midnights_are_one_model() -> None:
    rng = np.random.default_rng(1)
    days = 19_000 + np.sort(rng.integers(0, 90, EVENTS))
    ends = rng.integers(0, 12, EVENTS), rng.integers(12, 30, EVENTS)
    outcomes: dict[str, list[torch.Tensor]] = {}
    logs: list[tuple[np.ndarray, TimeUnit]] = [(days, "day"), (86_400 * days, "s"), (86_400_000 * days, "ms")]
    for times, unit in logs:
        data = Dataset(EventStream.from_arrays(*ends, times, unit=unit))
        for name in ("keat-tgn", "keat-graphmixer", "keat-rank"):
            model = keat.create_link_model(name, data.train)
            outcomes.setdefault(name, []).append(evaluate(model, make_task(data), refresh=1).outcomes)
    for first, *others in outcomes.values():
        assert all(torch.equal(first, other) for other in others)


def test_raw_ticks_stay_possible_and_are_kept_with_the_run(tmp_path: Path) -> None:
    data = Dataset(log("ms"))
    fitting = FitConfig(epochs=1, batch_size=50)
    losses = {}
    for clock in ("s", "tick", "day"):
        config = configuration("tgn", clock=clock)
        losses[clock] = train_run(RunSpec("tgn", config, fitting), data, tmp_path / clock).reports[0].loss
        assert open_model(tmp_path / clock, read_run_file(tmp_path / clock)).clock == clock_of("ms", clock)
    assert len(set(losses.values())) == 3
    plain = log("ms")
    raw = Dataset(replace(plain, unit="s"))  # the same numbers, called seconds
    assert (
        losses["tick"]
        == train_run(RunSpec("tgn", TGNConfig(), fitting), raw, tmp_path / "raw").reports[0].loss
    )
    with pytest.raises(UnknownNameError, match="tick"):
        keat.models.registry.build_model(data.train, configuration("tgn", clock="fortnight"))


@pytest.mark.parametrize("unit", UNITS)
def test_sigma_in_ticks_is_that_of_the_stream(unit: TimeUnit) -> None:
    stream = replace(log(), unit=unit)
    model = keat.models.registry.build_model(stream, TGNConfig())
    assert model.sigma_in_ticks == pytest.approx(keat.estimate_sigma(stream.src, stream.dst, stream.t))


def test_clocks() -> None:
    assert clock_of("s") == clock_of("year", "year") == clock_of("us", "tick") == PLAIN
    assert clock_of("us") == Clock(1, 10**6)
    assert clock_of("day") == Clock(86_400, 1)
    assert clock_of("day", "year") == Clock(400, 146_097)
    difference = np.array([0, 1, 10**15 + 1, 2**62])
    for clock in (PLAIN, Clock(1, 1000), Clock(3, 7)):
        small_enough = difference[: 3 if clock.multiply > 1 else 4]
        torch_ages = clock.ages(torch.from_numpy(small_enough))
        assert np.array_equal(clock.measure(small_enough), torch_ages.numpy())
    assert Clock(86_400, 1).ticks(86_400.0) == 1.0


def test_a_run_of_before_there_were_clocks_measures_in_ticks(tmp_path: Path) -> None:
    fitting = FitConfig(epochs=1, batch_size=50)
    for unit in ("s", "ms"):
        data = Dataset(log(unit))
        train_run(RunSpec("tgn", configuration("tgn", clock="tick"), fitting), data, tmp_path / unit)
        as_format_1(tmp_path / unit, clock=False)
        file = read_run_file(tmp_path / unit)
        model = open_model(tmp_path / unit, file)
        assert model.clock == PLAIN
        assert file.spec.config.clock == ("s" if unit == "s" else "tick")  # type: ignore[union-attr]
