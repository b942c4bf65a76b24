"""How evidence fades: the age at which ψ has halved, the formula, and when there is nothing to show."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from keat.kernels import KERNELS, create_kernel
from keat.report.sections.kernel_fading import fading_section, half_age, psi_of

SIGMA = 50.0
AGES = np.array([0] * 60 + [30] * 20 + [200] * 19 + [800])


@pytest.mark.parametrize(
    ("kernel", "width", "half"),
    [
        ("laplacian", 1.0, SIGMA * math.log(2)),
        ("laplacian", 0.001, 0.001 * SIGMA * math.log(2)),
        ("rbf", 2.0, 2 * SIGMA * math.sqrt(math.log(2))),
        ("laplacian", 100.0, None),  # after the oldest
        ("identity", 1.0, None),
    ],
)
def test_the_age_at_which_it_has_halved(kernel: str, width: float, half: float | None) -> None:
    found = half_age(create_kernel(kernel, SIGMA, width), 800.0)
    assert found == (half if half is None else pytest.approx(half, rel=1e-3))


@pytest.mark.parametrize(("kernel", "width"), [("identity", 1.0), ("laplacian", math.inf)])
def test_where_nothing_fades_there_is_no_section(kernel: str, width: float) -> None:
    assert fading_section(kernel, create_kernel(kernel, SIGMA, width), AGES, "day", "now") is None


def test_where_all_are_of_one_age_there_is_none_either() -> None:
    nothing = np.zeros(5, np.int64)
    assert fading_section("mlp", create_kernel("mlp", SIGMA), nothing, "day", "now") is None


def test_what_was_learned_is_told() -> None:
    learned = create_kernel("learnable", SIGMA)
    with torch.no_grad():
        learned.get_parameter("log_width").fill_(math.log(2.5))
    section = fading_section("learnable", learned, AGES, "day", "the end")
    assert section is not None
    (table,) = section.tables
    assert "ψ(Δ) = exp(−Δ / 2.5 σ)." in table.caption
    assert "σ is 50 days, and ψ has halved at 86.6 days." in table.caption
    assert "until the end" in section.hint
    psi = psi_of(learned, np.array([30, 200, 800]))
    assert table.rows == [
        ["half", "0", "1.0000"],  # a quarter and half of them are of age 0: told once
        ["three quarters", "30 days", f"{psi[0]:.4f}"],
        ["nine tenths", "200 days", f"{psi[1]:.4f}"],
        ["all", "2.19 years", f"{psi[2]:.4f}"],
    ]


def test_a_share_that_never_fades_is_in_the_formula() -> None:
    section = fading_section("gated", create_kernel("gated", SIGMA, 2.0), AGES, "day", "now")
    assert section is not None
    assert section.tables[0].caption.startswith("ψ(Δ) = 0.5 + 0.5 exp(−Δ / 2 σ). ")


@pytest.mark.parametrize("kernel", sorted(set(KERNELS) - {"identity"}))
def test_every_kernel_can_be_drawn(kernel: str) -> None:
    torch.manual_seed(1)
    section = fading_section(kernel, create_kernel(kernel, SIGMA), AGES, "day", "now")
    assert section is not None
    assert section.body.count("<polyline") == 1
    assert "nan" not in section.html()
