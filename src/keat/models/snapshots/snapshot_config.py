"""What can be chosen of every model of snapshots."""

from __future__ import annotations

from dataclasses import dataclass

from keat.models.settings import Help, check_model, check_range, setting

BINS_IN_SIGMA = 8  # of the usual width
HISTORY = 4 * BINS_IN_SIGMA  # usual bins of KEAT: 4 σ, where exp(-Δ/σ) has come down to 2 %

FEATURES = "Random numbers by which a node is told from others."
PARITY = "Whether to repeat the defect of the published code that its numbers come from, to compare with it."


@dataclass(frozen=True, slots=True)
class SnapshotConfig:
    """Δ is the time from an event to the end of the snapshot's bin. With an infinite ``width`` of the kernel
    a model is exactly the one whose kernel is ``identity``, all else being equal."""

    kernel: str = setting("identity", Help.KERNEL)
    width: float = setting(1.0, Help.WIDTH)
    clock: str = setting("s", Help.CLOCK)
    bin_width: float = setting(0.0, "Width of a bin of time in the unit of the clock; 0 for σ/8.")
    history: int = setting(1, "Last bins whose events are the edges of a snapshot.")
    repeats: bool = setting(
        False, "Whether all events of a pair of nodes add up to its edge, or the latest is the edge."
    )
    dropout: float = setting(0.0, Help.DROPOUT)

    def __post_init__(self) -> None:
        self.check()

    def check(self, *sizes: str) -> None:
        """All of the settings, ``sizes`` among them."""
        check_model(self, "history", *sizes)
        check_range(self, 0, None, "bin_width")
