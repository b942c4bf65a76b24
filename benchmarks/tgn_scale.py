"""Growth and memory for benchmarks/tgn.py; every measurement in a process of its own."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.tgn_reference import PyGReference
from benchmarks.tgn_sides import BATCH, Trainer, batches
from keat.datasets.payments import simulate_payments
from keat.events import EventStream
from keat.models.tgn import TGN, TGNConfig

ROUNDS = 60  # batches trained on at the end of each stream

P = ParamSpec("P")
T = TypeVar("T")


def alone(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call in a fresh process, whose peak memory is then that of this call."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as pool:
        return pool.submit(function, *args, **kwargs).result()


def growth(sizes: Sequence[int], same_people: bool, threads: int) -> list[dict[str, Any]]:
    """Streams of payments observed nearly to their ends, then those ends trained on in turn: what an event
    costs after how many, under the same load. Bytes are what the process grew by: stream, state, model.

    ``same_people``: the cardholders and merchants of the shortest stream, for longer. Otherwise there are
    more of them in a longer stream, a batch of 200 meets more different ones, and so do their neighbours:
    ``nodes_per_event`` distinct nodes have to be updated for an event.
    """
    torch.set_num_threads(threads)
    _warm_up()
    rows: list[dict[str, Any]] = []
    ends: list[tuple[EventStream, Trainer]] = []
    people = {"cardholders": sizes[0] // 40, "merchants": round(3 * sizes[0] ** 0.5)} if same_people else {}
    for events in sizes:
        before = _memory("VmRSS")
        stream = simulate_payments(events, **people)
        trainer = Trainer(stream, TGNConfig(kernel="laplacian"))
        model = trainer.model.eval()
        for block in stream[: events - ROUNDS * BATCH].blocks(10 * BATCH):
            model.observe(block)
        model.train()
        ends.append((stream[events - ROUNDS * BATCH :], trainer))
        state = sum(buffer.numel() * buffer.element_size() for buffer in model.buffers())
        rows.append(
            {
                "events": events,
                "nodes": stream.num_nodes,
                "bytes_per_event": round((_memory("VmRSS") - before) / events),
                "state_bytes_per_event": round(state / events, 1),
            }
        )
    seconds, nodes = np.empty((2, ROUNDS, len(sizes)))
    for number, parts in enumerate(zip(*(batches(end, ROUNDS) for end, _ in ends), strict=True)):
        for size, ((block, negative), (_, trainer)) in enumerate(zip(parts, ends, strict=True)):
            nodes[number, size] = _nodes_read(trainer.model, block, negative)
            begin = time.perf_counter()
            trainer.step(block, negative)
            seconds[number, size] = time.perf_counter() - begin
    for size, row in enumerate(rows):
        row["seconds_per_event"] = float(np.median(seconds[:, size])) / BATCH
        row["relative"] = float(np.median(seconds[:, size] / seconds[:, 0]))
        row["nodes_per_event"] = round(float(nodes[:, size].mean()) / BATCH, 2)
    return rows


def _nodes_read(model: TGN, block: EventStream, negative: npt.NDArray[np.int32]) -> int:
    """Distinct nodes whose memory a training step needs: ends, negatives, and neighbours of both."""
    seeds = torch.from_numpy(np.unique(np.concatenate((block.src, block.dst, negative))).astype(np.int64))
    past = model.state.slots(seeds)
    return len(torch.unique(torch.cat((seeds, past.other[past.mask]))))


def peak_of_training(side: str, stream_of: Callable[[], EventStream], threads: int, count: int) -> float:
    """MiB that training ``count`` batches adds to a process that holds the stream."""
    torch.set_num_threads(threads)
    _warm_up()
    stream = stream_of()
    before = _memory("VmHWM")
    if side == "pyg":
        reference = PyGReference(stream).train()
        for block, negative in batches(stream, count):
            reference.train_step(block, negative)
    else:
        trainer = Trainer(stream, TGNConfig(kernel="laplacian"))
        for block, negative in batches(stream, count):
            trainer.step(block, negative)
    return (_memory("VmHWM") - before) / 2**20


def _warm_up() -> None:
    """What is paid once is not counted: imports, compiled loops, thread pools."""
    stream = simulate_payments(2_000)
    trainer = Trainer(stream, TGNConfig())
    for block, negative in batches(stream, 3):
        trainer.step(block, negative)


def _memory(name: str) -> int:
    """Bytes this program holds (VmRSS) or held at most (VmHWM); `getrusage` would count its parent's too."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{name}:")[1].split()[0]) * 1024
