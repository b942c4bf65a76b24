"""A trained run as a thing one can hold: train it, open it, show it what happened since, and ask it."""

from keat.runs.answer import Answer
from keat.runs.run import Run
from keat.runs.run import open_kept as open  # noqa: A004  (keat.open, as elsewhere in Python)
from keat.runs.spec import RunSpec
from keat.runs.trainer import train

__all__ = ["Answer", "Run", "RunSpec", "open", "train"]
