"""A study of your own: does a kernel help on these data? Two arms, the same seeds, and the paired difference.

Run it anywhere: `python study_of_your_own.py`. Larger studies are recipes: see docs/use/reproduce.md.
"""

import keat
from keat.experiments.statistics import paired_difference, spread
from keat.runs.spec import SourceSpec
from keat.runs.trainer import train_spec

data = keat.load("payments:2000")


def spec(kernel: str, seed: int) -> keat.RunSpec:
    """Everything that is decided before training. Equal specs on equal data give equal bits, so what differs
    between two arms is what you see here, and nothing else."""
    return keat.RunSpec.of(
        "keat-tgn",
        settings={"kernel": kernel, "delta": "query", "dim": 16},
        fitting={"epochs": 1, "lr": 1e-3, "seed": seed},
        source=SourceSpec.of(data),
    )


# Each arm is trained once for each seed, and measured on the test split. "identity" is the plain model.
mrr: dict[str, dict[int, float]] = {"identity": {}, "laplacian": {}}
for kernel in mrr:
    for seed in (1, 2, 3):
        run = train_spec(spec(kernel, seed), data, f"study/{kernel}-{seed}")
        mrr[kernel][seed] = run.evaluate(data).metrics["mrr"]

for kernel, by_seed in mrr.items():
    print(f"{kernel:10} MRR {spread(list(by_seed.values()))}")

# Seeds are shared, so the differences are taken seed by seed: their spread is smaller than that of the arms.
difference = paired_difference(mrr["laplacian"], mrr["identity"])
assert difference is not None
told = "clear" if difference.is_clear else "not clear with so few seeds"
print(f"laplacian - identity: {difference}, {told}")
