"""What tests share: real data where it is at hand, and small random streams everywhere."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small tensors: a second thread only waits for the first

import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from dead_workers import pytest_testnodedown  # noqa: F401
from keat.events import EventStream

settings.register_profile("keat", deadline=None, print_blob=True)  # compiled functions: a slow first example
settings.load_profile("keat")
os.environ.setdefault("KEAT_TEST_SEED", str(secrets.randbelow(2**32)))  # workers inherit it
os.environ["COLUMNS"] = "80"  # whatever the terminal, and whether it likes colours
for variable in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(variable, None)

MakeStream = Callable[..., EventStream]
FindFile = Callable[[str], Path]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SLICES = Path(__file__).parent / "data"  # real, small, and always at hand
SHARED = Path(os.environ.get("KEAT_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.write_line(f"random moments: KEAT_TEST_SEED={os.environ['KEAT_TEST_SEED']} repeats them")


def pytest_runtest_setup() -> None:
    """What a test draws without a seed of its own does not depend on the tests that ran before it."""
    import torch  # only where tests run: the process that watches the workers does without

    torch.manual_seed(0)


@pytest.fixture
def moments() -> np.random.Generator:
    """Random moments, for example to kill at: others in every run, unless KEAT_TEST_SEED says which."""
    return np.random.default_rng(int(os.environ["KEAT_TEST_SEED"]))


@pytest.fixture(scope="session")
def shared_file() -> FindFile:
    """The path of a real data file; the test is skipped where the file is not at hand."""

    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"{name} is not at hand; set KEAT_SHARED_DATA to the folder that has it")
        return path

    return find


@pytest.fixture(scope="session")
def bfloat16() -> None:
    """Tests that use bfloat16 are skipped where the processor cannot."""
    from keat.training.bfloat16 import bfloat16_trouble

    trouble = bfloat16_trouble("cpu")
    if trouble is not None:
        pytest.skip(f"this processor has no working bfloat16 ({trouble})")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; tests that need it are skipped where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium is at hand; install it (Debian: apt-get install chromium)")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def random_stream() -> MakeStream:
    """Make a random stream: few nodes and a coarse clock, so that pairs repeat and times tie."""

    def make(
        seed: int, events: int = 300, sources: int = 8, destinations: int = 12, times: int = 120
    ) -> EventStream:
        rng = np.random.default_rng(seed)
        return EventStream.from_arrays(
            rng.integers(0, sources, events),
            rng.integers(sources, sources + destinations, events),
            np.sort(rng.integers(0, times, events)),
            num_nodes=sources + destinations,
            name=f"random-{seed}",
        )

    return make
