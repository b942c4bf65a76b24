"""Payments that are either an errand or a habit: evidence that fades, and nothing beside it."""

from __future__ import annotations

from keat.datasets.payments.simulate import simulate_payments
from keat.datasets.payments.world import DAY, PaymentsConfig
from keat.events import EventStream

ERRANDS = PaymentsConfig(
    hint=1.0,
    hint_half_life=1.5 * DAY,
    look_back=(1,),  # the last basket announces the next errand, no earlier one does
    session_length=2.0,
    session_gap=DAY,  # a session's next payment comes while the hint counts, the next session after it
    bursts=0.0,
    stay=0.0,
    explore=0.0,
    taste_drift=0.0,
    newcomers=0.0,
)
MERCHANTS = 16  # two a category: a network learns what a hint means from tens of thousands of payments
PAYMENTS_A_CARD = 15


def simulate_errands(events: int = 30_000, *, seed: int = 0) -> EventStream:
    """Payments of `simulate_payments` under `ERRANDS`, none of them fraudulent: each follows the hint of the
    cardholder's last basket while that is fresh, and habit after. Same arguments, same bits."""
    cardholders = max(1, events // PAYMENTS_A_CARD)
    return simulate_payments(
        events, seed=seed, cardholders=cardholders, merchants=MERCHANTS, fraud=False, config=ERRANDS
    )
