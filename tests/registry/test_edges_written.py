"""Kernels that users write, at strong signals and with exponents that no computer has, against closed forms."""

import time
from fractions import Fraction

import pytest
import sympy
from mpmath import mp

import theorem_engine as te
from theorem_engine.base.errors import BadNumber, NotConverged, OutOfDomain

t = sympy.Symbol("t")


@pytest.mark.parametrize(
    ("rate", "nu", "L"), [(1, 1, 3), (-2, 100, 100), (1, 10**6, 3), (-2, 10**6, 100), (-2, 10**8, 3)]
)
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


@pytest.mark.parametrize(("floor", "nu"), [(0, 10**4), (1, 10**4), (1, 10**6)])
def test_a_peak_that_a_strong_signal_meets_at_one_slope_is_found(floor, nu):
    """floor + 5 e^(-100 (x - 1)^2): its Gaussian means are closed forms; every slope of a fine grid is no better."""
    peak = floor + 5 * sympy.exp(-100 * (t - 1) ** 2)
    found = te.predict("duranthon2026.minimal-risk", task="spiked", nu=nu, L=3, activation=te.ElementWise(peak))
    with mp.workdps(40):

        def bump(height, rate, centre, width):
            """E height exp(-rate (centre + width x - 1)^2)."""
            spread = 1 + 2 * rate * width**2
            return height * mp.exp(-rate * (centre - 1) ** 2 / spread) / mp.sqrt(spread)

        def means(centre, width):
            once = bump(5, 100, centre, width)
            return floor + once, floor**2 + 2 * floor * once + bump(25, 200, centre, width)

        def risk(m):
            S, own = means(m * mp.sqrt(nu), m)
            return 1 - S**2 / (own + 2 * means(mp.zero, m)[1])

        ends = tuple(end / mp.sqrt(nu) for end in (mp.mpf("0.98"), mp.mpf("1.02")))
        place = mp.findroot(lambda m: mp.diff(risk, m), ends, solver="bisect", maxsteps=90, verify=False)
        grid = [sign * mp.mpf(10) ** (mp.mpf(k) / 200) for k in range(-800, 200) for sign in (1, -1)]
        assert min(risk(m) for m in grid) >= risk(place)
        assert abs(found.outputs["risk"] - risk(place)) <= found.errors["risk"] <= 1e-12
        assert abs(found.outputs["m_kk"] - place) <= found.errors["m_kk"]


@pytest.mark.parametrize(("unit", "nu"), [(1000, 1), (100, sympy.Rational(1, 100))])
def test_a_kernel_in_another_unit_has_its_minimum_there(unit, nu):
    """e^(x/unit) at m = unit nu is the posterior of two tokens, whose risk is one normal integral."""
    found = te.predict(
        "duranthon2026.minimal-risk", task="max", nu=nu, L=2, activation=te.Normalised(sympy.exp(t / unit))
    )
    with mp.workdps(25):
        bayes = mp.quad(lambda z: mp.sech(nu * z / mp.sqrt(2)) ** 2 * mp.npdf(z) / 2, mp.linspace(-12, 12, 25))
    assert abs(found.outputs["risk"] - bayes) <= found.errors["risk"] <= 1e-12
    assert abs(found.outputs["m_kk"] - unit * nu) <= found.errors["m_kk"]


def test_a_minimum_beyond_the_farthest_slope_is_refused():
    kernel = te.Normalised(sympy.exp(t / 10**6))
    with pytest.raises(NotConverged, match="ever faster"):
        te.predict("duranthon2026.minimal-risk", task="max", nu=1, L=2, activation=kernel)


def test_a_minimiser_that_rounding_hides_is_that_of_a_weak_signal_only_where_the_signal_is_weak():
    """Lengths 1 and 100: the stated risk is the one at the stated place, or that place is stated to be unknown."""
    letters = {"task": "max", "nu": "0.374", "L": {1: 0.5, 100: 0.5}}
    found = te.predict("duranthon2026.erf-risk", **letters)
    m, c = (mp.mpf(found.outputs[name]) for name in ("m_kk", "shift"))
    there = te.predict(
        "duranthon2026.manifold-risk", **letters, activation="erf", m_kk=str(m), shift=str(c),
        m_vv=str(found.outputs["m_vv"]),
    )  # fmt: skip
    is_unknown = found.errors["m_kk"] == mp.inf and not found.outputs["attained"]
    assert is_unknown or abs(there.value - found.value) <= there.error + found.error


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


@pytest.mark.parametrize("steep", [50, 1000])
@pytest.mark.parametrize("norm", ["1.0001", "1.00000001"])
def test_a_steep_kernel_and_a_short_key_are_softmax_and_a_long_one(steep, norm):
    """What is small beside k* is so in the unit in which scores move the weights: exp(s x) at k/s is softmax at k."""
    fixed = {"task": "max", "nu": 1, "L": 3, "m_vv": "0.5", "q_vv": 1, "m_kv": 0, "m_vk": 0, "q_kv": 0}
    plain = te.predict("duranthon2026.population-risk", activation="softmax", m_kk=1, q_kk=norm, **fixed)
    other = te.predict(
        "duranthon2026.population-risk", activation=f"Normalised(exp({steep}*x))",
        m_kk=Fraction(1, steep), q_kk=Fraction(norm) / steep**2, **fixed,
    )  # fmt: skip
    assert abs(plain.value - other.value) <= plain.error + other.error
