"""Curves in TensorBoard, for those who have it installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from keat.training.fit import EpochReport, Watcher


def tensorboard_watchers(folder: Path) -> list[Watcher]:
    """A watcher that writes to ``folder``, or none where the tensorboard package is missing."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return []
    return [_Curves(lambda: SummaryWriter(folder))]


class _Curves:
    """Opened with the first number: a run that is refused leaves nothing."""

    def __init__(self, open_writer: Callable[[], Any]) -> None:
        self.open_writer = open_writer

    @cached_property
    def writer(self) -> Any:
        return self.open_writer()

    def batch(self, epoch: int, done: int, total: int, loss: float) -> None:
        self.writer.add_scalar("loss/running", loss, (epoch - 1) * total + done)

    def epoch(self, report: EpochReport) -> None:
        self.writer.add_scalar("loss/epoch", report.loss, report.epoch)
        for metric, value in report.val.items():
            self.writer.add_scalar(f"val/{metric}", value, report.epoch)
        self.writer.flush()
