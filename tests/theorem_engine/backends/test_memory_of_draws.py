"""Memory of random recurrences: bounded before it is taken, and without effect on the numbers."""

import numpy as np
import pytest

import theorem_engine as te
from theorem_engine.backends.float64 import random_recurrence
from theorem_engine.base.errors import Infeasible, NotAvailable

ENTRY = "marion2025.stochastic-pgd"
POINT = {"kappa": "0.2", "nu": "0.1", "theta": 0, "eta": 0, "rho": 0, "lam": "0.1", "gamma": "0.7", "d": 50,
         "alpha": "0.05", "eps": 0, "batch": 2, "steps": 6}  # fmt: skip


@pytest.mark.parametrize(("length", "batch"), [(10**9, 1), (10**300, 1), (1000, 10_000)])
def test_more_tokens_than_fit_are_refused_with_the_limit(length, batch):
    with pytest.raises(Infeasible, match=rf"stochastic-pgd: L={length}, batch={batch}: .* 2097152"):
        te.predict(ENTRY, **{**POINT, "batch": batch}, L=length, seed=1)


def test_the_method_refuses_by_itself_too(monkeypatch):
    monkeypatch.setattr(random_recurrence, "MOST", 7)
    with pytest.raises(NotAvailable, match=r"stochastic-pgd: a batch of 8 tokens .* at most 7"):
        te.predict(ENTRY, **POINT, L=4, seed=1)


def test_runs_advanced_in_parts_are_the_same_runs(monkeypatch):
    """Twelve seeds at once, five at a time, and alone: a path depends on its own seed only."""
    together = te.sweep(ENTRY, errors=False, **POINT, L=4, seed=list(range(12)))["kappa"].values
    monkeypatch.setattr(random_recurrence, "DRAWN", 5 * (random_recurrence.BLOCK * 5 * 8 + 1))
    apart = te.sweep(ENTRY, errors=False, **POINT, L=4, seed=list(range(12)))["kappa"].values
    alone = [te.predict(ENTRY, **POINT, L=4, seed=seed).outputs["kappa"] for seed in (0, 7)]
    assert np.array_equal(together, apart)
    assert np.array_equal(together[[0, 7]], alone)
    assert len(set(together)) == 12


def test_long_sequences_draw_few_steps_at_once_and_stay_reproducible(monkeypatch):
    monkeypatch.setattr(random_recurrence, "DRAWN", 100)
    one, two = (te.predict(ENTRY, **POINT, L=4, seed=3).outputs["kappa"] for _ in range(2))
    assert one == two
    assert abs(one) <= 1
