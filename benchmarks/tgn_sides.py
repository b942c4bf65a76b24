"""What benchmarks/tgn.py times: steps of training and evaluation, sides in turn, on one stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.tgn_reference import PyGReference
from benchmarks.tgn_tgm import TGMReference
from keat.events import EventStream
from keat.models.contract import Queries
from keat.models.registry import build_tgn
from keat.models.tgn import TGN, TGNConfig
from keat.tasks.candidates import SharedCandidates
from keat.training.losses import link_loss

BATCH = 200
Times = dict[str, npt.NDArray[np.float64]]  # side → seconds of each measured batch


class Trainer:
    """keat's training step, as `keat.training.fit` takes it."""

    def __init__(self, stream: EventStream, config: TGNConfig) -> None:
        self.model = build_tgn(stream, config).train()
        self.model.reset()
        self.model.log.reserve(len(stream))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4, fused=True)

    def step(self, block: EventStream, negative: npt.NDArray[np.int32]) -> float:
        queries = Queries(block.src, block.t, np.stack((block.dst, negative), axis=1))
        loss = link_loss(self.model.score(queries), "sound")
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.model.observe(block)
        self.optimizer.step()
        return loss.item()


def training(stream: EventStream, skipped: int, measured: int, with_tgm: bool) -> Times:
    """Seconds of each of ``measured`` batches after ``skipped``, and of a matrix product beside them."""
    pyg = PyGReference(stream).train()
    keat = {kernel: Trainer(stream, TGNConfig(kernel=kernel)) for kernel in ("identity", "laplacian", "rbf")}
    tgm = TGMReference(stream, BATCH) if with_tgm else None
    square = torch.rand(1024, 1024)
    times: dict[str, list[float]] = {}
    for number, (block, negative) in enumerate(batches(stream, skipped + measured)):
        sides: dict[str, Callable[[], object]] = {"pyg": lambda b=block, n=negative: pyg.train_step(b, n)}  # type: ignore[misc]
        for kernel, trainer in keat.items():
            sides[kernel] = lambda s=trainer, b=block, n=negative: s.step(b, n)  # type: ignore[misc]
        if tgm is not None:
            sides["tgm"] = tgm.train_step
        sides["gemm"] = lambda: square @ square
        for side, seconds in _in_turn(sides, number).items():
            if number >= skipped:
                times.setdefault(side, []).append(seconds)
    return {side: np.array(seconds) for side, seconds in times.items()}


def evaluation(stream: EventStream, history: int, rounds: int, sampled: int) -> Times:
    """Seconds per positive, of the whole batch for keat and of ``sampled`` positives for TGB's loop."""
    pyg = PyGReference(stream).eval()
    configs = {
        "identity": TGNConfig(),
        "laplacian": TGNConfig(kernel="laplacian"),
        "rbf": TGNConfig(kernel="rbf"),
        "query": TGNConfig(kernel="laplacian", delta="query"),
    }
    models = {side: build_tgn(stream, config) for side, config in configs.items()}
    positives = stream[history : history + rounds * BATCH]
    candidates = SharedCandidates(positives, stream.dst)
    with torch.no_grad():
        for block in stream[:history].blocks(BATCH):
            pyg.advance(block)
            for model in models.values():
                model.observe(block)
        times: dict[str, list[float]] = {}
        for number, block in enumerate(positives.blocks(BATCH)):
            start = number * BATCH
            sides: dict[str, Callable[[], object]] = {
                side: lambda m=model, s=start: rank_batch(m, candidates, s)  # type: ignore[misc]
                for side, model in models.items()
            }
            sample = np.linspace(0, len(block) - 1, sampled).astype(int)
            sides["tgb loop"] = lambda b=block, chosen=sample: [  # type: ignore[misc]
                pyg.evaluate_one(b.src[i], b.dst[i], _others(candidates, b.dst[i])) for i in chosen
            ]
            for side, seconds in _in_turn(sides, number).items():
                count = sampled if side == "tgb loop" else len(block)
                times.setdefault(side, []).append(seconds / count)
            pyg.advance(block)
    return {side: np.array(seconds[1:]) for side, seconds in times.items()}  # the first one compiles


def rank_batch(model: TGN, candidates: SharedCandidates, start: int) -> torch.Tensor:
    """Ranks of a batch of positives, and the batch observed: all that evaluation does."""
    stop = start + BATCH
    ranks = candidates.ranks(start, stop, model.score(candidates.queries(start, stop)))
    model.observe(candidates.events[start:stop])
    return ranks


def gflop(stream: EventStream, skipped: int) -> float:
    """Of one training batch of keat's: its matrix products as torch counts them, and the compiled sums."""
    trainer = Trainer(stream, TGNConfig())
    *before, last = batches(stream, skipped + 1)
    for batch in before:
        trainer.step(*batch)
    model, (block, negative) = trainer.model, last
    nodes = torch.from_numpy(np.unique(np.concatenate((block.src, block.dst, negative))).astype(np.int64))
    past = int((model.recent.of(nodes) >= 0).sum())
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


def _others(candidates: SharedCandidates, dst: int) -> npt.NDArray[np.int32]:
    return np.setdiff1d(candidates.catalogue, [dst], assume_unique=True)
