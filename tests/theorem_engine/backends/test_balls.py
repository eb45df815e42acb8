"""Enclosures of closed forms, integrals and Gaussian means, against mpmath and against reference balls."""

import time
from fractions import Fraction

import pytest
import sympy
from flint import arb, ctx
from mpmath import mp
from sympy import Abs, Max, Piecewise, Rational, atan, erf, erfc, exp, log, sin, sqrt, tanh

import theorem_engine as te
from theorem_engine import GaussianMean
from theorem_engine.backends.balls import BACKEND
from theorem_engine.backends.balls.claims import Unproved, collecting
from theorem_engine.backends.balls.integration import enclose_integral
from theorem_engine.base.errors import NotAvailable
from theorem_engine.base.exact import read_number
from theorem_engine.language.functions import (
    SPECIAL,
    OwenT,
    erfcx,
    log_softplus,
    mills,
    normal_cdf,
    normal_pdf,
    positive_part,
    softplus,
)

x = sympy.Symbol("x", real=True)


def ball_of(expression, letters=(), values=(), bits=140):
    """The ball of an expression at rational values of its letters."""
    with ctx.workprec(bits):
        return BACKEND.function(list(letters), [expression])(*[BACKEND.number(v) for v in values])[0]


def holds(ball, number, digits=25):
    """Whether a ball holds a number of mpmath, which itself is right to so many digits."""
    with mp.workdps(80):
        middle, radius = (mp.ldexp(int(man), int(power)) for man, power in (ball.mid().man_exp(), ball.rad().man_exp()))
        return abs(middle - number) <= radius + abs(number) * mp.mpf(10) ** -digits


FUNCTIONS = [
    (exp(x), mp.exp), (log(1 + x**2), lambda t: mp.log(1 + t * t)), (erf(x), mp.erf), (erfc(x), mp.erfc),
    (tanh(x), mp.tanh), (atan(x), mp.atan), (sqrt(2 + x), lambda t: mp.sqrt(2 + t)), (Abs(x), abs),
    (Max(x, Rational(1, 3)), lambda t: max(t, mp.mpf(1) / 3)), (positive_part(x), lambda t: max(t, 0)),
    (normal_pdf(x), mp.npdf), (normal_cdf(x), mp.ncdf), (mills(x), lambda t: mp.ncdf(-t) / mp.npdf(t)),
    (erfcx(x), lambda t: mp.exp(t * t) * mp.erfc(t)), (softplus(x), lambda t: mp.log(1 + mp.exp(t))),
    (log_softplus(x), lambda t: mp.log(mp.log(1 + mp.exp(t)))),
    (OwenT(x, Rational(1, 2)),
     lambda t: mp.quad(lambda s: mp.exp(-t * t * (1 + s * s) / 2) / (1 + s * s), [0, 0.5]) / (2 * mp.pi)),
    (Piecewise((x**2, x < 1), (2 - x, True)), lambda t: t * t if t < 1 else 2 - t),
    ((3 + x**2) ** Rational(-2, 3), lambda t: (3 + t * t) ** (-mp.mpf(2) / 3)),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "reference"), FUNCTIONS, ids=[str(e) for e, _ in FUNCTIONS])
def test_balls_of_functions_hold_the_values_of_mpmath(expression, reference):
    for place in (Rational(-7, 5), Rational(1, 7), Rational(23, 10)):
        ball = ball_of(expression, [x], [Fraction(int(place.p), int(place.q))])
        with mp.workdps(45):
            assert holds(ball, reference(mp.mpf(place.p) / place.q), 40)
        assert ball.rel_accuracy_bits() > 110


def test_every_special_function_of_the_language_has_ball_code():
    from theorem_engine.backends.balls.printer import NAMES

    assert {f.__name__ for f in SPECIAL} <= set(NAMES)


@pytest.mark.parametrize("expression", [e for e, _ in FUNCTIONS], ids=[str(e) for e, _ in FUNCTIONS])
def test_a_wide_ball_is_mapped_onto_one_that_holds_the_values_inside(expression):
    with ctx.workprec(80):
        function = BACKEND.function([x], [expression])
        for low, high in ((-1.5, -1.0), (-0.5, 0.75), (0.5, 1.75)):
            whole = function(arb(low).union(arb(high)))[0]
            for k in range(9):
                assert whole.contains(arb(function(arb(low + (high - low) * k / 8))[0].mid()))


def test_inexact_numbers_and_unknown_functions_are_refused_by_name():
    with pytest.raises(NotAvailable, match="not exact"):
        ball_of(sympy.Float("0.1") * x, [x], [1])
    with pytest.raises(NotAvailable, match="no ball code for airyai"):
        ball_of(sympy.airyai(x), [x], [1])


def test_a_case_that_balls_do_not_tell_gives_the_hull_of_both():
    cases = Piecewise((x, x**2 < 2), (5, True))
    ball = ball_of(cases, [x], [read_number("sqrt(2)")])
    assert ball.contains(5)
    assert ball.contains(arb("1.41421356237309"))
    assert not ball_of(cases, [x], [Fraction(7, 5)]).contains(5)


