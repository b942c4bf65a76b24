"""KEAT in a PyTorch Geometric model of your own: one call, and the evidence of an edge fades with its age.

Run it anywhere: `python kernel_in_your_model.py`. It needs the extra: pip install 'keat[pyg]'.
"""

import torch
from torch import Tensor, nn
from torch_geometric.nn import TransformerConv

import keat
from keat.kernels import LearnableLaplacian


class Net(nn.Module):
    """Your model: it is told the features of edges, their times, and what time it is now."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = TransformerConv(8, 16, edge_dim=4)
        self.out = nn.Linear(16, 1)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, t: Tensor, now: int) -> Tensor:  # noqa: ARG002
        embedded: Tensor = self.attention(x, edge_index, edge_attr)
        answer: Tensor = self.out(embedded.relu())
        return answer.squeeze(-1)


def trained(net: Net) -> float:
    """The last error of a short training. Whoever received a large payment lately has the answer 1."""
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(150):
        optimizer.zero_grad()
        error = nn.functional.binary_cross_entropy_with_logits(net(x, edge_index, edge_attr, t, now), y)
        torch.autograd.backward(error)
        optimizer.step()
    return error.item()


# 200 accounts and 2,000 payments of thirty days. Only a large payment of the last two days matters.
torch.manual_seed(0)
now, day = 1_700_000_000, 86_400
x, edge_attr = torch.ones(200, 8), torch.randn(2_000, 4)
edge_index = torch.randint(200, (2, 2_000))
t = now - torch.randint(30 * day, (2_000,))
matters = (edge_attr[:, 0] > 0) & (now - t < 2 * day)
y = torch.zeros(200).index_fill(0, edge_index[1, matters], 1.0)

# The same model twice, from the same parameters: as it is, and with a kernel on the edges of its attention.
# `delta` says how the age of an edge follows from what the model is told.
torch.manual_seed(1)
plain = Net()
torch.manual_seed(1)
kernel = LearnableLaplacian(sigma=float(5 * day))
fading = keat.patch(Net(), kernel, delta=lambda now, t: now - t)
print(f"error without a kernel {trained(plain):.3f}, with one {trained(fading):.3f}")
width = float(kernel.log_width.detach().exp()) * 5
print(f"the kernel has learned to forget within {width:.1f} days")
