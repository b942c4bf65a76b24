"""The GRU of node memory, written for what its input is: a message that begins with the state itself."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

aten = torch.ops.aten


def update_with_message(
    gru: nn.GRUCell, before: Tensor, other: Tensor, features: Tensor, encoded: Tensor
) -> Tensor:
    """GRU([s ‖ other ‖ features ‖ φ], s) of states s (n, M); only φ of its inputs can have a gradient."""
    after: Tensor = _MessageGRU.apply(  # type: ignore[no-untyped-call]
        before, other, features, encoded, gru.weight_ih, gru.weight_hh, gru.bias_ih, gru.bias_hh
    )
    return after


def update_without_message(gru: nn.GRUCell, before: Tensor) -> Tensor:
    """GRU(0, s)."""
    sizes = [2 * gru.hidden_size, gru.hidden_size]
    gates, new = torch.split(gru.bias_ih, sizes)
    hidden_gates, hidden_new = torch.split(F.linear(before, gru.weight_hh, gru.bias_hh), sizes, dim=1)
    reset, update = torch.sigmoid(gates + hidden_gates).chunk(2, dim=1)
    return torch.lerp(torch.tanh(new + reset * hidden_new), before, update)


class _MessageGRU(torch.autograd.Function):
    """r, z = σ(W x + U s + b + c),  n = tanh(W_n x + b_n + r (U_n s + c_n)),  s′ = (1 - z) n + z s.

    x begins with s, so in r and z the first columns of W and U are added and multiplied with s once, and
    have one gradient. Columns of x that are data get none.
    """

    @staticmethod
    def forward(
        ctx: Any,
        before: Tensor,  # (n, M)
        other: Tensor,
        features: Tensor,
        encoded: Tensor,
        weight: Tensor,  # (3M, x)
        hidden_weight: Tensor,  # (3M, M)
        bias: Tensor,
        hidden_bias: Tensor,
    ) -> Tensor:
        dim = before.shape[1]
        with torch.autocast(before.device.type, enabled=False):
            message = torch.cat((before, other, features, encoded), dim=1)
            summed, summed_bias = weight.clone(), bias.clone()
            summed[: 2 * dim, :dim] += hidden_weight[: 2 * dim]
            summed_bias[: 2 * dim] += hidden_bias[: 2 * dim]
            gates = torch.addmm(summed_bias, message, summed.T)  # (n, 3M)
            reset, update = gates[:, : 2 * dim].sigmoid_().chunk(2, dim=1)
            hidden_new = torch.addmm(hidden_bias[2 * dim :], before, hidden_weight[2 * dim :].T)
            new = torch.addcmul(gates[:, 2 * dim :], reset, hidden_new).tanh_()
        ctx.save_for_backward(message, weight, gates, hidden_new, new)
        ctx.encoded_dim = encoded.shape[1]
        return torch.lerp(new, before, update)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        message, weight, gates, hidden_new, new = ctx.saved_tensors
        dim = grad.shape[1]
        before, (reset, update, _) = message[:, :dim], gates.chunk(3, dim=1)
        grad_gates = torch.empty_like(gates)
        grad_reset, grad_update, grad_new = grad_gates.chunk(3, dim=1)
        with torch.autocast(grad.device.type, enabled=False):
            aten.tanh_backward(grad - grad * update, new, grad_input=grad_new)
            aten.sigmoid_backward(grad_new * hidden_new, reset, grad_input=grad_reset)
            aten.sigmoid_backward(grad * (before - new), update, grad_input=grad_update)
            grad_hidden_new = grad_new * reset
            grad_weight, grad_bias = grad_gates.T @ message, grad_gates.sum(0)
            grad_hidden_weight = torch.cat((grad_weight[: 2 * dim, :dim], grad_hidden_new.T @ before))
            grad_hidden_bias = torch.cat((grad_bias[: 2 * dim], grad_hidden_new.sum(0)))
            wanted = ctx.needs_input_grad[3]
            grad_encoded = grad_gates @ weight[:, -ctx.encoded_dim :] if wanted else None
        return None, None, None, grad_encoded, grad_weight, grad_hidden_weight, grad_bias, grad_hidden_bias
