"""The same calls on Ray: each is a task of one core, on this machine or on a cluster (``RAY_ADDRESS``)."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from keat.errors import KeatError, MissingExtraError
from keat.experiments.engines import RETRIES, Calls, died
from keat.runs.spec import SourceSpec

R = TypeVar("R")


def on_ray(work: Callable[..., R], calls: Calls, workers: int) -> Iterator[tuple[str, R]]:
    """By tasks of one core on this machine or on a cluster (``RAY_ADDRESS``). A Ray that is not running yet
    is started here with so many cores, and stopped at the end."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("The engine 'ray' needs Ray; install keat[ray].") from error
    started = not ray.is_initialized()
    if started:
        local: dict[str, Any] = (
            {}
            if "RAY_ADDRESS" in os.environ
            else {"address": "local", "num_cpus": workers, "include_dashboard": False}
        )
        ray.init(log_to_driver=False, logging_level=logging.WARNING, **local)
    remote = ray.remote(num_cpus=1, max_retries=RETRIES)(work)
    name = ""
    try:
        waiting = {remote.remote(*arguments): name for name, arguments in calls}
        while waiting:
            (done, *_), _ = ray.wait(list(waiting))
            name = waiting.pop(done)
            yield name, ray.get(done)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, KeatError):  # its own sentence, without the worker's traceback
            raise error.cause from None
        raise
    except ray.exceptions.RayError as error:  # workers and nodes that died more often than is tried again
        raise died(name) from error
    finally:
        if started:
            ray.shutdown()


def anywhere(source: SourceSpec) -> SourceSpec:
    """A file by its full path: a worker may be in another folder. What is no file is a name."""
    if source.name is None or not Path(source.name).exists():
        return source
    return replace(source, name=str(Path(source.name).absolute()))