REFERENCES = [
    (softplus(x) ** 2, "0.921245908859300278677248686821"), (log(1 + exp(x)) ** 2, "0.921245908859300278677248686821"),
    (sqrt(1 + x**2), "1.35453080648131530205311673048"), (atan(3 * x) ** 2, "1.11823856611092831353151165155"),
    (x**4 * tanh(x) ** 2, "2.67928193537044953264658692451"), (1 / (1 + x**2), "0.655679542418798471543871230731"),
    (tanh(1 + x), "0.550400490793327170288319498822"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "reference"), REFERENCES, ids=[str(b) for b, _ in REFERENCES])
def test_gaussian_means_hold_the_references(body, reference):
    ball = ball_of(GaussianMean(body, x))
    with mp.workdps(40):
        assert holds(ball, mp.mpf(reference), 29)
    assert ball.rel_accuracy_bits() > 100


@pytest.mark.parametrize(
    ("body", "breaks"),
    [(Abs(x - Rational(1, 3)), (Rational(1, 3),)), (Max(x, 0) ** 2, ()), (Piecewise((x**2, x < 1), (1, True)), (1,))],
    ids=str,
)
def test_kinks_are_enclosed_with_and_without_breaks(body, breaks):
    ball = ball_of(GaussianMean(body, x, breaks=breaks), bits=80)
    function = sympy.lambdify(x, body, "mpmath")
    with mp.workdps(25):
        places = [-14, 0, mp.mpf(1) / 3, 1, 14]
        assert holds(ball, mp.quad(lambda t: function(t) * mp.npdf(t), places), 20)
    assert ball.rel_accuracy_bits() > 50


CORNERS = {
    "a sigmoid of slope 10^4": 1 / (1 + exp(-(10**4) * (x - Rational(1, 3)))),
    "a fast wave": sin(50 * x) ** 2,
    "a narrow bump between nodes": exp(-(10**8) * (x - Rational(12345, 10**5)) ** 2),
}  # fmt: skip


@pytest.mark.parametrize("name", CORNERS)
def test_hard_corners_of_gaussian_means_are_enclosed(name):
    ball = ball_of(GaussianMean(CORNERS[name], x), bits=70)
    with mp.workdps(30):
        if name == "a fast wave":
            number = (1 - mp.exp(-mp.mpf(5000))) / 2
        elif name.startswith("a narrow"):
            width, centre = mp.mpf(10) ** 8, mp.mpf("0.12345")
            number = mp.exp(-width * centre**2 / (1 + 2 * width)) / mp.sqrt(1 + 2 * width)
        else:
            # the sigmoid is a step, and a function odd around it that decays within 1e-2
            step = mp.ncdf(-mp.mpf(1) / 3)
            places = [-mp.mpf(k) / 10**4 for k in (100, 50, 20, 10, 5, 2, 0)]
            left = mp.quad(lambda t: mp.npdf(mp.mpf(1) / 3 + t) / (1 + mp.exp(-(10**4) * t)), places)
            right = mp.quad(lambda t: mp.npdf(mp.mpf(1) / 3 + t) / (1 + mp.exp(10**4 * t)), [-p for p in places[::-1]])
            number = step + left - right
        assert holds(ball, number, 18)
    assert ball.rel_accuracy_bits() > 45


def test_a_mean_that_may_not_exist_is_not_enclosed():
    with pytest.raises(Unproved, match="no growth bound"):
        ball_of(GaussianMean(exp(x**2 / 4), x))
    with pytest.raises(NotAvailable, match="no growth bound"):
        ball_of(GaussianMean(1 / x**3, x))


def test_roots_and_logarithms_inside_integrals_keep_their_branches():
    ball = ball_of(sympy.Integral(sqrt(x) * log(x), (x, 1, 4)))
    with mp.workdps(40):
        assert holds(ball, mp.quad(lambda t: mp.sqrt(t) * mp.log(t), [1, 4]), 35)


def test_what_an_integrand_raises_is_raised_after_the_integral():
    def integrand(t):
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        enclose_integral(integrand, arb(0), arb(1))


def test_an_integral_without_a_finite_enclosure_is_said_to_be_so():
    with pytest.raises(Unproved, match="integral"):
        enclose_integral(lambda t: 1 / t, arb(-1), arb(1))


def test_a_root_of_a_number_around_zero_says_what_it_takes_for_granted():
    """1 - (3/5)^2 - (4/5)^2 is zero, which balls of decimals do not tell; 1 - 1 - 0 is zero for them too."""
    y = sympy.Symbol("y", real=True)
    run = BACKEND.function([x, y], [sqrt(1 - x**2 - y**2)])
    with ctx.workprec(80), collecting() as claims:
        (certain,) = run(arb(1), arb(0))
        assert certain == 0
        assert claims == []
        (found,) = run(arb(3) / 5, arb(4) / 5)
    assert found.contains(0)
    assert found < 1e-10
    (said,) = claims
    assert "no root of a negative number" in said.text


def test_a_mean_inside_a_mean_is_enclosed_once():
    """E sin(50 x)^2 = (1 - e^-5000)/2 and E x sin(50 x) = 50 e^-1250: the second stands in the integrand of the first.

    Enclosed again at every node of the outer integral, they did not end.
    """
    t = sympy.Symbol("t")
    begin = time.process_time()
    found = te.predict("liao2026.hermite", nonlinearity=sympy.sin(50 * t), certified=True)
    assert abs(found.outputs["second_moment"] - 0.5) <= found.errors["second_moment"] <= 1e-16
    assert abs(found.outputs["a1"]) <= found.errors["a1"] + 1e-60 <= 1e-30
    assert time.process_time() - begin < 20
