"""Machine code of recurrences: the paths are NumPy's, and few nodes are used only where they agree with many."""

import numpy as np
import pytest

import theorem_engine as te
from theorem_engine.backends.float64 import random_recurrence, recurrence

pytest.importorskip("numba")

PRODUCTS = {"kappa": "0.3", "nu": "0.2", "theta": "0.1", "eta": "-0.1", "rho": "0.15"}
CHAIN = {**PRODUCTS, "lam": "0.5", "schedule": "0.01", "gamma": "0.7", "d": 20, "L": 4, "eps": "0.1",
         "alpha": "0.01", "batch": 3, "steps": 45}  # fmt: skip
DESCENT = {**PRODUCTS, "gamma": "sqrt(1/2)", "d": 40, "L": 4, "alpha": "0.002", "steps": 3000}


def test_compiled_chains_follow_the_same_random_numbers(monkeypatch):
    query = {**CHAIN, "seed": range(3), "trajectory": 10, "errors": False}
    monkeypatch.setattr(random_recurrence, "WORTH_COMPILING", 0)
    quick = te.sweep("marion2025.stochastic-pgd", **query)
    monkeypatch.setattr(random_recurrence, "WORTH_COMPILING", float("inf"))
    slow = te.sweep("marion2025.stochastic-pgd", **query)
    assert list(quick.data_vars) == list(slow.data_vars)
    for name in slow.data_vars:
        assert np.allclose(quick[name], slow[name], rtol=0, atol=1e-12), name
    # three seeds, three paths
    assert np.unique(quick["kappa"]).size == 3


@pytest.mark.parametrize("lam", ["0.1", "2"])
def test_rules_of_few_nodes_leave_the_path_as_it_is(lam, monkeypatch):
    from theorem_engine.backends.float64 import jit

    monkeypatch.setattr(recurrence, "WORTH_COMPILING", 0)
    orders, plain = [], jit.Kernel._run

    def watched(self, *given):
        found = plain(self, *given)
        orders.append((given[-1], found[-1]))
        return found

    monkeypatch.setattr(jit.Kernel, "_run", watched)
    quick = te.predict("marion2025.pgd", lam=lam, **DESCENT).outputs
    assert orders[-1][0] < jit.ORDER
    assert orders[-1][1] <= jit.ALIKE
    monkeypatch.setattr(jit, "SMALLER", ())
    full = te.predict("marion2025.pgd", lam=lam, **DESCENT).outputs
    assert orders[-1][0] == jit.ORDER
    for name in PRODUCTS:
        assert abs(quick[name] - full[name]) <= 1e-12, name


def test_a_rule_that_is_off_on_the_way_gives_way_to_a_larger_one(monkeypatch):
    from theorem_engine.backends.float64 import jit

    monkeypatch.setattr(recurrence, "WORTH_COMPILING", 0)
    used, plain = [], jit.Kernel._run

    def watched(self, start, counts, parameters, spacing, order):
        used.append(order)
        *found, gap = plain(self, start, counts, parameters, spacing, order)
        # as if the smallest had been found out
        return (*found, gap if len(used) > 1 else 1e-9)

    monkeypatch.setattr(jit.Kernel, "_run", watched)
    te.predict("marion2025.pgd", lam="0.1", **DESCENT)
    assert len(used) == 2
    assert used[0] < used[1]
