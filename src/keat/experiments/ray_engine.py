"""The same plan on a Ray cluster: a job is a task of one core."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keat.errors import MissingExtraError

if TYPE_CHECKING:
    from keat.experiments.job import Job
    from keat.experiments.runner import Work


def run_on_ray(missing: dict[str, Job], scratch: Path, work: Work) -> Iterator[dict[str, Any]]:
    """Lines as they come. ``scratch`` and the data must be where every worker can reach them."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("The engine 'ray' needs Ray; install keat[ray].") from error
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    remote = ray.remote(num_cpus=1)(work)
    waiting = [remote.remote(job, key, str(scratch.absolute())) for key, job in missing.items()]
    while waiting:
        done, waiting = ray.wait(waiting)
        yield ray.get(done[0])
