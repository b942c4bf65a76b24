"""The one training loop.

An epoch starts from an empty state, streams the training split (score, learn, observe), and goes on
through the validation split without learning. Everything random is a function of (seed, epoch), so a run
that was stopped repeats at most the epoch under way and arrives at the same bits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from keat.datasets.loading import Dataset
from keat.errors import KeatError
from keat.events import EventStream
from keat.models.contract import Queries
from keat.models.tgn import TGN
from keat.tasks.link import LinkRanking
from keat.training.checkpoint import Run
from keat.training.evaluate import continue_evaluation
from keat.training.losses import Recipe, link_loss

BATCHES_BETWEEN_LOOKS = 25


@dataclass(frozen=True, slots=True)
class FitConfig:
    """How to train. The defaults are TGB's, but for the decoder's second sigmoid (``recipe``)."""

    epochs: int = 30
    patience: int = 5  # epochs without a better validation MRR before stopping
    batch_size: int = 200
    lr: float = 1e-4
    clip: float | None = None  # of the gradient's norm
    recipe: Recipe = "sound"
    bf16: bool = False  # matrix products of training in bfloat16; evaluation is always float32
    seed: int = 1
    tolerance: float = 1e-6  # relative improvement that counts
    validate_every: int = 1  # epochs; the last epoch is always validated


@dataclass(frozen=True, slots=True)
class EpochReport:
    """What one epoch came to."""

    epoch: int
    loss: float
    val: dict[str, float]
    train_seconds: float
    val_seconds: float
    best: bool


class Watcher(Protocol):
    """Is told how training goes; the command line has one that draws a bar."""

    def batch(self, epoch: int, done: int, total: int, loss: float) -> None: ...

    def epoch(self, report: EpochReport) -> None: ...


def fit(
    model: TGN,
    data: Dataset,
    task: LinkRanking,
    config: FitConfig,
    run: Run,
    watchers: Sequence[Watcher] = (),
) -> list[EpochReport]:
    """Train until the validation MRR of ``task`` stops improving; ``run`` keeps the best and the last.

    If ``run`` holds an interrupted training of the same configuration, it is continued.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr, fused=True)
    history = run.resume(model, optimizer)
    best = max((report["val"]["mrr"] for report in history if report["best"]), default=-math.inf)
    since_best = next((i for i, report in enumerate(reversed(history)) if report["best"]), len(history))
    reports: list[EpochReport] = []
    model.log.reserve(len(data.stream))
    for epoch in range(len(history) + 1, config.epochs + 1):
        if since_best >= config.patience:
            break
        started = time.perf_counter()
        loss = _train_epoch(model, optimizer, data, config, epoch, watchers)
        trained = time.perf_counter()
        val: dict[str, float] = {}
        if epoch % config.validate_every == 0 or epoch == config.epochs:
            model.eval()
            val = continue_evaluation(model, task).metrics
        better = bool(val) and (math.isinf(best) or val["mrr"] - best > config.tolerance * abs(best))
        report = EpochReport(epoch, loss, val, trained - started, time.perf_counter() - trained, better)
        best, since_best = (val["mrr"], 0) if better else (best, since_best + 1)
        run.save_epoch(model, optimizer, report)
        reports.append(report)
        for watcher in watchers:
            watcher.epoch(report)
    return reports


def _train_epoch(
    model: TGN,
    optimizer: torch.optim.Optimizer,
    data: Dataset,
    config: FitConfig,
    epoch: int,
    watchers: Sequence[Watcher],
) -> float:
    torch.manual_seed(np.random.SeedSequence([config.seed, epoch]).generate_state(1)[0].item())
    model.train()
    model.reset()
    total, done = torch.zeros((), device=model.log.t.device), 0
    for number, (block, queries) in enumerate(training_queries(data, config, epoch)):
        with torch.autocast(total.device.type, torch.bfloat16, enabled=config.bf16):
            logits = model.score(queries)
        loss = link_loss(logits.float(), config.recipe)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        # Before the step: the state advances with the parameters the scores were computed with.
        model.observe(block)
        if config.clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        optimizer.step()
        total += loss.detach() * len(block)
        done += len(block)
        if number % BATCHES_BETWEEN_LOOKS == 0 or done == len(data.train):  # a look waits for the device
            mean = total.item() / done
            if not math.isfinite(mean):
                raise KeatError(f"The loss became {mean} in epoch {epoch}; lower --lr or set --clip.")
            for watcher in watchers:
                watcher.batch(epoch, done, len(data.train), mean)
    return mean


def training_queries(data: Dataset, config: FitConfig, epoch: int) -> Iterator[tuple[EventStream, Queries]]:
    """Blocks of positives, each positive with one destination drawn at random, TGB's training negatives."""
    catalogue = training_catalogue(data)
    rng = np.random.default_rng([config.seed, epoch])
    for block in data.train.blocks(config.batch_size):
        negative = rng.choice(catalogue, len(block))
        yield block, Queries(block.src, block.t, np.stack((block.dst, negative), axis=1))


def training_catalogue(data: Dataset) -> npt.NDArray[np.int32]:
    """Destinations of the training split; for TGB's sets the id range of all, as in its examples."""
    if data.info is not None and data.info.family == "tgbl":
        return np.arange(data.stream.dst.min(), data.stream.dst.max() + 1, dtype=np.int32)
    return np.unique(data.train.dst)
