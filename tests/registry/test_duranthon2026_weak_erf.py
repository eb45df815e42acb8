"""Erf attention at weak signals, against the minimum of the risk by mpmath alone.

Nothing here is the engine's: squares of erf through Owen's integral, the hidden score of the max task by sums over
Gauss-Hermite nodes of all tokens, the minimum by Newton's steps at seventy digits.
"""

import itertools
from functools import cache

import numpy as np
import pytest
import sympy
from mpmath import mp

import theorem_engine as te
from theorem_engine.backends import get_backend
from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.functions import UpTo

NODES = 14


def _square(shift, variance):
    """E (1 + erf(shift + sqrt(variance) G))^2."""
    h, end = mp.sqrt(2) * shift / mp.sqrt(1 + 2 * variance), 1 / mp.sqrt(1 + 4 * variance)
    owen = mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, end]) / (2 * mp.pi)
    return 4 * (mp.ncdf(h) - 2 * owen)


@cache
def _nodes():
    """Places and weights of the standard normal law, polished from those of NumPy."""
    found = []
    for start in np.polynomial.hermite_e.hermegauss(NODES)[0]:
        place = mp.mpf(float(start))
        for _ in range(5):
            before, now = mp.one, place
            for k in range(1, NODES):
                before, now = now, place * now - k * before
            place -= now / (NODES * before)
        found.append((place, mp.factorial(NODES) / (NODES * before) ** 2))
    return found


def _hidden_density(nu, lengths):
    """Of the hidden score of the max task over the normal one, at the nodes: sums over the scores of all others."""
    kernels = [mp.exp(nu * x) for x, _ in _nodes()]
    density = [mp.zero] * NODES
    for number, share in lengths.items():
        for others in itertools.combinations_with_replacement(range(NODES), number - 1):
            ways = mp.factorial(number - 1) / mp.fprod(mp.factorial(others.count(j)) for j in set(others))
            weight = ways * mp.fprod(_nodes()[j][1] for j in others)
            rest = mp.fsum(kernels[j] for j in others)
            density = [d + share * weight * number * k / (k + rest) for d, k in zip(density, kernels, strict=True)]
    return density


def _risk(task, nu, lengths):
    """Risk and best value weight at a slope and a shift."""
    mean_length = mp.fsum(share * number for number, share in lengths.items())
    signal = mp.sqrt(nu)
    density = None if task == "spiked" else _hidden_density(nu, lengths)

    def risk(m, c):
        if task == "spiked":
            first = mp.erfc(-(c + m * signal) / mp.sqrt(1 + 2 * m * m))
            square = _square(c + m * signal, m * m) + (mean_length - 1) * _square(c, m * m)
        else:
            first = mp.fsum(d * w * mp.erfc(-c - m * x) for d, (x, w) in zip(density, _nodes(), strict=True))
            square = mean_length * _square(c, m * m)
        return 1 - first**2 / square, first / square

    return risk


def _minimum(risk, slope, shift):
    """Risk, slope, value weight and shift at the minimum that Newton's steps find from a place."""
    h, u = mp.mpf(10) ** -16, mp.mpf(slope)
    f = lambda a, b: risk(u * a, b)[0]  # noqa: E731
    a, b = mp.one, mp.mpf(shift)
    for _ in range(12):
        middle, right, left, up, down = f(a, b), f(a + h, b), f(a - h, b), f(a, b + h), f(a, b - h)
        cross = (f(a + h, b + h) - f(a + h, b - h) - f(a - h, b + h) + f(a - h, b - h)) / (4 * h * h)
        bend = mp.matrix([[(right - 2 * middle + left) / h**2, cross], [cross, (up - 2 * middle + down) / h**2]])
        step = mp.lu_solve(bend, mp.matrix([(right - left) / (2 * h), (up - down) / (2 * h)]))
        a, b = a - step[0], b - step[1]
        if abs(step[0]) + abs(step[1]) < mp.mpf(10) ** -16:
            assert bend[0, 0] > 0
            assert mp.det(bend) > 0
            value, weight = risk(u * a, b)
            return {"risk": value, "m_kk": u * a, "m_vv": weight, "shift": b}
    raise AssertionError("no minimum was found")


