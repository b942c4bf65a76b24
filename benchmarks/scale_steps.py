"""What each step of `benchmarks.scale` does, in a process of its own whose private memory the system limits.

A process is told its step as JSON and answers with one line of JSON: what it took, and what it found.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.growth import CONFIGS as WITH_SIZES
from benchmarks.prepare import write_payments
from keat.datasets.loading import load
from keat.datasets.payments import FEATURES
from keat.events import EventStream
from keat.experiments.provenance import provenance
from keat.models.registry import LINK_MODELS, build_model
from keat.models.tgn_config import TGNConfig
from keat.state import zeros

BLOCK = 4096  # events observed at once
CONFIGS = {**WITH_SIZES, "keat-tgn": TGNConfig(dim=32, kernel="laplacian")}
KNOWN = 100_000  # of the first events, from which σ of a model that only observes is estimated
Found = dict[str, Any]


def in_a_process(step: str, limit: int | None, **given: Any) -> Found:
    """Run a step elsewhere; what it found, with its seconds, seconds of processor time and peak memory."""
    words = [sys.executable, "-m", "benchmarks.scale_steps"]
    told = json.dumps({"step": step, "limit": limit, **given})
    with tempfile.TemporaryFile("w+") as said:
        done = subprocess.run([*words, told], stdout=subprocess.PIPE, stderr=said, text=True, check=False)
        if done.returncode:
            said.seek(0)
            raise SystemExit(f"{step} failed ({done.returncode}): {said.read()[-2000:]}")
    found: Found = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    given = json.loads(sys.argv[1])
    step, limit = given.pop("step"), given.pop("limit")
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    began, worked = time.perf_counter(), time.process_time()
    found = STEPS[step](**given)
    used = resource.getrusage(resource.RUSAGE_SELF)
    line = {
        "seconds": round(time.perf_counter() - began, 2),
        "processor_seconds": round(time.process_time() - worked, 2),
        "peak_mb": round(used.ru_maxrss * 1024 / 1e6),
        "commit": provenance()["commit"],
    }
    print(json.dumps(line | found))


def simulate(events: int, files: str) -> Found:
    write_payments(events, Path(files))
    return {}


def prepare(files: str, out: str, memory: str) -> Found:
    paths = sorted(map(str, Path(files).glob("*.parquet")))
    words = ["data", "prepare", *paths, "--out", out, "--features", ",".join(FEATURES), "--label", "fraud"]
    found = _keat([*words, "--memory", memory, "--json"])
    return {"nodes": found["nodes"]}


def info(out: str) -> Found:
    _keat(["data", "info", out, "--json"])
    return {}


def heuristics(out: str, sample: int) -> Found:
    """Every heuristic on a sample of the test split."""
    asked = ["evaluate", "heuristics", out, "--task", "link-ranking", "--eval-sample", str(sample), "--json"]
    told = _keat(asked)
    return {"mrr": {each["model"]: round(each["mrr"], 4) for each in told["results"]}}


def train(out: str, model: str, latest: int, sample: int, run: str) -> Found:
    """One epoch on the latest events, with validation and test on samples, and the heuristics beside it."""
    words = ["train", model, out, "--latest", str(latest), "--task", "link-ranking", "--epochs", "1"]
    told = _keat([*words, "--eval-sample", str(sample), "--out", run, "--json"])
    return {"trained_on": latest, "mrr": {model: round(told["test"]["mrr"], 4)}}


def observe(out: str, model: str) -> Found:
    """A whole stream, block by block; columns stay where they are. Time of the blocks alone, and what memory
    the process holds of its own afterwards beside what it held before."""
    import torch

    torch.set_num_threads(1)
    stream = load(out).stream
    with torch.no_grad():
        _made(model, stream).observe(stream[:KNOWN])  # what is compiled, is compiled now
        before = _own_bytes()
        made = _made(model, stream)
        began, worked = time.perf_counter(), time.process_time()
        for block in stream.blocks(BLOCK):
            made.observe(block)
    worked = time.process_time() - worked
    grown = _own_bytes() - before
    return {
        "nodes": stream.num_nodes,
        "observing_seconds": round(time.perf_counter() - began, 2),
        "observing_processor_seconds": round(worked, 2),
        "events_per_second": round(len(stream) / worked),
        "bytes_per_event": round(grown / len(stream), 1),
        "bytes_per_node": round(grown / stream.num_nodes, 1),
    }


def _made(model: str, stream: EventStream) -> Any:
    if model in CONFIGS:
        return build_model(stream[:KNOWN], CONFIGS[model]).eval()
    return LINK_MODELS[model].build(stream[:KNOWN])


def _own_bytes() -> int:
    """Resident memory of this process that is no mapped file."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("RssAnon:")[1].split()[0]) * 1024


def _keat(words: list[str]) -> Any:
    """A command of keat in this process: what it prints as JSON."""
    from keat.cli import main as command

    before, sys.argv = sys.argv, ["keat", *words]
    with tempfile.TemporaryFile("w+") as told:
        kept = os.dup(1)
        os.dup2(told.fileno(), 1)
        try:
            command()
        except SystemExit as error:
            if error.code:
                raise
        finally:
            sys.stdout.flush()
            os.dup2(kept, 1)
            os.close(kept)
            sys.argv = before
        told.seek(0)
        return json.loads(told.read())


def refused(bytes_wanted: int) -> Found:
    """Whether the limit holds: an array of so many bytes is asked for and written to."""
    try:
        zeros((bytes_wanted,), np.uint8)[:] = 1
    except MemoryError:
        return {"refused": True}
    return {"refused": False}


STEPS: dict[str, Callable[..., Found]] = {
    "simulate": simulate,
    "prepare": prepare,
    "info": info,
    "heuristics": heuristics,
    "train": train,
    "observe": observe,
    "refused": refused,
}

if __name__ == "__main__":
    main()
