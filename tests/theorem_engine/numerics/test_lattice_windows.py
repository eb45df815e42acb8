"""Brackets on a lattice of many nodes: taken in parts, and given up where an integrand is no number."""

import numpy as np
import pytest
import sympy

import theorem_engine as te
from theorem_engine.base.errors import NotAvailable, NotConverged
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


@pytest.mark.parametrize("nu", ["1e36", "1e300"])
@pytest.mark.parametrize("m_kk", ["-0.5", "3"])
def test_scores_so_far_out_that_their_spread_is_lost_are_refused(nu, m_kk):
    """In double precision both ends of the bell are one number there, and none of its places a number of its own."""
    with pytest.raises(NotAvailable, match="too steep"):
        te.predict("duranthon2026.manifold-risk", task="spiked", nu=nu, L=13, m_kk=m_kk, m_vv=1, activation="softmax")


def test_a_bell_far_out_keeps_its_weight():
    """Up to where the lattice is exact the weights of the nodes add up to one."""
    token = sums.LatticeToken(0.7, 1e14, -9.0, 9.0, lambda x: [], [(0, 0)])
    assert abs(token.columns[0].sum() - 1) < 1e-15
    with pytest.raises(NotAvailable):
        sums.LatticeToken(0.7, 1e15, -9.0, 9.0, lambda x: [], [(0, 0)])
