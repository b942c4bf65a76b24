"""Training GEARSage into a folder, and getting it back out.

An epoch is one step: all frauds of the training nodes, as many normal ones drawn anew, and the subgraph that
can reach them. Then the whole graph is scored and the validation nodes decide which epoch is kept. What is
drawn is a function of (seed, epoch), so a run that was stopped continues to the same bits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

import keat
from keat.bandwidth import estimate_sigma
from keat.datasets.cache import open_dgraphfin
from keat.datasets.dgraphfin import DGraphFin, read_contacts, read_node_labels
from keat.datasets.registry import dataset_info
from keat.errors import InputError, KeatError, unknown_name
from keat.events.fingerprint import fingerprint
from keat.models.gearsage import (
    GEARSAGE_CONFIGS,
    ContactGraph,
    GEARSage,
    GEARSageConfig,
    Neighborhood,
    SubgraphSampler,
    build_graph,
)
from keat.models.settings import MOST, check_each, check_range, check_seed, setting
from keat.training.checkpoint import RunFolder, load_best
from keat.training.description import config_of, read_description
from keat.training.epochs import standing
from keat.training.fit import EpochReport, Watcher

Part = Literal["train", "valid", "test"]


@dataclass(frozen=True, slots=True)
class GEARSageFit:
    """How to train. The defaults are GEARSage's own."""

    epochs: int = setting(500, "Epochs, at most.")
    patience: int = setting(500, "Epochs without a better validation metric before stopping.")
    lr: float = setting(1e-2, "Learning rate of Adam.")
    clip: float = setting(2.0, "Largest norm of the gradient.")
    seed: int = setting(42, "Of all that is random: parameters, dropout and what is drawn.")
    validate_every: int = setting(1, "Epochs from one validation to the next; the last is always validated.")

    def __post_init__(self) -> None:
        check_each(self)
        check_range(self, 1, MOST, "epochs", "patience", "validate_every")
        check_range(self, 0, None, "lr")
        check_range(self, 0, None, "clip", open_below=True)
        check_seed(self.seed)


def gearsage_configuration(name: str, **changes: Any) -> GEARSageConfig:
    """The configuration of ``gearsage`` or ``keat-gearsage``, changed where something is given."""
    if name not in GEARSAGE_CONFIGS:
        raise unknown_name("model of whole graphs", name, GEARSAGE_CONFIGS)
    given = {key: value for key, value in changes.items() if value is not None}
    return replace(GEARSAGE_CONFIGS[name], **given)


def open_labelled_graph(source: str) -> DGraphFin:
    """``dgraphfin``, or an .npz file with the same arrays."""
    if source == "dgraphfin":
        return open_dgraphfin()
    path = Path(source)
    if path.suffix != ".npz":
        raise InputError(f"GEARSage reads 'dgraphfin' or an .npz file with the same arrays, not '{source}'.")
    info = replace(dataset_info("dgraphfin"), name=path.stem, raw_files=(path.name,))
    return read_node_labels(path.parent, info, read_contacts(path.parent, info))


def train_gearsage(
    name: str,
    data: DGraphFin,
    folder: Path,
    config: GEARSageConfig,
    fitting: GEARSageFit,
    *,
    resume: bool = False,
    device: str = "cpu",
    watchers: Sequence[Watcher] = (),
    graph: ContactGraph | None = None,
) -> list[EpochReport]:
    """Train ``name``, keep the epoch with the best validation AUC in ``folder``. A ``graph`` that was built
    before, with the same Δ, is used as it is."""
    graph = build_graph(data.stream, data.y, config.delta) if graph is None else graph
    model = build_gearsage(data, config, fitting.seed).to(device)
    limits = {key: getattr(fitting, key) for key in ("epochs", "patience")}
    description = {
        "keat": keat.__version__,
        "model": name,
        "task": "node-label",
        "config": asdict(config),
        "fit": {key: value for key, value in asdict(fitting).items() if key not in limits},
        "limits": limits,
        "sigma": model.sigma,
        "unit": data.stream.unit,
        "data": {
            "name": data.stream.name,
            "events": len(data.stream),
            "fingerprint": fingerprint(data.stream),
        },
    }
    for part in ("train", "valid"):
        labelled_nodes(data, part)
    with RunFolder(folder, description, resume=resume) as run:
        return _fit(model, graph, data, fitting, run, watchers)


def build_gearsage(data: DGraphFin, config: GEARSageConfig, seed: int = 42) -> GEARSage:
    """Fresh parameters. σ is that of all edges: the split is of labels, and every edge is input."""
    stream = data.stream
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return GEARSage(estimate_sigma(stream.src, stream.dst, stream.t), config)


def open_gearsage(folder: Path, device: str = "cpu") -> tuple[GEARSage, dict[str, Any]]:
    """The best model of a run, and what the run was."""
    description = read_description(folder)
    if description["model"] not in GEARSAGE_CONFIGS:
        raise InputError(f"{folder} holds a {description['model']}, not a GEARSage.")
    config = config_of(folder, GEARSageConfig, description["config"])
    model = load_best(folder, lambda: GEARSage(description["sigma"], config)).eval()
    return model.to(device), description


