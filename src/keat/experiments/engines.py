"""Where calls are worked off: by processes of this machine, or by Ray.

A worker that dies is replaced, and what it had in hand is done again. Whoever works keeps what is done under
a name of its own, so that little is done twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeVar, get_args

from keat.errors import KeatError, unknown_name

Engine = Literal["local", "ray"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
RETRIES = 3  # deaths of workers with nothing done in between
R = TypeVar("R")
Call = tuple[str, tuple[Any, ...]]  # its name, and its arguments
Calls = Iterable[Call]  # each is begun as soon as it comes


def require_engine(engine: str) -> None:
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)


def on_engine(engine: Engine, work: Callable[..., R], calls: Calls, workers: int) -> Iterator[tuple[str, R]]:
    """``work`` called with each of the arguments, and the name of each call with what it returned, as they
    come."""
    require_engine(engine)
    if engine == "ray":
        from keat.experiments.ray_engine import on_ray  # the extra `ray`

        yield from on_ray(work, calls, workers)
    else:
        from keat.experiments.process_engine import on_processes

        yield from on_processes(work, calls, workers)


def died(name: str) -> KeatError:
    return KeatError(
        f"A worker died {RETRIES + 1} times with {name} not done, as when there is too little memory; start "
        "fewer workers. What is done is kept, and the same command goes on from there."
    )
