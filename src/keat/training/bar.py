"""How training goes, for people: a bar for the epoch under way and a line for each that is done."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from keat.training.fit import EpochReport


class TrainingBar:
    """A bar for the epoch under way and a line for each that is done, on standard error."""

    def __init__(self, epochs: int) -> None:
        self.epochs = epochs
        self.console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self.bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("loss {task.fields[loss]:.4f}  {task.fields[speed]:,.0f} events/s"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
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
            name, value = next(iter(report.val.items()))
            val = f"val {name} {value:.4f}{' *' if report.best else ''}"
        self.console.print(
            f"epoch {report.epoch:>3}  loss {report.loss:.4f}  {val}  "
            f"({report.train_seconds:.1f} s training, {report.val_seconds:.1f} s validation)"
        )
