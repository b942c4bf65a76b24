from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
import torch
from torch import Tensor

from keat.errors import KeatError, UnknownNameError
from keat.kernels import KERNELS, MLP, Kernel, Mixture, create_kernel

SIGMA = 80_111.6
HEADS = 3
LEARNED_PER_HEAD = {"learnable", "mixture", "monotone", "gated"}
SUMS_OF_EXPONENTIALS = {"identity", "laplacian", "learnable", "mixture", "gated"}
AGES = torch.cat([torch.tensor([0, 1, 2]), torch.logspace(0.5, 10, 400, dtype=torch.float64).long()])
DOCS = Path(__file__).parents[1] / "docs" / "understand"


def randomized(name: str, seed: int = 0) -> Kernel:
    """The kernel with its parameters moved away from their start, as training would."""
    torch.manual_seed(seed)
    kernel = create_kernel(name, SIGMA, heads=HEADS)
    with torch.no_grad():
        for parameter in kernel.parameters():
            parameter.add_(torch.randn_like(parameter))
    return kernel


def evaluate(kernel: Kernel, age: Tensor) -> Tensor:
    with torch.no_grad():
        psi: Tensor = kernel(age)
    return psi


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("seed", range(4))
def test_each_kernel_keeps_its_guarantees(name: str, seed: int) -> None:
    kernel = randomized(name, seed) if seed else create_kernel(name, SIGMA, heads=HEADS)
    psi = evaluate(kernel, AGES)
    promised = kernel.guarantees
    assert psi.isfinite().all()
    assert psi.min() >= promised.lower - 1e-6
    assert psi.max() <= promised.upper + 1e-6
    if promised.decreasing:
        assert (psi.diff(dim=0) <= 1e-6).all()
    if promised.at_zero is not None:
        torch.testing.assert_close(psi[0], torch.full_like(psi[0], promised.at_zero), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", KERNELS)
def test_output_has_one_axis_more_and_float32(name: str) -> None:
    kernel = create_kernel(name, SIGMA, heads=HEADS)
    psi = evaluate(kernel, AGES[:12].view(3, 4))
    assert psi.shape == (3, 4, HEADS if name in LEARNED_PER_HEAD else 1)
    assert psi.dtype == torch.float32


@pytest.mark.parametrize("name", KERNELS)
def test_negative_ages_count_as_zero(name: str) -> None:
    kernel = randomized(name)
    torch.testing.assert_close(
        evaluate(kernel, torch.tensor([-(10**12), -1])), evaluate(kernel, torch.zeros(2))
    )


@pytest.mark.parametrize("name", KERNELS)
def test_every_parameter_gets_a_gradient(name: str) -> None:
    kernel = randomized(name)
    psi: Tensor = kernel(AGES)
    for parameter in kernel.parameters():
        (gradient,) = torch.autograd.grad(psi.square().sum(), parameter, retain_graph=True)
        assert gradient.isfinite().all()
        assert gradient.abs().sum() > 0


def test_formulas() -> None:
    age = torch.tensor([0, 40_000, 80_111, 400_000])
    x = age.double() / SIGMA
    torch.testing.assert_close(evaluate(create_kernel("laplacian", SIGMA), age)[:, 0].double(), torch.exp(-x))
    torch.testing.assert_close(
        evaluate(create_kernel("laplacian", SIGMA, width=2.0), age)[:, 0].double(), torch.exp(-x / 2)
    )
    torch.testing.assert_close(
        evaluate(create_kernel("rbf", SIGMA, width=0.5), age)[:, 0].double(), torch.exp(-((x / 0.5) ** 2))
    )
    torch.testing.assert_close(
        evaluate(create_kernel("gated", SIGMA, heads=2), age).double(),
        (0.5 + 0.5 * torch.exp(-x)).unsqueeze(1).expand(-1, 2),
    )
    mixture = sum(torch.exp(-x / width) / len(Mixture.ladder) for width in Mixture.ladder)
    assert isinstance(mixture, Tensor)
    torch.testing.assert_close(evaluate(create_kernel("mixture", SIGMA), age)[:, 0].double(), mixture)


def test_learnable_starts_as_the_laplacian_of_its_width() -> None:
    learnable = create_kernel("learnable", SIGMA, width=0.25, heads=HEADS)
    laplacian = create_kernel("laplacian", SIGMA, width=0.25)
    torch.testing.assert_close(evaluate(learnable, AGES), evaluate(laplacian, AGES).expand(-1, HEADS))


@pytest.mark.parametrize("name", ["identity", "laplacian", "rbf", "gated"])
def test_infinite_width_is_one_bit_for_bit(name: str) -> None:
    psi = evaluate(create_kernel(name, SIGMA, width=math.inf, heads=HEADS), AGES)
    assert torch.equal(psi, torch.ones_like(psi))


@pytest.mark.parametrize("bounded", [True, False])
def test_mlp_starts_at_nine_tenths(bounded: bool) -> None:
    psi = evaluate(MLP(SIGMA, bounded=bounded), torch.zeros(1))
    torch.testing.assert_close(psi, torch.full((1, 1), 0.9))


def test_unbounded_mlp_does_leave_the_unit_interval() -> None:
    assert any(evaluate(randomized("mlp-unbounded", seed), AGES).min() < 0 for seed in range(5))
    assert any(evaluate(randomized("mlp-unbounded", seed), AGES).max() > 1 for seed in range(5))


@pytest.mark.parametrize("name", KERNELS)
def test_sums_of_exponentials_reproduce_the_kernel_and_split(name: str) -> None:
    kernel = randomized(name)
    terms = kernel.exponentials()
    if name not in SUMS_OF_EXPONENTIALS:
        assert terms is None
        return
    assert terms is not None
    before, after = AGES[:200, None, None].double(), 12_345.0
    decay = torch.exp(-terms.rate * before) * torch.exp(-terms.rate * after)  # the two halves of ψ(a + b)
    psi = terms.constant + (terms.weight * decay).sum(-1)
    torch.testing.assert_close(psi.float(), evaluate(kernel, AGES[:200] + 12_345), rtol=1e-5, atol=1e-6)


def test_exponentials_carry_gradients() -> None:
    kernel = create_kernel("mixture", SIGMA, heads=2)
    terms = kernel.exponentials()
    assert terms is not None
    (terms.weight * torch.exp(-terms.rate * 50_000)).sum().backward()  # type: ignore[no-untyped-call]
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in kernel.parameters())


def test_sigma_travels_with_the_state() -> None:
    saved = create_kernel("laplacian", SIGMA).state_dict()
    other = create_kernel("laplacian", 1.0)
    other.load_state_dict(saved)
    assert float(other.sigma) == SIGMA


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, math.inf])
def test_sigma_must_be_positive_and_finite(sigma: float) -> None:
    with pytest.raises(KeatError, match="σ must be positive"):
        create_kernel("laplacian", sigma)


@pytest.mark.parametrize("width", [0.0, -2.0, math.nan])
def test_width_must_be_positive(width: float) -> None:
    with pytest.raises(KeatError, match="width must be positive"):
        create_kernel("rbf", SIGMA, width)


@pytest.mark.parametrize("name", ["mlp", "learnable", "mixture", "monotone"])
def test_learned_kernels_need_a_finite_width(name: str) -> None:
    with pytest.raises(KeatError, match="finite width"):
        create_kernel(name, SIGMA, math.inf)


def test_unknown_kernel_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'laplacian'"):
        create_kernel("laplace", SIGMA)


@pytest.mark.parametrize("page", ["kernels.md", "time_encodings.md"])
def test_documentation_snippets_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), scope)
