"""What is a fresh state worth, and what does it matter where the blocks begin?

    python -m studies.freshness wikipedia.parquet --picture docs/images/freshness.png

Freshness: every heuristic on the test split with the state refreshed every 1 … 1,000 events.
Alignment: one heuristic at 200, the grid of blocks shifted by 0, 20, … 180 events. A shift by k moves
the first k test events into the history; only events that all shifts score are compared.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

import keat
from keat.models.registry import LINK_MODELS
from keat.tasks.candidates import SharedCandidates
from keat.tasks.link import LinkRanking

REFRESHES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
SHIFTS = range(0, 200, 20)


def freshness(data: keat.Dataset, name: str) -> list[float]:
    """Test MRR at each of `REFRESHES`."""
    model, task = keat.create_link_model(name, data.train), keat.make_task(data)
    return [keat.evaluate(model, task, refresh=refresh).metrics["mrr"] for refresh in REFRESHES]


def alignment(data: keat.Dataset, name: str, split: str) -> list[float]:
    """MRR at refresh 200 for each of `SHIFTS`, over the events from the 200th on."""
    model, part, catalogue = keat.create_link_model(name, data.train), data.part(split), data.stream.dst
    found = []
    for shift in SHIFTS:
        first = part.offset + shift
        positives = data.stream[first : part.offset + len(part)]
        task = LinkRanking(data.stream[:first], SharedCandidates(positives, catalogue))
        ranks = keat.evaluate(model, task, refresh=200).outcomes[200 - shift :]
        found.append((1 / ranks).mean().item())
    return found


def draw(result: dict[str, Any], path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", width_ratios=[1.5, 1])
    for name, values in sorted(result["freshness"].items(), key=lambda item: -item[1][0]):
        left.plot(REFRESHES, values, marker="o", markersize=4, label=name)
    left.set_xscale("log")
    left.set_xticks(REFRESHES, [f"{r:,}" for r in REFRESHES], minor=False)
    left.minorticks_off()
    left.set_ylim(0, 1)
    left.set_xlabel("events between two refreshes of the state")
    left.set_ylabel("test MRR")
    left.set_title(f"{result['dataset']}: freshness", loc="left", fontsize=11)
    left.legend(frameon=False, fontsize=8, ncols=3, loc="upper center")
    for split, values in result["alignment"].items():
        right.plot(SHIFTS, values, marker="o", markersize=4, label=split)
    right.set_xlabel("shift of the grid of 200 events")
    right.set_ylabel("MRR of local-global")
    right.set_title("where the blocks begin", loc="left", fontsize=11)
    right.legend(frameon=False, fontsize=8)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", help="a dataset that is ranked against all destinations")
    parser.add_argument("--picture", type=Path, help="a PNG to draw")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    options = parser.parse_args()
    torch.set_num_threads(1)  # small matrices: threads would only wait for each other
    data = keat.load(options.data)
    result: dict[str, Any] = {"dataset": data.name, "refreshes": REFRESHES, "shifts": list(SHIFTS)}
    heuristics = [name for name, entry in LINK_MODELS.items() if entry.heuristic]
    result["freshness"] = {name: freshness(data, name) for name in heuristics}
    result["alignment"] = {split: alignment(data, "local-global", split) for split in ("val", "test")}
    if options.picture is not None:
        draw(result, options.picture)
        print(f"drew {options.picture}", file=sys.stderr)
    if options.json:
        print(json.dumps(result))
        return
    print(f"{'refresh':16}" + "".join(f"{refresh:>8,}" for refresh in REFRESHES))
    for name, values in result["freshness"].items():
        print(f"{name:16}" + "".join(f"{value:>8.4f}" for value in values))
    for split, values in result["alignment"].items():
        low, high = min(values), max(values)
        print(f"local-global, {split}, grid of 200 shifted: {low:.4f} to {high:.4f}, sd {np.std(values):.4f}")


if __name__ == "__main__":
    main()
