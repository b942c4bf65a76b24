"""Whether bfloat16 works is found out by trying, whatever the trial dies of, before anything is written."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import pytest
import torch

from keat.errors import InputError
from keat.training import bfloat16
from keat.training.bfloat16 import bfloat16_trouble, require_bfloat16, trouble_of_trial


def trouble(script: str, seconds: float = 60.0) -> str | None:
    return trouble_of_trial([sys.executable, "-S", "-c", script], seconds)


@pytest.fixture
def _forgetful() -> Iterator[None]:
    """What one test found out is no news for another."""
    bfloat16_trouble.cache_clear()
    yield
    bfloat16_trouble.cache_clear()


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("print('fine')", None),
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "a trial died: illegal instruction"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "a trial died: killed"),
        ("raise RuntimeError('could not create a primitive')", "RuntimeError: could not create a primitive"),
        ("import sys; sys.exit('products come out wrong.')", "products come out wrong"),
        ("import sys; sys.stderr.buffer.write(bytes([255, 10])); sys.exit(3)", "\N{REPLACEMENT CHARACTER}"),
        ("import sys; sys.exit(3)", "a trial ended with 3"),
    ],
)
def test_how_a_trial_ends_is_said_in_a_few_words(script: str, found: str | None) -> None:
    assert trouble(script) == found


def test_a_trial_that_hangs_is_ended() -> None:
    started = time.monotonic()
    assert trouble("import time; time.sleep(600)", seconds=0.5) == "a trial did not end within 0.5 seconds"
    assert time.monotonic() - started < 60


def test_a_trial_that_cannot_start() -> None:
    found = trouble_of_trial(["/there/is/no/such/program"], 60.0)
    assert found == "a trial could not be started: No such file or directory"


@pytest.mark.usefixtures("_forgetful")
def test_a_device_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def trial(command: list[str], seconds: float) -> str:
        commands.append([*command, str(seconds)])
        return "RuntimeError: could not create a primitive"

    monkeypatch.setattr(bfloat16, "trouble_of_trial", trial)
    for _ in range(2):
        with pytest.raises(InputError, match=r"bfloat16 \(RuntimeError: could .*\); leave bf16 out"):
            require_bfloat16("cpu")
    assert len(commands) == 1
    assert commands[0][-2:] == ["cpu", str(bfloat16.TRIAL_SECONDS)]


@pytest.mark.usefixtures("_forgetful")
def test_a_graphics_card_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers for itself, and no process is needed."""
    asked: list[str] = []

    class Current:
        def __init__(self, device: str) -> None:
            asked.append(device)

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(torch.cuda, "device", Current)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: asked[-1] == "cuda:1")
    monkeypatch.delattr(bfloat16, "trouble_of_trial")
    require_bfloat16("cuda:1")
    with pytest.raises(InputError, match=r"This device \(cuda:0\) cannot train in bfloat16"):
        require_bfloat16("cuda:0")
    assert asked == ["cuda:1", "cuda:0"]


@pytest.mark.usefixtures("bfloat16")
def test_the_real_trial_notices_what_fails() -> None:
    """Where bfloat16 works, the trial says so; and it is the trial that says it, not luck."""
    require_bfloat16("cpu")
    broken = bfloat16.TRIAL.replace("rough = products()", "rough = [2 * p for p in products()]")
    assert trouble_of_trial([sys.executable, "-c", broken, "cpu"], 120.0) == "products come out wrong"
