"""The GRU of node memory, written for what its input is: a message that begins with the state itself.

Where no gradient is wanted it is torch's own. For the gradient, which autograd takes in nine passes over
(n, 3M) numbers, everything between the matrix products is one loop.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from keat.ops.compiling import Floats, arrays, compiled, is_compilable

aten = torch.ops.aten


def update_with_message(
    gru: nn.GRUCell, before: Tensor, other: Tensor, features: Tensor, encoded: Tensor
) -> Tensor:
    """GRU([s ‖ other ‖ features ‖ φ], s) of states s (n, M); only φ of its inputs can have a gradient."""
    message = torch.cat((before, other, features, torch.empty_like(encoded)), dim=1)
    return update_with_messages(gru, message, encoded, encoded.new_ones(len(encoded), 1))


def update_with_messages(gru: nn.GRUCell, message: Tensor, encoded: Tensor, has_event: Tensor) -> Tensor:
    """The same for messages [s ‖ other ‖ features ‖ room for φ] that are written already; the room may be
    filled in.

    A node without one has ``has_event`` (n, 1) = 0 and a row of zeros, s = 0 included, and gets GRU(0, 0).
    """
    if not torch.is_grad_enabled():
        return update_plainly(gru, message, encoded, has_event)
    after: Tensor = _MessageGRU.apply(  # type: ignore[no-untyped-call]
        message, has_event, encoded, gru.weight_ih, gru.weight_hh, gru.bias_ih, gru.bias_hh
    )
    return after


def update_plainly(gru: nn.GRUCell, message: Tensor, encoded: Tensor, has_event: Tensor) -> Tensor:
    known, _ = torch.tensor_split(message, [message.shape[1] - encoded.shape[1]], dim=1)
    whole = torch.cat((known, encoded * has_event), dim=1)  # (n, x)
    before = message[:, : gru.hidden_size].contiguous()  # (n, M)
    return torch.gru_cell(whole, before, gru.weight_ih, gru.weight_hh, gru.bias_ih, gru.bias_hh)


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
        message: Tensor,  # (n, x)
        has_event: Tensor,  # (n, 1)
        encoded: Tensor,  # (n, T)
        weight: Tensor,  # (3M, x)
        hidden_weight: Tensor,  # (3M, M)
        bias: Tensor,
        hidden_bias: Tensor,
    ) -> Tensor:
        dim = hidden_weight.shape[1]
        before = message[:, :dim]
        with torch.autocast(message.device.type, enabled=False):
            torch.mul(encoded, has_event, out=message[:, message.shape[1] - encoded.shape[1] :])
            summed, summed_bias = weight.clone(), bias.clone()
            summed[: 2 * dim, :dim] += hidden_weight[: 2 * dim]
            summed_bias[: 2 * dim] += hidden_bias[: 2 * dim]
            gates = torch.addmm(summed_bias, message, summed.T)  # (n, 3M)
            reset, update = gates[:, : 2 * dim].sigmoid_().chunk(2, dim=1)
            hidden_new = torch.addmm(hidden_bias[2 * dim :], before, hidden_weight[2 * dim :].T)
            new = gates[:, 2 * dim :].copy_(torch.addcmul(gates[:, 2 * dim :], reset, hidden_new).tanh_())
        ctx.save_for_backward(message, has_event, weight, gates, hidden_new)
        ctx.encoded_dim = encoded.shape[1]
        return torch.lerp(new, before, update)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        message, has_event, weight, gates, hidden_new = ctx.saved_tensors
        dim = grad.shape[1]
        before = message[:, :dim]
        with torch.autocast(grad.device.type, enabled=False):
            grad_gates, grad_hidden_new = _gate_gradients(grad, message, gates, hidden_new)
            grad_weight, grad_bias = grad_gates.T @ message, grad_gates.sum(0)
            grad_hidden_weight = torch.cat((grad_weight[: 2 * dim, :dim], grad_hidden_new.T @ before))
            grad_hidden_bias = torch.cat((grad_bias[: 2 * dim], grad_hidden_new.sum(0)))
            wanted = ctx.needs_input_grad[2]
            grad_encoded = (grad_gates @ weight[:, -ctx.encoded_dim :]).mul_(has_event) if wanted else None
        return None, None, grad_encoded, grad_weight, grad_hidden_weight, grad_bias, grad_hidden_bias


def _gate_gradients(
    grad: Tensor, message: Tensor, gates: Tensor, hidden_new: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients (n, 3M) of what goes into r, z, n, and (n, M) of U_n s + c_n; ``gates`` are r, z, n."""
    if not is_compilable(grad):
        return _gate_gradients_plainly(grad, message, gates, hidden_new)
    grad_gates, grad_hidden_new = torch.empty_like(gates), torch.empty_like(hidden_new)
    known = arrays(grad.contiguous(), message, gates, hidden_new)
    _gate_gradients_compiled(*known, *arrays(grad_gates, grad_hidden_new))
    return grad_gates, grad_hidden_new


def _gate_gradients_plainly(
    grad: Tensor, message: Tensor, gates: Tensor, hidden_new: Tensor
) -> tuple[Tensor, Tensor]:
    before, (reset, update, new) = message[:, : grad.shape[1]], gates.chunk(3, dim=1)
    grad_new = aten.tanh_backward(grad - grad * update, new)
    grad_reset = aten.sigmoid_backward(grad_new * hidden_new, reset)
    grad_update = aten.sigmoid_backward(grad * (before - new), update)
    return torch.cat((grad_reset, grad_update, grad_new), dim=1), grad_new * reset


@compiled
def _gate_gradients_compiled(
    grad: Floats,
    message: Floats,
    gates: Floats,
    hidden_new: Floats,
    grad_gates: Floats,
    grad_hidden_new: Floats,
) -> None:
    """The same in one pass instead of nine."""
    one, dim = grad.dtype.type(1), grad.shape[1]
    for i in range(len(grad)):
        reset, update, new = gates[i, :dim], gates[i, dim : 2 * dim], gates[i, 2 * dim :]
        to_reset, to_update = grad_gates[i, :dim], grad_gates[i, dim : 2 * dim]
        to_new, to_hidden, after, before = grad_gates[i, 2 * dim :], grad_hidden_new[i], grad[i], message[i]
        for k in range(dim):
            slope = after[k] * (one - update[k]) * (one - new[k] * new[k])
            to_new[k] = slope
            to_hidden[k] = slope * reset[k]
            to_reset[k] = slope * hidden_new[i, k] * (reset[k] * (one - reset[k]))
            to_update[k] = after[k] * (before[k] - new[k]) * (update[k] * (one - update[k]))