def evaluate_gearsage(
    folder: Path,
    data: DGraphFin,
    part: Part = "test",
    *,
    device: str = "cpu",
    graph: ContactGraph | None = None,
) -> dict[str, float]:
    """ROC-AUC and average precision of a run's best model on a part of the labelled nodes."""
    model, _ = open_gearsage(folder, device)
    graph = build_graph(data.stream, data.y, model.config.delta) if graph is None else graph
    nodes = labelled_nodes(data, part)
    around = SubgraphSampler(graph).around(nodes, model.config.layers)
    return label_metrics(_predict(model, around), data.y[nodes])


def most_suspect(folder: Path, data: DGraphFin, top: int) -> list[dict[str, Any]]:
    """The test nodes, whose labels training was not told, that look most like frauds; numbers and logits."""
    model, _ = open_gearsage(folder)
    around = SubgraphSampler(build_graph(data.stream, data.y, model.config.delta)).around(
        data.test, model.config.layers
    )
    best = torch.from_numpy(_predict(model, around)).topk(min(top, len(data.test)))
    return [
        {"node": int(data.test[place]), "score": score}
        for score, place in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    ]


def label_metrics(scores: npt.NDArray[np.floating], y: npt.NDArray[np.int64]) -> dict[str, float]:
    """ROC-AUC and average precision of one score a labelled node, class 1 being what is looked for."""
    from sklearn.metrics import average_precision_score, roc_auc_score  # a second to import: only when used

    return {"auc": float(roc_auc_score(y == 1, scores)), "ap": float(average_precision_score(y == 1, scores))}


def labelled_nodes(data: DGraphFin, part: Part) -> npt.NDArray[np.int64]:
    """The nodes of a part of the split; there have to be normal ones and frauds among them."""
    if part not in get_args(Part):
        raise unknown_name("part", part, get_args(Part))
    nodes: npt.NDArray[np.int64] = getattr(data, part)
    classes = np.unique(data.y[nodes]).tolist()
    if classes != [0, 1]:
        raise InputError(
            f"The {part} nodes of {data.stream.name} are of classes {classes}; they must be of 0 and 1, both."
        )
    return nodes


def _predict(model: GEARSage, around: Neighborhood) -> npt.NDArray[np.float32]:
    """The scores of the nodes a neighbourhood was cut for, in their order."""
    scores: npt.NDArray[np.float32] = (
        model.predict(around.graph.to(model.device), around.within).cpu()[around.position].numpy()
    )
    return scores


def _fit(
    model: GEARSage,
    graph: ContactGraph,
    data: DGraphFin,
    config: GEARSageFit,
    run: RunFolder,
    watchers: Sequence[Watcher],
) -> list[EpochReport]:
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr)
    history = run.resume(model, optimizer, lambda: 1)
    best, since_best = standing(run.folder, history, "auc")
    sampler, valid = SubgraphSampler(graph), labelled_nodes(data, "valid")
    around_valid = sampler.around(valid, model.config.layers)
    reports: list[EpochReport] = []
    for epoch in range(len(history) + 1, config.epochs + 1):
        if since_best >= config.patience:
            break
        started = time.perf_counter()
        loss = _step(model, optimizer, sampler, data, config, epoch)
        for watcher in watchers:
            watcher.batch(epoch, 1, 1, loss)
        trained = time.perf_counter()
        val: dict[str, float] = {}
        if epoch % config.validate_every == 0 or epoch == config.epochs:
            val = label_metrics(_predict(model, around_valid), data.y[valid])
        better = bool(val) and val["auc"] >= best  # the later of equals, as GEARSage does
        report = EpochReport(epoch, loss, val, trained - started, time.perf_counter() - trained, better)
        best, since_best = (val["auc"], 0) if better else (best, since_best + 1)
        run.save_epoch(model, optimizer, report)
        reports.append(report)
        for watcher in watchers:
            watcher.epoch(report)
    return reports


def _step(
    model: GEARSage,
    optimizer: torch.optim.Optimizer,
    sampler: SubgraphSampler,
    data: DGraphFin,
    config: GEARSageFit,
    epoch: int,
) -> float:
    rng = np.random.default_rng([config.seed, epoch])
    torch.manual_seed(np.random.SeedSequence([config.seed, epoch]).generate_state(1)[0].item())
    nodes = labelled_nodes(data, "train")
    frauds, normal = nodes[data.y[nodes] == 1], nodes[data.y[nodes] == 0]
    drawn = rng.choice(normal, min(len(frauds), len(normal)), replace=False)
    seeds = np.concatenate((frauds, drawn))
    around = sampler.around(seeds, model.config.layers)
    model.train()
    log_probability = model(around.graph.to(model.device))[around.position.to(model.device)]
    loss = functional.nll_loss(log_probability, torch.from_numpy(data.y[seeds]).to(model.device))
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(model.parameters(), config.clip)
    optimizer.step()
    if not math.isfinite(loss.item()):
        raise KeatError(f"The loss became {loss.item()} in epoch {epoch}; lower lr.")
    return loss.item()
