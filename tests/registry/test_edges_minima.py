"""Minimal risks of users' kernels with kinks or without a scale, against closed forms in normal integrals (mpmath).

Spiked task, weights of each score alone: S = E f(m (x + s)) and Q = E f(m (x + s))^2 + (L - 1) E f(m x)^2 with
s = sqrt(nu); the risk at the best v is 1 - S^2/Q. For pieces of lines both are sums of the normal law's functions.
"""

import pytest
import sympy
from mpmath import mp

import theorem_engine as te

t = sympy.Symbol("t")
NU = 3


def moments_of_clip(m, s, low, high):
    """First and second mean of m (x + s) cut at ``low`` and ``high``."""
    a, b = low / m - s, high / m - s
    inside = mp.ncdf(b) - mp.ncdf(a)
    first = s * inside + mp.npdf(a) - mp.npdf(b)
    second = (1 + s**2) * inside + (a + 2 * s) * mp.npdf(a) - (b + 2 * s) * mp.npdf(b)
    below, above = mp.ncdf(a), mp.ncdf(-b)
    return m * first + low * below + high * above, m**2 * second + low**2 * below + high**2 * above


def risk_of_clip(m, L, low, high):
    """1 - S^2/Q."""
    S, own = moments_of_clip(m, mp.sqrt(NU), low, high)
    return 1 - S**2 / (own + (L - 1) * moments_of_clip(m, mp.zero, low, high)[1])


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 1)])
def test_a_clipped_kernel_has_the_least_risk_of_all_slopes(low, high):
    kernel = te.ElementWise(sympy.Min(high, sympy.Max(low, t)), breaks=(low, high))
    found = te.predict("duranthon2026.minimal-risk", task="spiked", nu=NU, L=3, activation=kernel)
    with mp.workdps(30):
        ends = (mp.mpf(low), mp.mpf(high))
        place = mp.findroot(lambda m: mp.diff(lambda k: risk_of_clip(k, 3, *ends), m), found.outputs["m_kk"])
        truth = risk_of_clip(place, 3, *ends)
        # no other slope is better
        assert all(risk_of_clip(mp.mpf(10) ** (k / mp.mpf(4)), 3, *ends) >= truth for k in range(-12, 13))
        assert abs(found.outputs["risk"] - truth) <= found.errors["risk"] <= 1e-12
        assert abs(found.outputs["m_kk"] - place) <= found.errors["m_kk"] <= 1e-5


@pytest.mark.parametrize("L", [3, 100])
def test_a_kernel_without_a_scale_has_a_known_risk_and_any_slope(L):
    """The positive part, and a clipped one at so many tokens that small slopes are best: the limit is the same."""
    s = mp.sqrt(NU)
    S, own = s * mp.ncdf(s) + mp.npdf(s), (1 + s**2) * mp.ncdf(s) + s * mp.npdf(s)
    truth = 1 - S**2 / (own + (L - 1) / mp.mpf(2))
    kernels = [te.ElementWise(sympy.Max(0, t), breaks=(0,))]
    if L == 100:
        kernels.append(te.ElementWise(sympy.Min(1, sympy.Max(0, t)), breaks=(0, 1)))
    for kernel in kernels:
        found = te.predict("duranthon2026.minimal-risk", task="spiked", nu=NU, L=L, activation=kernel)
        assert abs(found.outputs["risk"] - truth) <= found.errors["risk"] <= 1e-12
        # which slope it is nobody knows
        assert found.errors["m_kk"] == mp.inf or not found.outputs["attained"]


@pytest.mark.parametrize("power", [1, 2, 3])
def test_powers_have_a_known_risk_at_any_slope(power):
    """E (x + s)^p and E (x + s)^(2p) by Gauss-Hermite quadrature, exact for polynomials."""
    nodes = mp.polyroots(list(reversed(_hermite(8))), maxsteps=200, extraprec=200)
    weights = [mp.factorial(8) / (64 * mp.polyval(list(reversed(_hermite(7))), x) ** 2) for x in nodes]
    s = mp.sqrt(NU)

    def mean(shift, p):
        return mp.fsum(w * (x + shift) ** p for x, w in zip(nodes, weights, strict=True))

    truth = 1 - mean(s, power) ** 2 / (mean(s, 2 * power) + 2 * mean(0, 2 * power))
    found = te.predict("duranthon2026.minimal-risk", task="spiked", nu=NU, L=3, activation=te.ElementWise(t**power))
    assert abs(found.outputs["risk"] - truth) <= found.errors["risk"] + 1e-13
    assert found.errors["risk"] <= 1e-12


def _hermite(n):
    """Coefficients of the Hermite polynomial He_n, the constant first."""
    rows = [[1], [0, 1]]
    for k in range(1, n):
        up, low = [0, *rows[k]], [*rows[k - 1], 0, 0]
        rows.append([a - k * b for a, b in zip(up, low, strict=True)])
    return rows[n]


def test_weights_that_vanish_at_equal_scores_are_searched_all_the_same():
    """The positive part, normalised: at slope zero there is no weight at all; it is the named one at any other."""
    named = te.predict("duranthon2026.minimal-risk", task="spiked", nu=NU, L=3, activation="relu")
    own = te.Normalised(sympy.Max(0, t), breaks=(0,))
    found = te.predict("duranthon2026.minimal-risk", task="spiked", nu=NU, L=3, activation=own)
    assert abs(found.value - named.value) <= found.error + named.error <= 1e-12
