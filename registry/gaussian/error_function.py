"""Means of erf(t + g G), G a standard normal variable: the lemmas every risk of erf attention rests on."""

from sympy import Integral, Rational, atan, cos, erf, erfc, exp, pi, sqrt

from theorem_engine import Output, Partial, Source, lemma
from theorem_engine.language.domains import Interval
from theorem_engine.language.identity import Derivative, Equation, Ordering, SpecialValue, applied, own, slope
from theorem_engine.registry.gaussian.notation import V, b, g, s, t, u, w, x

PLACE = Source("2410.01537", "Lemmas 6-7", guessed=True)
#: Where identities that algebra does not settle are tried.
BOX = {"t": ("0.5", "0.7"), "g": ("0.5", "0.6")}
NARROW = {"t": ("0.5", "0.52"), "g": ("0.5", "0.52")}
WIDTH = sqrt(1 + 2 * g**2)
WIDTHS = {s: WIDTH, u: t / s}
SLOPES = {**WIDTHS, b: 1 / sqrt(1 + 4 * g**2)}
SLOPE = 2 * exp(-(u**2)) / sqrt(pi)


def variance():
    """The variance of erf(t + g G), as an integral over the angle between arctan(b) and pi/4.

    The angle is the letter w, never a difference of two arctangents, so a tiny g costs no digits.
    """
    return {
        **SLOPES,
        w: atan(4 * g**2 / (1 + sqrt(1 + 4 * g**2)) ** 2),
        V: 4 / pi * w * Integral(exp(-(u**2) / cos(pi / 4 - w * x) ** 2), (x, 0, 1)),
    }


@lemma(
    "gaussian.erf-mean",
    title="Mean of the error function of a Gaussian",
    source=PLACE,
    given=(t, g),
    outputs={"value": Output("E erf(t + g G)", Interval(-1, 1))},
    symbol=r"\mathbb{E}\operatorname{erf}",
    assumes=("G is standard normal",),
    checks=("gaussian.erf_mean",),
    identities=lambda: (
        Equation(slope("value", g), g * slope("value", t, t), box=BOX),
        Equation(own("value", t=-t), -own("value"), box=BOX),
        SpecialValue({g: 0}, "value", erf(t), box=BOX),
        SpecialValue({t: 0}, "value", 0, box=BOX),
    ),
    marks="DVG",
)
def erf_mean_(t, g):
    """Averaging erf over Gaussian noise widens it: E erf(t + g G) = erf(t / sqrt(1 + 2 g^2)).

    Write erf(x) as the mean sign of x plus independent Gaussian noise of variance 1/2; the two noises add.
    """
    return {**WIDTHS, "value": erf(u)}


@lemma(
    "gaussian.erf-square",
    title="Mean square of the error function of a Gaussian",
    source=PLACE,
    given=(t, g),
    outputs={
        "value": Output("E erf(t + g G)^2", Interval(0, 1)),
        "dt": "derivative in t",
        "dtt": "second derivative in t",
        "dg": "derivative in g, by the heat equation",
    },
    symbol=r"\zeta",
    assumes=("G is standard normal",),
    checks=("gaussian.erf_square",),
    identities=lambda: (
        Derivative("value", t, own("dt"), box=BOX),
        Derivative("dt", t, own("dtt"), box=BOX),
        Derivative("value", g, own("dg"), box=NARROW),
        Equation(slope("value", g), g * slope("value", t, t), box=NARROW),
        SpecialValue({g: 0}, "value", erf(t) ** 2, box=BOX),
        SpecialValue({t: 0}, "value", 1 - 4 / pi * atan(1 / sqrt(1 + 4 * g**2)), box=BOX),
        Equation(own("value", t=-t), own("value"), box=BOX),
        Ordering(applied("gaussian.erf-mean") ** 2, own("value"), box=BOX),
    ),
    marks="DVG",
    notes=(
        "Also 1 - 8 T(sqrt(2) t / sqrt(1 + 2 g^2), 1/sqrt(1 + 4 g^2)) with Owen's T, which loses all relative "
        "accuracy where the value is small; the integral used here keeps it.",
        "Even in t and in g, between erf(u)^2 and 1, increasing in |t|.",
    ),
)
def erf_square_(t, g):
    """Second moment of erf under Gaussian noise, and its derivatives.

    Two independent copies of the sign representation of erf give a bivariate normal probability with
    correlation 2 g^2/(1 + 2 g^2); Sheppard's integral in the angle is the variance term V.
    """
    dt = 2 / s * erf(b * u) * SLOPE
    dtt = (2 / s**2) * (erf(b * u) * SLOPE).diff(u)
    return {
        **variance(),
        "value": erf(u) ** 2 + V,
        "dt": dt,
        "dtt": dtt,
        "dg": g * dtt,
        Partial("value", t): dt,
        Partial("value", g): g * dtt,
        Partial("dt", t): dtt,
    }


