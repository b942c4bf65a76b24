"""The score of a pair as a small program: arrays from which a page can compute any what-if exactly.

lin_src and lin_dst are linear in the embeddings, so each past event adds to the predictor's hidden layer

    Σ_h α_h (ψ_node·node_value_h + ψ_edge·(time_value_h + message_value_h)),

with α = softmax(ψ_node·node_logit + ψ_edge·(time_logit + message_logit)). Of these only ψ, time_logit and
time_value depend on the age, and none of them on which event it is: a table over the ages of the sweep holds
all that a slider needs.
"""

from __future__ import annotations

import base64
from typing import Any

import torch
from torch import Tensor, nn

from keat.analysis.what_if import Past
from keat.models.tgn import TGN


@torch.no_grad()
def pieces_of(model: TGN, source: Past, destination: Past, ages: Tensor, beside: float) -> dict[str, Any]:
    """Arrays of both ends, one row each, and the predictor's last layer, ready for JSON; the numbers of the
    events, since an event between the two is in both. ``beside`` is a part of the score that no age changes.
    """
    predictor = model.predictor
    ends = ((source, predictor.lin_src), (destination, predictor.lin_dst))
    return {
        "modulate": model.attention.modulate,
        "heads": model.attention.heads,
        "dim": predictor.lin_final.in_features,
        "ages": ages.tolist(),
        "weight": encode(predictor.lin_final.weight[0]),
        "bias": float(predictor.lin_final.bias[0]) + beside,
        "ends": [
            {name: encode(tensor) for name, tensor in _end(model, past, linear, ages).items()}
            for past, linear in ends
        ],
        "events": [past.hood.event[past.mask].tolist() for past in (source, destination)],
    }


def _end(model: TGN, past: Past, projection: nn.Linear, ages: Tensor) -> dict[str, Tensor]:
    """Arrays of an end: of its n events, (n, H) and (n, H, d), and over G ages, (G, H) and (G, H, d)."""
    attention, hood = model.attention, past.hood
    count, heads, time_dim = int(past.mask.sum()), attention.heads, model.time_encoder.dim
    probe = attention.probe(past.seeds)  # (1, H, ·)
    of_time, of_message = torch.tensor_split(probe.edge[0], [time_dim], dim=1)
    by_head = projection.weight.view(len(projection.weight), heads, -1)  # (d, H, C)
    edge_value = attention.lin_edge_value or attention.lin_edge

    def value(features: Tensor, linear: nn.Linear, columns: slice) -> Tensor:
        """Features (m, ·) through a head's value matrix and the projection: (m, H, d)."""
        size = len(linear.weight) // heads, features.shape[1]  # said in full: there may be no features
        matrix = linear.weight[:, columns].view(heads, *size)  # (H, C, ·)
        return torch.einsum("dhc,hcf,mf->mhd", by_head, matrix, features)

    x = hood.x[hood.row[0, :count]]
    message = hood.message[hood.event[0, :count]]
    bias = torch.einsum("dhc,hc->hd", by_head, attention.lin_value.bias.view(heads, -1))
    phi_age, psi_age, swept = (
        model.clock.ages(age) for age in (past.phi_age[0, :count], past.psi_age[0, :count], ages)
    )
    own_time, swept_time = (model.time_encoder(age) for age in (phi_age, swept))
    own_psi, swept_psi = (model.kernel(age).expand(-1, heads) for age in (psi_age, swept))
    return {
        "base": projection(attention.lin_skip(past.seeds))[0],
        "node_logit": x @ probe.node[0].T + probe.constant,
        "message_logit": message @ of_message.T,
        "time_logit": own_time @ of_time.T,
        "swept_time_logit": swept_time @ of_time.T,
        "node_value": value(x, attention.lin_value, slice(None)) + bias,
        "message_value": value(message, edge_value, slice(time_dim, None)),
        "time_value": value(own_time, edge_value, slice(time_dim)),
        "swept_time_value": value(swept_time, edge_value, slice(time_dim)),
        "psi": own_psi,
        "swept_psi": swept_psi,
    }


def encode(tensor: Tensor) -> str:
    """float32, little-endian, base64: exact, and a third of the size of decimals."""
    numbers = tensor.detach().to(torch.float32).contiguous().numpy()
    return base64.b64encode(numbers.astype("<f4").tobytes()).decode()
