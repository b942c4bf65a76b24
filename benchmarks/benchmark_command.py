"""What the commands of benchmarks share: options, words to the terminal, and where real data may be."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

SHARED = Path(os.environ.get("KEAT_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))


def benchmark_parser(text: str | None) -> argparse.ArgumentParser:
    """The option every benchmark has; ``text`` says what is measured."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="JSON on standard output")
    return parser


def say(text: str) -> None:
    """While it runs: standard output is for the result."""
    print(text, file=sys.stderr)