@lemma(
    "gaussian.erf-miss",
    title="Mean square distance of the error function from one",
    source=PLACE,
    given=(t, g),
    outputs={
        "value": Output("E (1 - erf(t + g G))^2", Interval(0, 4)),
        "variance": Output("variance of erf(t + g G)", Interval(0, 1)),
    },
    symbol=r"\mathrm{miss}",
    assumes=("G is standard normal",),
    checks=("gaussian.erf_miss",),
    identities=lambda: (
        Equation(own("value"), 1 - 2 * applied("gaussian.erf-mean") + applied("gaussian.erf-square"), box=BOX),
        Derivative(
            "value", t, applied("gaussian.erf-square", "dt") - 2 * SLOPE.xreplace({u: t / WIDTH}) / WIDTH, box=NARROW
        ),
        Equation(own("variance"), applied("gaussian.erf-square") - applied("gaussian.erf-mean") ** 2, box=BOX),
        Equation(slope("value", g), g * slope("value", t, t), box=NARROW),
        SpecialValue({g: 0}, "value", erfc(t) ** 2, box=BOX),
        SpecialValue({t: 0}, "value", 1 + applied("gaussian.erf-square", t=0), box=BOX),
    ),
    marks="DVG",
    notes=("For t = 6, g = 0.1 the value is 7.8e-33: the form 1 - 2 erf(u) + zeta has no correct digit there.",),
)
def erf_miss_(t, g):
    """What erf attention loses on the informative token, without cancellation at any t."""
    dt = -2 / s * SLOPE * erfc(b * u)
    return {
        **variance(),
        "value": erfc(u) ** 2 + V,
        "variance": V,
        Partial("value", t): dt,
        Partial("value", g): -g * (2 / s**2) * (SLOPE * erfc(b * u)).diff(u),
    }


@lemma(
    "gaussian.erf-moments",
    title="Moments of a Gaussian against the error function",
    source=PLACE,
    given=(t, g),
    outputs={"first": "E G erf(t + g G)", "second": "E G^2 erf(t + g G)", "third": "E G^3 erf(t + g G)"},
    symbol=r"\mathrm{M}",
    assumes=("G is standard normal",),
    checks=("gaussian.erf_moments",),
    identities=lambda: (
        Derivative("first", t, (own("second") - applied("gaussian.erf-mean")) / g, box=BOX),
        Derivative("second", t, (own("third") - 2 * own("first")) / g, box=BOX),
        SpecialValue({g: 0}, "second", erf(t), box=BOX),
        SpecialValue({t: 0}, "second", 0, box=BOX),
    ),
    marks="DVG",
)
def erf_moments_(t, g):
    """Stein's identity applied to erf, up to the third moment."""
    step = Rational(1) * g / s
    first, second, third = (step**n * erf(u).diff(u, n) for n in (1, 2, 3))
    return {**WIDTHS, "first": first, "second": erf(u) + second, "third": 3 * first + third}
