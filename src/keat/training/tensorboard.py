"""Curves in TensorBoard, for those who have it installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from keat.training.fit import EpochReport, Watcher


def tensorboard_watchers(folder: Path) -> list[Watcher]:
    """A watcher that writes to ``folder``, or none where the tensorboard package is missing."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return []
    return [_Curves(SummaryWriter(folder))]


class _Curves:
    def __init__(self, writer: Any) -> None:
        self.writer = writer

    def batch(self, epoch: int, done: int, total: int, loss: float) -> None:
        self.writer.add_scalar("loss/running", loss, (epoch - 1) * total + done)

    def epoch(self, report: EpochReport) -> None:
        self.writer.add_scalar("loss/epoch", report.loss, report.epoch)
        for metric, value in report.val.items():
            self.writer.add_scalar(f"val/{metric}", value, report.epoch)
        self.writer.flush()