@pytest.mark.parametrize(
    ("task", "nu", "lengths"),
    [
        ("spiked", "1e-7", {10: 1}),
        ("spiked", "1e-5", {10: 1}),
        ("spiked", "9.9e-5", {2: 1}),
        ("spiked", "9.9e-5", {1: 0.75, 2: 0.25}),
        ("max", "1e-4", {3: 1}),
        ("max", "9.9e-3", {2: 1}),
        ("max", "9.9e-3", {1: 0.125, 3: 0.875}),
        ("max", "1e-3", {2: 0.5, 3: 0.5}),
    ],
)
def test_weak_signals_state_their_minimum_within_the_terms_left_out(task, nu, lengths):
    found = te.predict("duranthon2026.erf-risk", task=task, nu=nu, L=lengths if len(lengths) > 1 else min(lengths))
    with mp.workdps(70):
        truth = _minimum(_risk(task, mp.mpf(nu), lengths), found.outputs["m_kk"], found.outputs["shift"])
        for name, value in truth.items():
            assert abs(value - mp.mpf(found.outputs[name])) <= found.errors[name], name
            # and the errors are those of an expansion, not of ignorance
            assert found.errors[name] <= (1e-12 if name == "risk" else 0.01 * (1 + abs(value))), name
    assert found.outputs["attained"]


def test_a_sweep_through_the_border_of_weak_signals_states_the_same_numbers():
    """On either side of it, and in the numbers of single predictions."""
    values = ["9.9e-5", "1.01e-4"]
    rows = te.sweep("duranthon2026.erf-risk", task="spiked", nu=values, L=10)
    for nu, risk, error in zip(values, rows["risk"].values, rows["risk_error"].values, strict=True):
        alone = te.predict("duranthon2026.erf-risk", task="spiked", nu=nu, L=10)
        assert abs(float(alone.value) - risk) <= alone.error + error


def test_lengths_that_leave_no_best_shift_say_that_the_place_is_unknown():
    """Lengths 1 and 100, max task: the risk falls as the shift does, so there is no place, but there is a risk."""
    found = te.predict("duranthon2026.erf-risk", task="max", nu="1e-3", L={1: 0.5, 100: 0.5})
    assert not found.outputs["attained"]
    assert all(found.errors[name] == mp.inf for name in ("m_kk", "m_vv", "shift"))
    assert found.error < 1e-7


def test_more_digits_than_the_terms_left_out_allow_are_refused():
    with pytest.raises(NotAvailable, match="expansion"):
        te.predict("duranthon2026.erf-risk", task="spiked", nu="1e-6", L=3, digits=30)


def test_what_an_expansion_leaves_out_is_an_error_in_every_backend():
    x, left = sympy.symbols("x left", real=True)
    value = x * UpTo(2 * x, left)
    assert get_backend("float64").function([x, left], [value])(3.0, 0.5)[0] == 18.0
    from theorem_engine.backends.rounded.number import Rounded

    carried = get_backend("rounded").function([x, left], [value])(Rounded(3.0), Rounded(0.5))[0]
    assert 1.5 <= carried.error <= 1.5 + 1e-12
    exact = get_backend("multiprecision").function([x, left], [value])
    assert exact(mp.mpf(3), mp.zero)[0] == 18
    with pytest.raises(NotAvailable, match="expansion"):
        exact(mp.mpf(3), mp.mpf("0.5"))
    # how fast the rest changes is not known
    slope = get_backend("rounded").function([x, left], [UpTo(x, left**2).diff(left)])
    assert slope(Rounded(3.0), Rounded(0.5))[0].error > 1e200
