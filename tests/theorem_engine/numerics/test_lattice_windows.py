"""Brackets on a lattice of many nodes: taken in parts, and given up where an integrand is no number."""

import numpy as np
import pytest
import sympy

import theorem_engine as te
from theorem_engine.base.errors import NotConverged
from theorem_engine.numerics.laplace import sums


def test_parts_give_what_the_whole_gives(monkeypatch):
    token = sums.LatticeToken(30.0, 0.5, -9.0, 9.0, lambda x: [x], [(0, 1), (1, 0)])
    u = np.arange(-4000, 4000) * (5 * sums.H)
    whole = token(u)
    monkeypatch.setattr(sums, "HELD", 50_000)
    parts = token(u)
    for name in ("survival", "complement"):
        assert np.allclose(getattr(parts, name), getattr(whole, name), rtol=1e-14, atol=1e-300)
    for ours, theirs in zip(parts.values, whole.values, strict=True):
        assert np.allclose(ours, theirs, rtol=1e-13, atol=1e-15)


def test_a_weight_that_is_no_number_is_given_up_at_once():
    """The root of a negative score: finer nodes would hold two gigabytes and be no number either."""
    kernel = te.ElementWise(sympy.sqrt(sympy.Symbol("t")))
    with pytest.raises(NotConverged):
        te.predict("duranthon2026.minimal-risk", task="max", nu=7.08, L=2, activation=kernel, delta=0.4)
