"""How much quicker is one against all here than in a plain loop over questions, with the same answers?

    python -m benchmarks.shortcuts --json
    python -m benchmarks.shortcuts --quick --only nat,tncn

The stream is UCI's messages; simulated payments where the file is not at hand. A model has observed 85 % of
it. It is then asked for every destination: a block of questions at once, as evaluation asks it, and some of
them one by one in the plain way (`benchmarks.shortcuts_plain`), from the same parameters and state; then the
block is observed, and the next one is asked. Both must give the same scores. Milliseconds are of processor
time on one thread, a question each; ratios are medians of the ratios within a block.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.benchmark_command import SHARED, benchmark_parser, say
from benchmarks.shortcuts_plain import plainly
from keat.datasets.payments import simulate_payments
from keat.errors import unknown_name
from keat.events import EventStream, read_events
from keat.models.contract import Queries
from keat.models.registry import build_model
from keat.runs.spec import configuration

BLOCK = 200  # events, as in TGB's protocol
PLAIN = 3  # questions of a block that are also answered plainly


@dataclass(frozen=True, slots=True)
class Side:
    """A model with its settings, and how many questions of a block it is asked: few of one that is slow."""

    model: str
    settings: tuple[tuple[str, Any], ...] = ()
    questions: int = BLOCK
    shortcut: bool = True  # whether there is one, or every pair needs all of its work

    @property
    def config(self) -> Any:
        return configuration(self.model, **dict(self.settings))


SIDES: dict[str, Side] = {
    "jodie": Side("jodie"),
    "dyrep": Side("dyrep"),
    "ctan": Side("ctan"),
    "tgn": Side("tgn"),
    "tncn": Side("tncn"),
    "tncn, mode 1": Side("tncn", (("mode", 1),)),
    "tncn, mode 2": Side("tncn", (("mode", 2),)),
    "keat-tncn": Side("keat-tncn"),
    "nat": Side("nat"),
    "nat, parity": Side("nat", (("parity", True),)),
    "keat-nat": Side("keat-nat"),
    "tpnet": Side("tpnet"),
    "craft": Side("craft", questions=20, shortcut=False),
    "graphmixer": Side("graphmixer", questions=4, shortcut=False),
    "tgat": Side("tgat", questions=2, shortcut=False),
    "cawn": Side("cawn", questions=2, shortcut=False),
    "tcl": Side("tcl", questions=2, shortcut=False),
}


def load(path: Path) -> EventStream:
    return read_events(path) if path.exists() else simulate_payments(60_000)


def compare(side: Side, config: Any, stream: EventStream, blocks: int) -> dict[str, Any]:
    """Milliseconds a question of both ways, and how many times as long the plain one takes."""
    first = int(0.85 * len(stream)) // BLOCK * BLOCK
    everybody = np.unique(stream.dst).astype(np.int32)
    model = build_model(stream[:first], config, seed=1)
    model.reserve(len(stream))
    for block in stream[:first].blocks(BLOCK):
        model.observe(block)
    rng, quick, plain = np.random.default_rng(0), list[float](), list[float]()
    for number, block in enumerate(stream[first:].blocks(BLOCK)):
        if number > blocks:
            break
        asked = block[: side.questions]
        queries = Queries(asked.src, asked.t, everybody)
        scores, took = timed(model.score, queries)
        chosen = rng.choice(len(asked), min(PLAIN, len(asked)), replace=False)
        ones = [queries.rows(row, row + 1) for row in chosen.tolist()]
        answers, took_plainly = timed(lambda model, ones: [plainly(model, one) for one in ones], model, ones)
        torch.testing.assert_close(scores[torch.from_numpy(chosen)], torch.cat(answers), rtol=1e-3, atol=1e-4)
        if number > 0:  # the first compiles, and fills what is kept
            quick.append(1000 * took / len(asked))
            plain.append(1000 * took_plainly / len(ones))
        model.observe(block)
    return {
        "candidates": len(everybody),
        "questions": side.questions,
        "parameters": sum(each.numel() for each in model.parameters()),
        "ms": float(np.median(quick)),
        "plain_ms": float(np.median(plain)),
        "ratio": float(np.median(np.array(plain) / np.array(quick))),
        "shortcut": side.shortcut,
    }


def timed(work: Callable[..., Any], *given: Any) -> tuple[Any, float]:
    began = time.process_time()
    result = work(*given)
    return result, time.process_time() - began


def measure(path: Path, names: Sequence[str], quick: bool) -> dict[str, Any]:
    torch.set_num_threads(1)
    stream = load(path)
    found: dict[str, Any] = {}
    for name in names:
        say(f"{name} …")
        found[name] = compare(SIDES[name], SIDES[name].config, stream, 2 if quick else 7)
        say("  {plain_ms:.2f} ms plainly, {ms:.3f} ms here".format(**found[name]))
    dataset = stream.name if path.exists() else "simulated payments"
    return {"benchmark": "shortcuts", "dataset": dataset, "block": BLOCK, "models": found}


def report(result: dict[str, Any]) -> None:
    models = result["models"]
    width = next(iter(models.values()))["candidates"]
    print(f"{result['dataset']}, {width:,} candidates a question, one thread")
    print(f"{'model':<16}{'parameters':>12}{'at once':>9}{'ms a question':>15}{'plain loop':>12}{'ratio':>8}")
    for name, told in models.items():
        print(
            f"{name:<16}{told['parameters']:>12,}{told['questions']:>9}{told['ms']:>15.3f}"
            f"{told['plain_ms']:>12.2f}{told['ratio']:>8.1f}" + ("" if told["shortcut"] else "  no shortcut")
        )


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument("--data", type=Path, default=SHARED / "uci.parquet")
    parser.add_argument("--only", default=",".join(SIDES), help="models, separated by commas without spaces")
    parser.add_argument("--quick", action="store_true", help="two blocks")
    options = parser.parse_args()
    names = [name.strip() for name in options.only.replace(", ", "\0").split(",")]
    names = [name.replace("\0", ", ") for name in names]
    for name in names:
        if name not in SIDES:
            raise unknown_name("model", name, SIDES)
    result = measure(options.data, names, options.quick)
    print(json.dumps(result)) if options.json else report(result)


if __name__ == "__main__":
    main()
