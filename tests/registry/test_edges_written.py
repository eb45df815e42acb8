"""Kernels that users write, at strong signals and with exponents that no computer has, against closed forms."""

import time

import pytest
import sympy
from mpmath import mp

import theorem_engine as te
from theorem_engine.base.errors import BadNumber, OutOfDomain

t = sympy.Symbol("t")


@pytest.mark.parametrize("L", [3, 100])
@pytest.mark.parametrize("nu", [1, 100, 10**6, 10**8])
@pytest.mark.parametrize("rate", [1, -2])
def test_exponential_weights_have_their_least_risk_where_a_closed_form_has_it(rate, nu, L):
    """S = e^(a s + a^2/2) and Q = e^(2 a s + 2 a^2) + (L - 1) e^(2 a^2) with a = rate m, s = sqrt(nu): all in one line.

    At strong signals the natural slope of order one is where e^(a s) overflows, or where the risk rests at one.
    """
    found = te.predict(
        "duranthon2026.minimal-risk", task="spiked", nu=nu, L=L, activation=te.ElementWise(sympy.exp(rate * t))
    )
    with mp.workdps(40):
        s = mp.sqrt(nu)

        def risk(a):
            return 1 - mp.exp(-(a**2)) / (1 + (L - 1) * mp.exp(-2 * a * s))

        # a e^(2 a s) = (L - 1) (s - a) at the minimum
        low, high = mp.mpf(10) ** -30, s
        for _ in range(200):
            middle = (low + high) / 2
            rises = mp.log(middle) + 2 * middle * s > mp.log((L - 1) * (s - middle))
            low, high = (low, middle) if rises else (middle, high)
        assert abs(found.outputs["risk"] - risk(low)) <= found.errors["risk"] <= 1e-12
        assert abs(found.outputs["m_kk"] - low / rate) <= found.errors["m_kk"] <= 1e-5 * low
        assert found.outputs["attained"]


@pytest.mark.parametrize(
    "kernel",
    [
        "Normalised(exp(exp(exp(exp(exp(x))))))",
        "Normalised(exp(x) + cosh(exp(exp(9*x + 9))))",
        "Normalised(1 + 2^exp(exp(exp(4*x))))",
    ],
)
def test_towers_of_exponentials_are_refused_before_they_are_computed(kernel):
    start = time.process_time()
    with pytest.raises((OutOfDomain, BadNumber), match=r"exponent|power"):
        te.predict("duranthon2026.manifold-risk", task="max", nu=2, L=3, activation=kernel, m_kk=1, m_vv=0.5)
    assert time.process_time() - start < 10
