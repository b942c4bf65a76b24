"""Tensors of a run are checked before anything is indexed with them: compiled loops do not look."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from small_runs import CONFIGS, DAMAGED, FIT, KINDS, small_data, small_run
from torch import Tensor

import keat
from damaged_runs import file_of, setting
from keat.datasets.dgraphfin_generator import ContactsConfig, write_dgraphfin
from keat.datasets.labelled_graph import open_labelled_graph
from keat.errors import InputError, KeatError
from keat.models.gearsage import GEARSageConfig
from keat.runs.epochs import kept_tensors
from keat.runs.run_file import read_run_file
from keat.runs.run_model import open_model, train_run
from keat.runs.spec import RunSpec
from keat.training.fit import FitConfig

# Numbers that any stream could have: nothing is looked up by them.
PLAIN = {"inserted", "last_update", "t", "clock", "count", "distinct", "number"}
PLAIN |= {"unanswered", "run", "runs"}
PLAIN |= {"first", "last", "gap", "ring_time", "fresh_time", "first_unanswered"}  # times
OLDER = {"roles missing"}  # as older versions wrote it, which are read all the same


def damages_of(tensors: dict[str, Tensor]) -> Iterator[tuple[str, dict[str, Tensor]]]:
    """Each tensor missing, of another shape and type, not finite, with a number too small or too large."""
    yield "one too many", tensors | {"state.extra": torch.zeros(1)}
    yield "one of no kind", tensors | {"extra": torch.zeros(1)}
    parameters = [name for name in tensors if name.startswith(("model.", "optimizer."))]
    for name, value in tensors.items():
        if name in parameters[3:-3]:  # some stand for all
            continue
        yield f"{name} missing", {key: other for key, other in tensors.items() if key != name}
        yield f"{name} longer", tensors | {name: torch.cat((value, value)) if value.dim() else value[None]}
        yield f"{name} flat", tensors | {name: value.reshape(-1, 1, 1)}
        other = torch.float64 if value.dtype != torch.float64 else torch.float32
        yield f"{name} of another type", tensors | {name: value.to(other)}
        wrong = [float("nan"), float("inf")] if value.is_floating_point() else [-7, 10**9]
        wrong = [255] if value.dtype == torch.uint8 else wrong
        for number in wrong if value.numel() else []:
            changed = value.clone()
            changed.view(-1)[value.numel() // 2] = number
            yield f"{name} holds {number}", tensors | {name: changed}


@pytest.mark.parametrize("name", KINDS)
def test_every_tensor_is_checked_before_it_is_used(name: str, tmp_path: Path) -> None:
    """An index out of range was a segmentation fault."""
    run = shutil.copytree(small_run(name), tmp_path / "run")
    path = file_of(run, "best")
    told: dict[str, str | None] = {}
    for what, tensors in damages_of(kept_tensors(run, "best")):
        save_file(tensors, path)
        told[what] = None
        try:
            opened = keat.open(run)
        except InputError as error:
            told[what] = str(error)
        else:
            if name != "fraud":  # whatever the number is, it does no harm
                with suppress(KeatError):  # a score may be no number, which is said
                    opened.rank(str(opened.names.label(0)), top=3)
    refusals = [sentence for sentence in told.values() if sentence is not None]
    assert len(refusals) > 50
    assert all("the run is damaged: of the best epoch, '" in sentence for sentence in refusals)
    taken = [what for what, sentence in told.items() if sentence is None]
    assert {what.split(" holds ")[0].split(".")[-1] for what in taken} <= PLAIN | OLDER


def test_rings_and_messages_hold_events_of_their_own_nodes(tmp_path: Path) -> None:
    """The other end of an event is found by subtraction: of another node's event it is anywhere."""
    run = shutil.copytree(small_run("keat-tgn"), tmp_path / "run")
    tensors = kept_tensors(run, "best")
    node = int(tensors["state.log.src"][0])
    others = [k for k in range(len(tensors["state.log.t"])) if node not in ends(tensors, k)]
    for name in ("state.ring", "state.pending"):
        changed = tensors[name].clone()
        changed[node] = others[-1]
        save_file(tensors | {name: changed}, file_of(run, "best"))
        with pytest.raises(InputError, match="holds an event of other nodes"):
            open_model(run, read_run_file(run))


def ends(tensors: dict[str, Tensor], event: int) -> tuple[int, int]:
    return int(tensors["state.log.src"][event]), int(tensors["state.log.dst"][event])


def test_times_that_fall_are_named(tmp_path: Path) -> None:
    for name, key in (("keat-tgn", "state.log.t"), ("tgat", "state.t")):
        run = shutil.copytree(small_run(name), tmp_path / name)
        tensors = kept_tensors(run, "best")
        save_file(tensors | {key: tensors[key].flip(0).contiguous()}, file_of(run, "best"))
        with pytest.raises(InputError, match="not in the order of time"):
            open_model(run, read_run_file(run))


def test_what_is_resumed_is_checked(tmp_path: Path) -> None:
    run, longer = shutil.copytree(small_run("keat-rank"), tmp_path / "run"), replace(FIT, epochs=3)
    tensors = kept_tensors(run, "last")
    for _, changed in damages_of(tensors):
        save_file(changed, file_of(run, "last"))
        with pytest.raises(InputError, match=DAMAGED):
            train_run(RunSpec("keat-rank", CONFIGS["keat-rank"], longer), small_data(), run, resume=True)
    save_file(tensors, file_of(run, "last"))
    assert (
        len(
            train_run(
                RunSpec("keat-rank", CONFIGS["keat-rank"], longer), small_data(), run, resume=True
            ).reports
        )
        == 1
    )


def test_a_graph_run_is_checked_too(tmp_path: Path) -> None:
    write_dgraphfin(tmp_path / "small.npz", 1000, seed=1, config=ContactsConfig(fraud_share=0.1))
    graph, run = open_labelled_graph(tmp_path / "small.npz"), tmp_path / "run"
    train_run(RunSpec("gearsage", GEARSageConfig(hidden=8), FitConfig(epochs=2)), graph, run)
    sound = (run / "run.json").read_text()
    for damage in (
        setting(-1, "facts", "sigma"),
        setting("8", "spec", "config", "hidden"),
        setting(16, "spec", "config", "hidden"),
    ):
        damage(run)
        with pytest.raises(InputError, match=DAMAGED):
            open_model(run, read_run_file(run))
        (run / "run.json").write_text(sound)
    open_model(run, read_run_file(run))
    tensors = kept_tensors(run, "best")
    save_file(tensors | {"state.extra": torch.zeros(1)}, file_of(run, "best"))
    with pytest.raises(InputError, match=DAMAGED):
        open_model(run, read_run_file(run))


def test_an_empty_past_has_no_last_time(tmp_path: Path) -> None:
    """A state without events is a state; asked for its time, the model says so."""
    for name in ("keat-tgn", "tgat", "dygformer"):
        run = shutil.copytree(small_run(name), tmp_path / name)
        model = open_model(run, read_run_file(run))
        model.reset()
        empty = {f"state.{key}": value.contiguous() for key, value in model.stream_state().items()}
        tensors = kept_tensors(run, "best")
        parameters = {key: value for key, value in tensors.items() if key.startswith("model.")}
        save_file(parameters | empty, file_of(run, "best"))
        with pytest.raises(InputError, match="has observed no events"):
            keat.open(run).model.last_time()


def test_a_whole_run_opens() -> None:
    """So that nothing above is refused for another reason."""
    for name in KINDS:
        run = keat.open(small_run(name))
        assert run.facts.num_nodes == len(run.names)
        assert np.isfinite(run.last_time), name
