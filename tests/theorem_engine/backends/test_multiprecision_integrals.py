"""Digits of integrals over an interval against closed forms."""

import pytest
from flint import ctx
from mpmath import mp
from sympy import Integral, Rational, cos, exp, log, sin, sqrt, symbols, tanh

from theorem_engine.backends.multiprecision import BACKEND
from theorem_engine.backends.multiprecision.gauss import ball_function, integrate_panels

x, a = symbols("x a", real=True)
CASES = {
    "a steep bell": (1 / (1 + a * x**2), "400", lambda: mp.atan(20) / 20),
    "a fast wave": (cos(100 * x), "1", lambda: mp.sin(100) / 100),
    "a fast square": (sin(50 * x) ** 2, "1", lambda: mp.mpf(1) / 2 - mp.sin(100) / 200),
    "a logarithm near its end": (log(x + a), "0.0001",
                                 lambda: (1 + e()) * mp.log(1 + e()) - e() * mp.log(e()) - 1),
    "a root at its end": (sqrt(x), "1", lambda: mp.mpf(2) / 3),
    "a steep step": (tanh(a * (x - Rational(1, 3))), "300",
                     lambda: (mp.log(mp.cosh(200)) - mp.log(mp.cosh(100))) / 300),
    "a tiny value": (exp(-a - x), "300", lambda: mp.exp(-300) - mp.exp(-301)),
    "a difference that nearly cancels": (x - Rational(1, 2) + a, "1e-12", lambda: mp.mpf("1e-12")),
}  # fmt: skip


def e():
    return mp.mpf("0.0001")


@pytest.mark.parametrize("digits", [20, 60])
@pytest.mark.parametrize("name", CASES)
def test_integrals_agree_with_closed_forms(name, digits):
    body, letter, exact = CASES[name]
    run = BACKEND.function([a], [Integral(body, (x, 0, 1))])
    with mp.workdps(digits):
        (found,) = run(mp.mpf(letter))
    with mp.workdps(digits + 20):
        # cancellation costs the digits between the integral and its integrand
        lost = 12 if "cancels" in name else 0
        assert abs(found - exact()) <= mp.mpf(10) ** (lost + 2 - digits) * abs(exact())


def test_panels_say_where_they_do_not_settle():
    """The slope of the root is infinite at its end, and no number of halvings cures that in time."""
    with mp.workdps(30):
        assert integrate_panels(ball_function([x], sqrt(x)), [], mp.zero, mp.one) is None
        assert integrate_panels(ball_function([x], exp(x)), [], mp.zero, mp.inf) is None
    assert ball_function([x, a], Integral(x * a, (a, 0, 1))) is None


def test_panels_leave_flints_precision_alone():
    before, run = ctx.prec, ball_function([x], exp(x))
    for digits in (15, 80):
        with mp.workdps(digits):
            assert abs(integrate_panels(run, [], mp.zero, mp.one) - mp.expm1(1)) < mp.mpf(10) ** (1 - digits)
    assert ctx.prec == before
