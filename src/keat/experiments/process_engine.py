"""Calls worked off by processes of this machine: where one dies, others go on."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from keat.experiments.engines import RETRIES, Call, Calls, died

R = TypeVar("R")


def on_processes(work: Callable[..., R], calls: Calls, workers: int) -> Iterator[tuple[str, R]]:
    """By processes of this machine; by this one, where there is to be one."""
    if workers <= 1:
        for name, arguments in calls:
            yield name, work(*arguments)
        return
    coming, waiting, deaths = iter(calls), dict[str, tuple[Any, ...]](), 0
    while deaths <= RETRIES:
        for name, result in _until_one_dies(work, coming, waiting, workers):
            deaths = 0
            yield name, result
        if not waiting:
            return
        deaths += 1
    raise died(next(iter(waiting)))


def _until_one_dies(
    work: Callable[..., R], coming: Iterator[Call], waiting: dict[str, Any], workers: int
) -> Iterator[tuple[str, R]]:
    """One pool of processes: a death breaks all of it. What is not done then is still ``waiting``."""
    spawn = multiprocessing.get_context("spawn")  # a fork would inherit torch's threads
    with ProcessPoolExecutor(workers, spawn, initializer=end_with, initargs=(os.getpid(),)) as pool:
        try:
            begun: dict[Future[R], str] = {}
            try:
                for name, arguments in waiting.items():
                    begun[pool.submit(work, *arguments)] = name
                for name, arguments in coming:
                    waiting[name] = arguments
                    begun[pool.submit(work, *arguments)] = name
            except BrokenProcessPool:
                pass  # those that were begun say so, too
            for future in as_completed(begun):
                if not isinstance(future.exception(), BrokenProcessPool):
                    result = future.result()
                    del waiting[begun[future]]
                    yield begun[future], result
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def end_with(parent: int) -> None:
    """Let a worker end when its parent is killed: the next plan may want to go on with the same run."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
