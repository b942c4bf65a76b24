"""The same plan on Ray: a job is a task of one core, on this machine or on a cluster (``RAY_ADDRESS``)."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from keat.errors import KeatError, MissingExtraError
from keat.experiments.sources import written

if TYPE_CHECKING:
    from keat.experiments.job import Job
    from keat.experiments.line import Line, Settings
    from keat.experiments.runner import Work


def run_on_ray(missing: Mapping[str, Job], scratch: Path, parallel: int, work: Work) -> Iterator[Line]:
    """Lines as they come. ``scratch`` and the data must be where every worker can reach them. A Ray that is
    not running yet is started here with ``parallel`` cores, and stopped at the end."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("The engine 'ray' needs Ray; install keat[ray].") from error
    started = not ray.is_initialized()
    if started:
        local: Settings = (
            {} if "RAY_ADDRESS" in os.environ else {"num_cpus": parallel, "include_dashboard": False}
        )
        ray.init(log_to_driver=False, logging_level=logging.WARNING, **local)
    remote = ray.remote(num_cpus=1, max_retries=0)(work)
    try:
        waiting = {
            remote.remote(_anywhere(job), key, str(scratch.absolute())): job for key, job in missing.items()
        }
        while waiting:
            (done, *_), _ = ray.wait(list(waiting))
            yield replace(ray.get(done), source=written(waiting.pop(done).spec.source))  # as it was given
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, KeatError):  # its own sentence, without the worker's traceback
            raise error.cause from None
        raise
    finally:
        if started:
            ray.shutdown()


def _anywhere(job: Job) -> Job:
    """The file by its full path: a worker may be in another folder. What is no file is a name."""
    source = job.spec.source
    if source.name is None or not Path(source.name).exists():
        return job
    there = replace(source, name=str(Path(source.name).absolute()))
    return replace(job, spec=replace(job.spec, source=there))
