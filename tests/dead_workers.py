"""A test worker that dies ends the run, at once and as a failure.

pytest-xdist would start another in its place and, with whole files given to workers, wait for ever for the
tests that nobody runs. A test that is stuck dies too: pytest's own watch over the time (pyproject.toml) ends
its process from outside the interpreter, so that a compiled loop cannot hold it up.
"""

from __future__ import annotations

from typing import Any

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Called where the workers are watched, when one of them is gone; an ``error`` if it had not finished."""
    if error is None:
        return
    scheduler = node.config.pluginmanager.getplugin("dsession").sched
    try:
        test = scheduler.remove_node(node)
    except (AttributeError, KeyError):  # it had not come as far as tests
        test = None
    where = f"in {test}" if test else "between tests, or while they were collected"
    pytest.exit(f"the test worker {node.gateway.id} died {where}", returncode=1)
