from __future__ import annotations

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from keat.errors import UnknownNameError
from keat.ops import angle
from keat.time_encoding import (
    TIME_ENCODERS,
    Cosine,
    LeTE,
    TimeEncoder,
    create_time_encoder,
    geometric_frequencies,
)

COSINES = ["cosine", "cosine-geometric", "fixed"]


def encode(encoder: TimeEncoder, age: Tensor) -> Tensor:
    with torch.no_grad():
        encoded: Tensor = encoder(age)
    return encoded


def exact_cosine(encoder: Cosine, age: int) -> Tensor:
    """cos(wΔ + b) with 50 digits, for the float32 w and b the encoder holds."""
    with mpmath.workdps(50):
        pairs = zip(encoder.frequency.tolist(), encoder.offset.tolist(), strict=True)
        return torch.tensor([float(mpmath.cos(mpmath.mpf(w) * age + mpmath.mpf(b))) for w, b in pairs])


def trainable(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters() if p.requires_grad)


@pytest.mark.parametrize(
    ("name", "count", "total"),
    [
        ("cosine", 200, 200),
        ("cosine-geometric", 200, 200),
        ("fixed", 0, 200),
        ("lete-fourier", 100_300, 100_300),
        ("lete-spline", 90_200, 90_200),
        ("lete", 48_050, 48_050),
    ],
)
def test_parameter_counts_of_the_paper(name: str, count: int, total: int) -> None:
    encoder = create_time_encoder(name, 100)
    assert trainable(encoder) == count
    assert sum(p.numel() for p in encoder.parameters()) == total


@pytest.mark.parametrize("name", TIME_ENCODERS)
def test_shape_dtype_and_finite_even_for_long_ages(name: str) -> None:
    encoder = create_time_encoder(name, 10)
    encoded = encode(encoder, torch.tensor([[0, 1, 10**5], [10**9, 10**15, -7]]))
    assert encoded.shape == (2, 3, 10)
    assert encoded.dtype == torch.float32
    assert encoded.isfinite().all()
    assert encode(encoder, torch.empty(0, 4, dtype=torch.int64)).shape == (0, 4, 10)


@pytest.mark.parametrize("name", TIME_ENCODERS)
def test_ages_are_encoded_one_by_one(name: str) -> None:
    encoder = create_time_encoder(name, 30)
    age = torch.randint(0, 10**7, (9000,))  # more than one block
    one_by_one = torch.cat([encode(encoder, age[i : i + 1]) for i in (0, 3333, 8999)])
    torch.testing.assert_close(encode(encoder, age)[[0, 3333, 8999]], one_by_one)


@pytest.mark.parametrize("name", COSINES)
@pytest.mark.parametrize("age", [0, 1, 86_400, 2_600_000, 10**8, 10**9])
def test_exact_phase_is_exact_for_long_ages(name: str, age: int) -> None:
    encoder = create_time_encoder(name, 100)
    assert isinstance(encoder, Cosine)
    error = (encode(encoder, torch.tensor(age)) - exact_cosine(encoder, age)).abs().max()
    assert error < 2e-6


def test_legacy_phase_is_noise_for_long_ages() -> None:
    torch.manual_seed(0)
    encoder = Cosine(100, precision="legacy")
    errors = {
        age: (encode(encoder, torch.tensor(age)) - exact_cosine(encoder, age)).abs() for age in (10**3, 10**9)
    }
    assert errors[10**3].max() < 1e-3
    assert errors[10**9].median() > 0.1


def test_legacy_equals_the_reference() -> None:
    reference = pytest.importorskip("torch_geometric.nn.models.tgn").TimeEncoder(100)
    encoder = Cosine(100, precision="legacy")
    encoder.load_state_dict(reference.state_dict())
    age = torch.randint(0, 10**7, (500,))
    assert torch.equal(encode(encoder, age), reference(age.float()))


def test_exact_and_legacy_agree_with_gradients_where_legacy_is_accurate() -> None:
    exact, legacy = Cosine(50), Cosine(50, precision="legacy")
    legacy.load_state_dict(exact.state_dict())
    age, grad = torch.randint(0, 300, (40, 7)), torch.randn(40, 7, 50)
    for encoder in (exact, legacy):
        encoder(age).backward(grad)
    torch.testing.assert_close(encode(exact, age), encode(legacy, age), rtol=0, atol=1e-4)
    # A phase of up to 300 in float32 is off by 2e-5; times ages of up to 300 over the root of 280 terms.
    for name in ("weight", "bias"):
        torch.testing.assert_close(
            getattr(exact.lin, name).grad, getattr(legacy.lin, name).grad, rtol=1e-4, atol=0.1
        )


def test_gradients_of_the_phase() -> None:
    age = torch.randint(0, 50, (6, 2))
    frequency = torch.rand(5, dtype=torch.float64, requires_grad=True)
    offset = torch.rand(5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda w, b: angle(age, w, b).cos(), (frequency, offset))


