"""A run that is killed while it observes or saves opens again with the old state or the new one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

KILLS = int(os.environ.get("KEAT_UPDATE_KILLS", "16"))


def test_killed_between_any_two_file_operations(tmp_path: Path) -> None:
    """50 and more with KEAT_UPDATE_KILLS=50."""
    driver = Path(__file__).with_name("update_killing.py")
    words = [sys.executable, str(driver), str(KILLS), os.environ["KEAT_TEST_SEED"], str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["kills"] == KILLS
    assert min(found["operations"].values()) > 10
    assert found["faults"] == []
