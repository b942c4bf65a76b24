"""Do two codes give the same numbers? Small runs of every arm of the recipes, with the code of a commit and
with that of the working tree, compared to the bit on this machine.

    python -m benchmarks.same_numbers HEAD~1
    python -m benchmarks.same_numbers HEAD~1 --model tgn --model keat-tgn    # a minute instead of many

For every class of models whose digest differs (`keat.experiments.code_fingerprint`) it says whether a number
differs, too. Where none does, it prints the entries for `same_numbers.toml`.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

from benchmarks.benchmark_command import benchmark_parser, say
from keat.experiments.code_fingerprint import SOURCES, code_of
from keat.experiments.job import Job, spec_of
from keat.experiments.recipe import load_recipe, recipe_names
from keat.experiments.same_code import known_as
from keat.runs.spec import SourceSpec
from keat.tasks.task_spec import TaskSpec

DATA = "payments:600"
SHORT = {"epochs": 2, "patience": 2, "validate_every": 1}
Numbers = dict[str, str]  # what a run came to, as JSON, by what was run


def small_jobs(models: Iterable[str] = ()) -> dict[str, Job]:
    """An arm of every recipe of links with each of its settings, on few events, by what it is."""
    wanted, jobs = set(models), {}
    for recipe in map(load_recipe, recipe_names()):
        for arm in recipe.arms:
            if not recipe.task.startswith("link-") or (wanted and arm.model not in wanted):
                continue
            fit = {**recipe.fit, **arm.fit, **SHORT}
            spec = spec_of(arm.model, arm.config, fit, 1, TaskSpec(kind=recipe.task), SourceSpec(DATA))
            job = Job(DATA, spec, (1, 200))
            jobs[f"{arm.model} {job.key('')}"] = job
    return jobs


def run_all(models: Iterable[str]) -> Numbers:
    """Every small run, in this process and with its code."""
    from keat.experiments.work import run_job

    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, job in small_jobs(models).items():
            line = run_job(job, name, scratch)
            tests = {refresh: score.metrics for refresh, score in line.test.items()}
            found[name] = json.dumps([line.loss, line.val, tests])
            say(name)
    return found


def run_elsewhere(sources: Path, models: Iterable[str]) -> Numbers:
    """The same with the code in another folder, in a process of its own."""
    here = Path(__file__).parents[1]
    paths = os.pathsep.join((str(sources), str(here)))
    words = [sys.executable, "-m", "benchmarks.same_numbers", "--run"]
    words += [word for model in models for word in ("--model", model)]
    environment = {**os.environ, "PYTHONPATH": paths}
    answer = subprocess.run(words, capture_output=True, text=True, check=True, env=environment, cwd=here)
    found: Numbers = json.loads(answer.stdout)
    return found


def sources_of(commit: str, folder: Path) -> Path:
    """The package as it was in a commit."""
    packed = subprocess.run(["git", "archive", commit, "src"], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def compare(commit: str, models: list[str]) -> dict[str, object]:
    """Which digests differ, whether numbers do, and the entries that follow."""
    jobs = small_jobs(models)
    with tempfile.TemporaryDirectory() as folder:
        there = sources_of(commit, Path(folder))
        codes = {
            name: (code_of(job.model_files, str(job.spec.task.kind), there), job.code())
            for name, job in jobs.items()
        }
        before, after = run_elsewhere(there, models), run_elsewhere(SOURCES, models)
    same, different = dict[str, str](), set[str]()
    for name, pair in codes.items():
        if name not in before:  # an arm that the commit does not have
            continue
        for old, new in zip(*((code.protocol, code.model) for code in pair), strict=True):
            if known_as(old) == known_as(new):
                continue
            if before[name] == after[name]:
                same[new] = old
            else:
                different.add(new)
    return {
        "runs": len(before.keys() & jobs.keys()),
        "different": sorted(name for name in before.keys() & jobs.keys() if before[name] != after[name]),
        "same": {new: old for new, old in same.items() if new not in different},
    }


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("commit", nargs="?", default="HEAD", help="the code to compare with")
    parser.add_argument("--model", action="append", default=[], help="only runs of this model")
    parser.add_argument("--run", action="store_true", help="only run, and print what came of it")
    given = parser.parse_args()
    if given.run:
        print(json.dumps(run_all(given.model)))
        return
    found = compare(given.commit, given.model)
    if given.json:
        print(json.dumps(found))
        return
    print(f"{found['runs']} small runs; different: {', '.join(found['different']) or 'none'}")  # type: ignore[arg-type]
    for new, old in found["same"].items():  # type: ignore[attr-defined]
        evidence = (
            f"{found['runs']} small runs equal to the bit with {given.commit} (benchmarks.same_numbers)"
        )
        print(f'\n[[same]]\ncode = "{new}"\nas = "{old}"\nevidence = "{evidence}"')


if __name__ == "__main__":
    main()