def test_gradient_for_long_ages_follows_the_analytic_one() -> None:
    encoder, age = Cosine(20), 10**9
    encoder(torch.tensor([age])).sum().backward()
    with mpmath.workdps(50):
        slope = [
            float(-mpmath.sin(mpmath.mpf(w) * age + mpmath.mpf(b)) * age)
            for w, b in zip(encoder.frequency.tolist(), encoder.offset.tolist(), strict=True)
        ]
    assert encoder.lin.weight.grad is not None
    torch.testing.assert_close(encoder.lin.weight.grad.squeeze(1), torch.tensor(slope), rtol=1e-5, atol=2e3)


def test_initial_frequencies() -> None:
    torch.manual_seed(0)
    learned = Cosine(10_000)
    assert -1 <= learned.frequency.min() < -0.99
    assert 0.99 < learned.offset.max() <= 1
    fixed = create_time_encoder("fixed", 100)
    assert isinstance(fixed, Cosine)
    np.testing.assert_allclose(fixed.frequency.numpy(), 10.0 ** -np.linspace(0, 9, 100), rtol=1e-5)
    assert (fixed.offset == 0).all()


@pytest.mark.parametrize("name", COSINES)
def test_angle_addition_gives_the_encoding_of_a_later_moment(name: str) -> None:
    encoder = create_time_encoder(name, 100)
    assert isinstance(encoder, Cosine)
    age, delay = torch.randint(0, 10**9, (50,)), torch.randint(0, 10**6, (50,))
    with torch.no_grad():
        (cosine, sine), (turn_cosine, turn_sine) = encoder.quadrature(age), encoder.rotation(delay)
    torch.testing.assert_close(
        cosine * turn_cosine - sine * turn_sine, encode(encoder, age + delay), rtol=0, atol=3e-6
    )


def test_lete_fourier_formula() -> None:
    encoder = create_time_encoder("lete-fourier", 6).double()
    part, age = encoder.get_submodule("parts.0"), 37
    state = {name: value.numpy() for name, value in part.state_dict().items()}
    y = state["frequency"] * age + state["offset"]
    cosines, sines = state["coefficient"].reshape(6, 2, 6, 5).transpose(1, 0, 2, 3)
    expected = state["constant"].copy()
    for out in range(6):
        for i in range(6):
            for k in range(1, 6):
                expected[out] += cosines[out, i, k - 1] * np.cos(k * y[i])
                expected[out] += sines[out, i, k - 1] * np.sin(k * y[i])
    np.testing.assert_allclose(encode(encoder, torch.tensor(age)).numpy(), expected, rtol=1e-9)


def cox_de_boor(y: float, knots: list[float], m: int, degree: int) -> float:
    """The textbook recursion for the m-th B-spline."""
    if degree == 0:
        return float(knots[m] <= y < knots[m + 1])
    left = (y - knots[m]) / (knots[m + degree] - knots[m])
    right = (knots[m + degree + 1] - y) / (knots[m + degree + 1] - knots[m + 1])
    return left * cox_de_boor(y, knots, m, degree - 1) + right * cox_de_boor(y, knots, m + 1, degree - 1)


def test_lete_spline_formula() -> None:
    encoder = create_time_encoder("lete-spline", 4).double()
    part = encoder.get_submodule("parts.0")
    with torch.no_grad():
        part.get_parameter("frequency").copy_(torch.tensor([0.03, -0.02, 0.01, 0.5]))
        part.get_parameter("offset").copy_(torch.tensor([-0.9, 0.8, 0.1, 0.0]))
    state = {name: value.numpy() for name, value in part.state_dict().items()}
    knots = [-1 + 0.4 * i for i in range(-3, 9)]
    for age in (0, 13, 60, 10_000):
        y = state["frequency"] * age + state["offset"]
        bumps = np.array([[cox_de_boor(value, knots, m, 3) for m in range(8)] for value in y])
        expected = state["base"] @ np.tanh(y) + state["coefficient"] @ bumps.reshape(-1)
        np.testing.assert_allclose(
            encode(encoder, torch.tensor(age)).numpy(), expected, rtol=1e-9, atol=1e-12
        )


def test_lete_with_both_parts_is_normalized() -> None:
    encoded = encode(LeTE(40), torch.randint(0, 10**6, (20,)))
    torch.testing.assert_close(encoded.mean(-1), torch.zeros(20), rtol=0, atol=1e-5)
    torch.testing.assert_close(encoded.var(-1, unbiased=False), torch.ones(20), rtol=0, atol=1e-2)


@pytest.mark.parametrize("name", TIME_ENCODERS)
def test_every_trainable_parameter_gets_a_gradient(name: str) -> None:
    encoder = create_time_encoder(name, 12)
    encoded: Tensor = encoder(torch.arange(40))
    for parameter in encoder.parameters():
        if parameter.requires_grad:
            (gradient,) = torch.autograd.grad(encoded.pow(3).sum(), parameter, retain_graph=True)
            assert gradient.isfinite().all()
            assert gradient.abs().sum() > 0


def test_frequencies_are_decades() -> None:
    torch.testing.assert_close(geometric_frequencies(10), torch.tensor([10.0**-i for i in range(10)]))


def test_unknown_names() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'cosine'"):
        create_time_encoder("cosin", 8)
    with pytest.raises(UnknownNameError, match="exact, legacy"):
        create_time_encoder("fixed", 8, "float16")  # type: ignore[arg-type]
