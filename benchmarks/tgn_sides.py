"""What benchmarks/tgn.py times: steps of training and evaluation, sides in turn, on one stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.tgn_reference import PyGReference
from benchmarks.tgn_tgm import TGMReference
from keat.events import EventStream
from keat.models.contract import Queries
from keat.models.registry import build_model
from keat.models.tgn import TGN, TGNConfig
from keat.tasks.candidates import SharedCandidates
from keat.training.losses import link_loss

BATCH = 200
KERNELS = ("identity", "laplacian", "rbf")
Times = dict[str, npt.NDArray[np.float64]]  # side → seconds of each measured batch
TrainStep = Callable[[EventStream, npt.NDArray[np.int32]], object]


class Trainer:
    """keat's training step, as `keat.training.fit` takes it."""

    def __init__(self, stream: EventStream, config: TGNConfig) -> None:
        self.model = build_model(stream, config).train()
        self.model.reset()
        self.model.reserve(len(stream))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4, fused=True)

    def step(self, block: EventStream, negative: npt.NDArray[np.int32]) -> float:
        queries = Queries(block.src, block.t, np.stack((block.dst, negative), axis=1))
        loss = link_loss(self.model.score(queries), "sound")
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.model.observe(block)
        self.optimizer.step()
        return loss.item()


def peers(stream: EventStream, with_tgm: bool) -> dict[str, TrainStep]:
    """Plain TGN of each maker, and a matrix product to know the machine by."""
    pyg, keat, square = PyGReference(stream).train(), Trainer(stream, TGNConfig()), torch.rand(1024, 1024)
    sides: dict[str, TrainStep] = {"pyg": pyg.train_step, "keat": keat.step}
    if with_tgm:
        tgm = TGMReference(stream, BATCH)  # loads the same events itself, and draws its own negatives
        sides["tgm"] = lambda *_: tgm.train_step()
    return sides | {"gemm": lambda *_: square @ square}


def kernels(stream: EventStream) -> dict[str, TrainStep]:
    """keat with and without a kernel."""
    return {kernel: Trainer(stream, TGNConfig(kernel=kernel)).step for kernel in KERNELS}


def training(stream: EventStream, sides: dict[str, TrainStep], skipped: int, measured: int) -> Times:
    """Seconds of each of ``measured`` batches after ``skipped``."""
    times = [
        _in_turn({side: partial(step, *batch) for side, step in sides.items()}, number)
        for number, batch in enumerate(batches(stream, skipped + measured))
    ]
    return _columns(times[skipped:])


def evaluation(
    stream: EventStream, models: dict[str, TGN], history: int, rounds: int, loop_over: int = 0
) -> Times:
    """Seconds per positive of each model, and of TGB's loop over ``loop_over`` positives of each batch."""
    reference = PyGReference(stream).eval() if loop_over else None
    positives = stream[history : history + rounds * BATCH]
    candidates = SharedCandidates(positives, stream.dst)
    times = []
    with torch.no_grad():
        for block in stream[:history].blocks(BATCH):
            for side in (reference, *models.values()):
                if side is not None:
                    side.observe(block)
        for number, block in enumerate(positives.blocks(BATCH)):
            start = number * BATCH
            sides: dict[str, Callable[[], object]] = {
                name: partial(rank_batch, model, candidates, start) for name, model in models.items()
            }
            if reference is not None:
                sample = np.linspace(0, BATCH - 1, loop_over).astype(int)
                sides["tgb loop"] = partial(loop, reference, block, sample, candidates.catalogue)
            seconds = _in_turn(sides, number)
            times.append({s: t / (loop_over if s == "tgb loop" else BATCH) for s, t in seconds.items()})
            if reference is not None:
                reference.observe(block)
    return _columns(times[1:])  # the first may compile


def rank_batch(model: TGN, candidates: SharedCandidates, start: int) -> torch.Tensor:
    """Ranks of a batch of positives, and the batch observed: all that evaluation does."""
    stop = start + BATCH
    ranks = candidates.ranks(slice(start, stop), model.score(candidates.queries(slice(start, stop))))
    model.observe(candidates.events[start:stop])
    return ranks


def loop(
    reference: PyGReference,
    block: EventStream,
    sample: npt.NDArray[np.int64],
    catalogue: npt.NDArray[np.int32],
) -> list[float]:
    """Reciprocal ranks of some positives of a batch, one by one."""
    return [
        reference.evaluate_one(block.src[i], block.dst[i], catalogue[catalogue != block.dst[i]])[0]
        for i in sample
    ]


def gflop(stream: EventStream, skipped: int) -> float:
    """Of one training batch of keat's: its matrix products as torch counts them, and the compiled sums."""
    trainer = Trainer(stream, TGNConfig())
    *before, last = batches(stream, skipped + 1)
    for batch in before:
        trainer.step(*batch)
    model, (block, negative) = trainer.model, last
    nodes = torch.from_numpy(np.unique(np.concatenate((block.src, block.dst, negative))).astype(np.int64))
    past = int(model.state.slots(nodes).mask.sum())
    width, heads, dim = model.attention.lin_edge.in_features, model.config.heads, model.config.dim
    # Of each event: a dot product and a sum, forward and back; gradients of x and φ as key and as value.
    compiled = past * heads * 2 * (4 * (dim + width) + 2 * (dim + dim))
    with FlopCounterMode(display=False) as counter:
        trainer.step(block, negative)
    return float(counter.get_total_flops() + compiled) / 1e9


def batches(stream: EventStream, count: int) -> Iterator[tuple[EventStream, npt.NDArray[np.int32]]]:
    """Blocks, each with a random destination for every event."""
    rng, low, high = np.random.default_rng(0), int(stream.dst.min()), int(stream.dst.max())
    for block in islice(stream.blocks(BATCH), count):
        yield block, rng.integers(low, high + 1, len(block)).astype(np.int32)


def _in_turn(sides: dict[str, Callable[[], object]], number: int) -> dict[str, float]:
    """Seconds of each, in an order of chance, so that none always follows the same one."""
    seconds = {}
    for side in np.random.default_rng(number).permutation(list(sides)):
        begin = time.perf_counter()
        sides[side]()
        seconds[side] = time.perf_counter() - begin
    return seconds


def _columns(rows: list[dict[str, float]]) -> Times:
    return {side: np.array([row[side] for row in rows]) for side in rows[0]}
