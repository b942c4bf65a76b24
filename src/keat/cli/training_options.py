"""Options of `keat train`: what the model is and how it is taught."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keat.cli.options import at_least

_MODEL = "The model"
_FIT = "Training"
_NODES = "Node tasks"

Kernel = Annotated[
    str | None,
    typer.Option(
        help="ψ: identity, laplacian, rbf, mlp, learnable, mixture, monotone, gated.",
        rich_help_panel=_MODEL,
    ),
]
Width = Annotated[
    float | None,
    typer.Option(help="Of the kernel, in multiples of σ; inf for none.", rich_help_panel=_MODEL),
]
Delta = Annotated[
    str | None,
    typer.Option(
        help="Age of an event: 'neighbor' (released code) or 'query' (paper).", rich_help_panel=_MODEL
    ),
]
TimeEncoder = Annotated[
    str | None,
    typer.Option(
        help="φ: cosine, cosine-geometric, fixed, lete, lete-fourier, lete-spline.",
        rich_help_panel=_MODEL,
    ),
]
Modulate = Annotated[
    str | None, typer.Option(help="What ψ scales: edge, node, both or none.", rich_help_panel=_MODEL)
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other setting of the model, for example neighbors=20 or length=64; repeat for more.",
        rich_help_panel=_MODEL,
    ),
]
Messages = Annotated[
    str | None,
    typer.Option(
        help="What TGN's memory is told: v1, or v2 with who met whom; matters for node properties.",
        rich_help_panel=_MODEL,
    ),
]
PairTerm = Annotated[
    str | None,
    typer.Option(
        help="kernel: add what source and destination have been to each other to the score of TGN or "
        "TGAT; none: do not.",
        rich_help_panel=_MODEL,
    ),
]
Cooccurrence = Annotated[
    str | None,
    typer.Option(
        help="What DyGFormer is told of who occurs in both pasts: counts, kernel (sums that fade with "
        "age) or both.",
        rich_help_panel=_MODEL,
    ),
]
Encoder = Annotated[
    Path | None,
    typer.Option(
        help="A run of links whose model is used as it is; only a head is trained for the node task.",
        rich_help_panel=_NODES,
    ),
]
Counts = Annotated[
    bool,
    typer.Option(
        help="Whether labels of events are read from plain counts and recencies, too.",
        rich_help_panel=_NODES,
    ),
]
Loss = Annotated[
    str | None,
    typer.Option(
        help="pairwise (binary cross-entropy) or listwise (softmax over a positive and its negatives).",
        show_default="pairwise; keat-rank listwise",
        rich_help_panel=_FIT,
    ),
]
TrainNegatives = Annotated[
    int | None,
    typer.Option(
        callback=at_least(1),
        help="A positive is taught against.",
        show_default="1; keat-rank 50",
        rich_help_panel=_FIT,
    ),
]
Historical = Annotated[
    float | None,
    typer.Option(
        help="Share of them that are earlier destinations of the source.",
        show_default="0",
        rich_help_panel=_FIT,
    ),
]
Recipe = Annotated[
    str | None,
    typer.Option(
        help="sound, or tgb-parity with its second sigmoid.", show_default="sound", rich_help_panel=_FIT
    ),
]
Epochs = Annotated[
    int | None,
    typer.Option(
        callback=at_least(1),
        help="At most.",
        show_default="30; keat-rank 8; gearsage 500",
        rich_help_panel=_FIT,
    ),
]
Patience = Annotated[
    int | None,
    typer.Option(
        callback=at_least(1),
        help="Epochs without a better validation metric before stopping.",
        show_default="5; keat-rank 2; gearsage 500",
        rich_help_panel=_FIT,
    ),
]
BatchSize = Annotated[
    int | None,
    typer.Option(
        callback=at_least(1), help="Events between two updates.", show_default="200", rich_help_panel=_FIT
    ),
]
LearningRate = Annotated[
    float | None,
    typer.Option(
        help="Learning rate of Adam.",
        show_default="1e-4; keat-rank 1.5e-3; node tasks 1e-3",
        rich_help_panel=_FIT,
    ),
]
Clip = Annotated[float | None, typer.Option(help="Largest norm of the gradient.", rich_help_panel=_FIT)]
Seed = Annotated[
    int,
    typer.Option(callback=at_least(0), help="Of parameters, dropout and negatives.", rich_help_panel=_FIT),
]
Threads = Annotated[
    int | None, typer.Option(callback=at_least(1, 1024), help="CPU threads.", rich_help_panel=_FIT)
]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1 …", rich_help_panel=_FIT)]
Bf16 = Annotated[
    bool, typer.Option("--bf16", help="Train in bfloat16; scores stay float32.", rich_help_panel=_FIT)
]
