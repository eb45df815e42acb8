"""Special functions: one backend against the other, and against their definitions."""

import math

import numpy as np
import pytest
import sympy
from mpmath import mp

from theorem_engine.backends import get_backend
from theorem_engine.language.functions import SPECIAL, OwenT, erfcx, expm1, log1p, mills, normal_cdf, normal_pdf

x, a = sympy.symbols("x a")
EVERYWHERE = (-7.5, -2.0, -0.3, 0.0, 1e-9, 0.4, 2.2, 6.0)
POSITIVE = (1e-12, 0.01, 0.5, 3.0, 40.0)
CASES = [
    (sympy.erf(x), EVERYWHERE),
    (sympy.erfc(x), (*EVERYWHERE, 15.0, 25.0)),
    (erfcx(x), (-3.0, 0.0, 0.5, 5.0, 60.0, 1e4)),
    (normal_pdf(x), (*EVERYWHERE, 20.0, 37.0)),
    (normal_cdf(x), (*EVERYWHERE, -20.0, -37.0)),
    (mills(x), (-2.0, 0.0, 0.7, 8.0, 100.0, 1e5)),
    (expm1(x), EVERYWHERE),
    (log1p(x), POSITIVE),
    (sympy.LambertW(x), (-0.3, 0.0, 1e-8, 0.5, 10.0, 1e6)),
]


@pytest.mark.parametrize(("expression", "points"), CASES, ids=lambda c: str(c) if isinstance(c, sympy.Expr) else "")
def test_double_precision_agrees_with_mpmath(expression, points):
    """Relative 1e-13, and in the tails the x^2 units that rounding the argument alone costs."""
    quick = get_backend("float64").function([x], [expression])
    slow = get_backend("multiprecision").function([x], [expression])
    for point in points:
        with mp.workdps(40):
            exact = slow(mp.mpf(point))[0]
            allowed = max(1e-13, 4e-16 * point**2)
            assert abs(mp.mpf(float(quick(point)[0])) - exact) <= allowed * abs(exact) + mp.mpf(10) ** -320


@pytest.mark.parametrize(("h", "slope"), [(0.0, 0.5), (0.3, 1.0), (-1.2, 0.7), (2.5, -0.4), (4.0, 3.0), (0.1, 20.0)])
def test_owens_t_agrees_between_backends_and_with_its_integral(h, slope):
    quick = float(get_backend("float64").function([x, a], [OwenT(x, a)])(h, slope)[0])
    slow = get_backend("multiprecision")
    with mp.workdps(30):
        exact = slow.function([x, a], [OwenT(x, a)])(mp.mpf(h), mp.mpf(slope))[0]
        defined = slow.function([x, a], [OwenT(x, a).definition()])(mp.mpf(h), mp.mpf(slope))[0]
        assert abs(exact - defined) < mp.mpf(10) ** -28
        assert abs(quick - exact) < mp.mpf(10) ** -15


@pytest.mark.parametrize("function", [f for f in SPECIAL if f is not OwenT], ids=lambda f: f.__name__)
def test_functions_equal_their_definitions(function):
    slow = get_backend("multiprecision").function([x], [function(x), function(x).definition()])
    with mp.workdps(30):
        for point in ("-1.3", "0.2", "2.7"):
            value, defined = slow(mp.mpf(point))
            assert abs(value - defined) < mp.mpf(10) ** -27 * (1 + abs(value))


@pytest.mark.parametrize("function", SPECIAL, ids=lambda f: f.__name__)
def test_derivatives_are_derivatives(function):
    call = function(x, a) if function is OwenT else function(x)
    for letter in call.free_symbols:
        both = get_backend("multiprecision").function([x, a], [call, call.diff(letter)])
        with mp.workdps(40):
            here = {x: mp.mpf("0.7"), a: mp.mpf("0.4")}
            step = mp.mpf(10) ** -13
            up, down = ({**here, letter: here[letter] + sign * step} for sign in (1, -1))
            numeric = (both(up[x], up[a])[0] - both(down[x], down[a])[0]) / (2 * step)
            assert abs(numeric - both(here[x], here[a])[1]) < mp.mpf(10) ** -22


def test_arrays_pass_through_as_arrays():
    values = np.linspace(-3, 3, 7)
    quick = get_backend("float64").function([x], [normal_cdf(x), mills(x)])
    assert all(r.shape == (7,) for r in quick(values))


def test_numbers_too_long_for_numpy_are_doubles_or_infinite():
    letter = sympy.Symbol("x")
    long = sympy.Integer(10) ** 400
    bodies = [sympy.sqrt(letter + 10**40), long * letter, -long * letter, (long + 1) / (long / 8 + 3) * letter]
    with np.errstate(all="ignore"):
        found = get_backend("float64").function([letter], bodies)(2.0)
    assert found == pytest.approx([1e20, math.inf, -math.inf, 16.0])
