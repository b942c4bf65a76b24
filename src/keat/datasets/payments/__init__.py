"""The embedded default dataset: simulated card payments (docs/understand/payments.md)."""

from keat.datasets.payments.errands import ERRANDS, simulate_errands
from keat.datasets.payments.simulate import (
    FEATURES,
    PaymentsTruth,
    simulate_payments,
    simulate_payments_with_truth,
)
from keat.datasets.payments.world import CATEGORIES, Cause, PaymentsConfig

__all__ = [
    "CATEGORIES",
    "ERRANDS",
    "FEATURES",
    "Cause",
    "PaymentsConfig",
    "PaymentsTruth",
    "simulate_errands",
    "simulate_payments",
    "simulate_payments_with_truth",
]
