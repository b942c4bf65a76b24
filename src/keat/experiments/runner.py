"""Runs what the ledger does not have yet: two jobs of one thread each use two cores.

A job trains into a folder named by its content, so a killed one goes on from its last finished epoch, and a
finished one is never repeated, only scored again if asked in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from keat.errors import InputError
from keat.experiments.engines import Engine, on_engine, require_engine
from keat.experiments.job import Job
from keat.experiments.ledger import Ledger
from keat.experiments.line import Line
from keat.experiments.ray_engine import anywhere
from keat.experiments.same_code import is_of_todays_code
from keat.experiments.sources import written
from keat.experiments.work import run_job
from keat.runs.spec import SourceSpec

Listener = Callable[[str], None]  # hears in a sentence what was done
Work = Callable[[Job, str, str], Line]  # (job, key, scratch)


def run_jobs(
    jobs: Sequence[Job],
    ledger: Ledger,
    scratch: Path,
    *,
    parallel: int = 1,
    engine: Engine = "local",
    listener: Listener = print,
    work: Work = run_job,
    suffix: str = "",
    again: bool = False,
) -> list[Line]:
    """Run the jobs the ledger lacks and return the lines of all, in the order of the jobs; of two lines of a
    job, the later one. Other ``work`` than training and scoring has its lines under other names, with a
    ``suffix``. What another code has run is not run ``again`` unless that is said; but then nothing is run
    that could not stand in one table with it."""
    require_engine(engine)
    keys = [key + suffix for key in keys_of(jobs)]
    done = {line.key: line for line in ledger.lines()}
    planned = dict(zip(keys, jobs, strict=True))
    stale = [key for key, job in planned.items() if key in done and not is_of_todays_code(job, done[key])]
    missing = {key: job for key, job in planned.items() if key not in done or (again and key in stale)}
    there = f"{len(planned) - len(missing)} of {len(planned)} runs are in {ledger.path}"
    listener(f"{there}; {len(missing)} to go")
    if stale and not again:
        of_others = sum(done[key].code is not None for key in stale)
        if missing and of_others:
            raise InputError(
                f"{of_others} runs in {ledger.path} are of another code than today's, with which the "
                f"{len(missing)} that are missing could not be compared; run them again, too (--again), or "
                "show that the numbers are the same (same_numbers.toml)."
            )
        listener(f"{len(stale)} of them are not known to be of today's code; --again runs them again")
    for line in _run(missing, scratch, parallel, engine, work):
        ledger.append(line)
        listener(_summary(line))
    by_key = {line.key: line for line in ledger.lines()}
    return [by_key[key] for key in keys]


def keys_of(jobs: Sequence[Job]) -> list[str]:
    """Names of jobs by content; each dataset is read once for its fingerprint."""
    prints: dict[SourceSpec, str] = {}
    for job in jobs:
        if job.spec.source not in prints:
            prints[job.spec.source] = job.fingerprint()
    return [job.key(prints[job.spec.source]) for job in jobs]


def _run(
    missing: Mapping[str, Job], scratch: Path, parallel: int, engine: Engine, work: Work
) -> Iterable[Line]:
    """Lines as they come. On Ray, ``scratch`` and the data must be where every worker can reach them."""
    calls = [(key, (job, key, str(scratch))) for key, job in missing.items()]
    if engine == "ray":
        calls = [(key, (_anywhere(job), key, str(scratch.absolute()))) for key, job in missing.items()]
    else:
        parallel = min(parallel, len(calls))
    for key, line in on_engine(engine, work, calls, parallel):
        yield replace(line, source=written(missing[key].spec.source))  # as it was given


def _anywhere(job: Job) -> Job:
    return replace(job, spec=replace(job.spec, source=anywhere(job.spec.source)))


def _summary(line: Line) -> str:
    options = " ".join(f"{name}={value}" for name, value in line.config.items())
    headline = next(iter(line.val))
    test = ", ".join(f"{score.metrics[headline]:.4f}" for score in line.test.values())
    return (
        f"{line.data}  {line.model} {options}  seed {line.seed}: {headline} val "
        f"{line.val[headline]:.4f} test {test}, {line.seconds or 0:.0f} s"
    )
