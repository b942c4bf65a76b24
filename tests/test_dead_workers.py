"""A run whose worker dies fails within a minute, and says which test it was."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

LIMIT = 60  # seconds
TESTS = Path(__file__).parent

OTHERS = """
import time
def test_first(): time.sleep(600)
def test_second(): time.sleep(600)
"""
KILLED = """
import os, signal, time
def test_fine(): pass
def test_dies():
    time.sleep(0.5)
    os.kill(os.getpid(), signal.{signal})
def test_never_run(): pass
"""
STUCK = """
import ctypes
def test_fine(): pass
def test_dies(): ctypes.PyDLL(None).pause()  # for ever, and nothing else of the interpreter can run
def test_never_run(): pass
"""
COLLECTED = """
import os, signal, time
time.sleep(0.5)
os.kill(os.getpid(), signal.SIGILL)
"""


@pytest.mark.parametrize(
    ("sources", "limit", "where"),
    [
        ([KILLED.format(signal="SIGKILL"), OTHERS], 600, "in test_0.py::test_dies"),
        ([KILLED.format(signal="SIGILL")], 600, "in test_0.py::test_dies"),
        ([STUCK], 2, "in test_0.py::test_dies"),
        ([COLLECTED], 600, "between tests, or while they were collected"),
    ],
    ids=["killed", "illegal", "stuck", "collecting"],
)
def test_the_run_fails_soon(sources: list[str], limit: int, where: str, tmp_path: Path) -> None:
    for number, source in enumerate(sources):
        (tmp_path / f"test_{number}.py").write_text(source)
    ours = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_"))}
    options = ["-p", "dead_workers", "-p", "no:cacheprovider", "-o", f"faulthandler_timeout={limit}"]
    options += ["-c", str(TESTS.parent / "pyproject.toml"), "--rootdir", str(tmp_path)]
    options += ["--numprocesses", "2", "--dist", "loadfile"]
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path)],
        cwd=tmp_path,
        env=ours | {"PYTHONPATH": os.pathsep.join([str(TESTS), ours.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=2 * LIMIT,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert time.monotonic() - started < LIMIT
    assert f"died {where}" in done.stdout
