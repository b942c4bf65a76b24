"""A service that is killed with -9 at any step goes on as if it had not been."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

KILLS = int(os.environ.get("KEAT_LIVE_KILLS", "50"))


def test_killed_at_every_step_and_at_random_moments(tmp_path: Path) -> None:
    """KEAT_LIVE_KILLS says how many; for 1,000 start the driver itself, for a test may take ten minutes."""
    driver = Path(__file__).with_name("live_killing.py")
    words = [sys.executable, str(driver), str(KILLS), os.environ["KEAT_TEST_SEED"], str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["kills"] == KILLS
    assert found["faults"] == []
