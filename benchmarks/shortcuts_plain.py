"""One question as public code answers it: every candidate beside a copy of the source, each pair through the
embeddings and the decoder of the model by itself. Nothing is kept from question to question.

Where public code embeds the distinct nodes of a question once (TGB's loop for models with a memory), so does
the plain side; where it embeds both ends of every pair (DyGLib's, NAT's and TPNet's loops), so does it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from keat.models.cawn import CAWN
from keat.models.common_neighbors import KINDS, PARTS
from keat.models.contract import Queries
from keat.models.craft import CRAFT
from keat.models.jodie_model import JODIE
from keat.models.memory_model import MemoryModel
from keat.models.nat import NAT
from keat.models.node_time import NodeTimeModel
from keat.models.tcl import TCL
from keat.models.tncn import TNCN
from keat.models.tpnet import TPNet
from keat.state import as_tensor


@torch.no_grad()
def plainly(model: Any, queries: Queries) -> Tensor:
    """Scores (1, C) of one question."""
    for kind, answer in _ANSWERS.items():
        if isinstance(model, kind):
            return answer(model, queries)[None]
    raise TypeError(f"There is no plain way for {model.name}.")


def _pairs(queries: Queries) -> tuple[Any, Any, Any]:
    """Sources, candidates and times (C,) of all pairs of a question."""
    count = queries.shape[1]
    return queries.src.repeat(count), np.broadcast_to(queries.candidates, (count,)), queries.t.repeat(count)


def _memory(model: MemoryModel, queries: Queries) -> Tensor:
    z_u, z_v = _embedded(model, queries)
    predictor = model.predictor
    logits: Tensor = predictor.lin_final(torch.relu(predictor.lin_src(z_u) + predictor.lin_dst(z_v)))
    return logits[:, 0]


def _embedded(model: MemoryModel, queries: Queries) -> tuple[Tensor, Tensor]:
    """z (C, d) of sources and of candidates: each distinct node once, where the time does not matter."""
    src, dst, t = (as_tensor(np.ascontiguousarray(part)).long() for part in _pairs(queries))
    both = torch.cat((src, dst))
    if model.at_query:
        z = model.embed(both, torch.cat((t, t)))
    else:
        nodes, place = torch.unique(both, return_inverse=True)
        z = model.embed(nodes)[place]
    first, second = z.chunk(2)
    return first, second


def _tncn(model: TNCN, queries: Queries) -> Tensor:
    """All of x is written down for every pair."""
    z_u, z_v = _embedded(model, queries)
    mode, now = model.config.mode, int(queries.t[0])
    common = model.state.graph().common(queries.src, queries.candidates[None], far=mode == 2)
    kind, pair, node, source, candidate, onward, met, when = (as_tensor(part) for part in common)
    nodes, place = torch.unique(node, return_inverse=True)
    z = model.embed(nodes, torch.full_like(nodes, now)) if model.at_query else model.embed(nodes)
    weight = model._psi(now - source) * model._psi(now - candidate)
    weight = torch.where(kind == max(KINDS[2]), weight * model._psi(now - onward), weight)
    x = z_u.new_zeros(PARTS[mode], *z_u.shape)
    x[0] = z_u * z_v
    first = 1
    if mode != 1:
        x[1, met], x[2, met] = (model._psi(now - when)[:, None] * end[met] for end in (z_u, z_v))
        first = 3
    for each in KINDS[mode]:
        of_kind = kind == each
        terms = weight[of_kind, None] * z[place[of_kind]]
        x[first + each].index_add_(0, pair[of_kind], terms)
    hidden = torch.relu(model.predictor.lin_hidden(x.transpose(0, 1).flatten(1)))
    logits: Tensor = model.predictor.lin_final(hidden)
    return logits[:, 0]


def _jodie(model: JODIE, queries: Queries) -> Tensor:
    src, dst, t = (as_tensor(np.ascontiguousarray(part)).long() for part in _pairs(queries))
    ends = ((src, model.source_gaps), (dst, model.destination_gaps))
    z_u, z_v = (
        model.drifted(model.state.memory[nodes], model.state.last_update[nodes], t, gaps)
        for nodes, gaps in ends
    )
    logits: Tensor = model.decoder.fc2(torch.relu(model.decoder.fc1(torch.cat((z_u, z_v), dim=1))))
    return logits[:, 0]


def _node_time(model: NodeTimeModel, queries: Queries) -> Tensor:
    src, dst, t = _pairs(queries)
    logits: Tensor = model.decoder(model.embed(src, t), model.embed(dst, t))
    return logits[:, 0]


def _nat(model: NAT, queries: Queries) -> Tensor:
    src, dst, t = _pairs(queries)
    halves = model._halves(np.concatenate((src, dst)), np.concatenate((t, t)))
    return model._join(halves, *torch.arange(2 * len(t)).chunk(2))


def _cawn(model: CAWN, queries: Queries) -> Tensor:
    src, dst, t = _pairs(queries)
    walks = model.walks(np.concatenate((src, dst)), np.concatenate((t, t)))
    left, right = torch.arange(2 * len(t)).chunk(2)
    cross = torch.cat((model._cross(walks, left, right), model._cross(walks, right, left)))
    z_u, z_v = model._embed(walks, torch.cat((left, right)), cross).chunk(2)
    logits: Tensor = model.decoder(z_u, z_v)
    return logits[:, 0]


def _tcl(model: TCL, queries: Queries) -> Tensor:
    src, dst, t = _pairs(queries)
    nodes, times = np.concatenate((src, dst)), np.concatenate((t, t))
    tokens = model._tokens(nodes, times, model.state.before(nodes, times, model.config.neighbors))
    z = model.output(model.towers(*tokens, *torch.arange(2 * len(t)).chunk(2)))
    logits: Tensor = model.decoder(z[:, 0], z[:, 1])
    return logits[:, 0]


def _tpnet(model: TPNet, queries: Queries) -> Tensor:
    """All of F Fᵀ of every pair, and all of it through the first layer."""
    if model.encoder is not None:  # a pair at a time in the model, too
        return model.score(queries)[0]
    src, dst, t = _pairs(queries)
    walks, pair = model.walks, model.pair
    rows = torch.cat([walks._rows_now(np.ascontiguousarray(nodes)) for nodes in (src, dst)], dim=2)
    gram = rows @ rows.transpose(2, 3)  # (C, widths, 2K, 2K)
    faded = walks._faded_since_now(t).repeat(1, 1, 2, 2)
    if model.until_query:
        gram = gram * faded
    known = torch.log1p(gram.clamp(min=0)).flatten(1)
    logits: Tensor = model.decoder(
        known.new_empty(len(known), 0), pair.linear2(torch.relu(pair.linear1(known)))
    )
    return logits[:, 0]


def _craft(model: CRAFT, queries: Queries) -> Tensor:
    """The public code has the partners of a source once for all of its candidates, and so has this."""
    return model.score(Queries(queries.src, queries.t, queries.candidates[None].copy()))[0]


_ANSWERS: dict[type, Callable[[Any, Queries], Tensor]] = {
    TNCN: _tncn,  # before what it is a kind of
    MemoryModel: _memory,
    JODIE: _jodie,
    NodeTimeModel: _node_time,
    NAT: _nat,
    CAWN: _cawn,
    TCL: _tcl,
    TPNet: _tpnet,
    CRAFT: _craft,
}
