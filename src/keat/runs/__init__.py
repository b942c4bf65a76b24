"""A trained run as a thing one can hold: train it, open it, show it what happened since, and ask it."""

from keat.runs.run import Run, open_kept
from keat.runs.training import train

__all__ = ["Run", "open_kept", "train"]
