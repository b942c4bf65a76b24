"""How training goes, for people: a bar for the epoch under way and a line for each that is done."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from keat.cli.console import err

if TYPE_CHECKING:
    from keat.training.fit import EpochReport


class TrainingBar:
    """A bar for the epoch under way and a line for each that is done."""

    def __init__(self, epochs: int, headline: str = "mrr") -> None:
        self.epochs, self.headline = epochs, headline
        self.bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("loss {task.fields[loss]:.4f}  {task.fields[speed]:,.0f} events/s"),
            TimeRemainingColumn(),
            console=err,
            transient=True,
            disable=not err.is_terminal,
        )
        self.task = self.bar.add_task("epoch 1", total=1, loss=0.0, speed=0.0)
        self.started = 0.0
        self.current = 0

    def __enter__(self) -> TrainingBar:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def batch(self, epoch: int, done: int, total: int, loss: float) -> None:
        if epoch != self.current:
            self.current, self.started = epoch, time.perf_counter()
            self.bar.reset(
                self.task, total=total, description=f"epoch {epoch} of {self.epochs}", loss=loss, speed=0.0
            )
        speed = done / max(time.perf_counter() - self.started, 1e-9)
        self.bar.update(self.task, completed=done, loss=loss, speed=speed)

    def epoch(self, report: EpochReport) -> None:
        val = "not validated"
        if report.val:
            val = f"val {self.headline} {report.val[self.headline]:.4f}{' *' if report.best else ''}"
        err.print(
            f"epoch {report.epoch:>3}  loss {report.loss:.4f}  {val}  "
            f"({report.train_seconds:.1f} s training, {report.val_seconds:.1f} s validation)"
        )
