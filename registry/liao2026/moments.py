"""Moments of the paper's nonlinearities: mean, first Hermite coefficients, second moment.

Each function has the level and the share r as its nonlinearity uses them, and the positive multiple of the argument.
"""

from dataclasses import replace

from sympy import Dummy, Integer, Max, Piecewise, Rational, erf, erfc, exp, log, pi, sqrt, sympify, tanh

from theorem_engine import GaussianMean, Root, normal_cdf, normal_pdf
from theorem_engine.language.gaussian_data import GaussianData, gaussian_data
from theorem_engine.registry.liao2026.notation import T, xi

HALF = Rational(1, 2)


def moments_of(nonlinearity, level=None, r=None, scale=1):
    """Moments of a named nonlinearity, or of an expression of the user's own, at ``scale`` times its argument."""
    scale = sympify(scale, strict=True)
    if not isinstance(nonlinearity, str):
        (letter,) = nonlinearity.free_symbols
        return gaussian_data(nonlinearity.xreplace({letter: scale * letter}))
    found = TABLE[nonlinearity](level, r, abs(scale))
    # f(-t) is f seen by -xi: odd coefficients change their sign
    return found if scale > 0 else replace(found, a1=-found.a1)


def _tail(level, share):
    """level^2 times the share beyond it, which vanishes long before the square leaves double precision."""
    return Piecewise((0, level > 10**150), (level**2 * share, True))


def _tanh(level, r, scale):
    if scale == 1:
        # tanh' = 1 - tanh^2 ties the two moments: one integral gives both
        a1 = GaussianMean(1 - tanh(xi) ** 2, xi)
        return GaussianData(Integer(0), a1, Integer(0), 1 - a1, 1 - a1 - a1**2)
    # panels of their own around zero: a steep function is a jump to a rule of even steps
    breaks = tuple(k / scale for k in (-20, -4, -1, 1, 4, 20)) if scale > 4 else ()
    a1 = scale * GaussianMean(1 - tanh(scale * xi) ** 2, xi, breaks=breaks)
    slope = Dummy("slope", real=True)
    # the mean square of what a line leaves: for a gentle function a difference of moments would cancel
    rest = GaussianMean((tanh(scale * xi) - slope * xi) ** 2, xi, breaks=breaks).xreplace({slope: a1})
    return GaussianData(Integer(0), a1, Integer(0), rest + a1**2, rest)


def _clip(level, r, scale):
    # clip(s t) at a level is s clip(t) at the level over s
    edge = level / scale
    inside, outside = erf(edge / sqrt(2)), erfc(edge / sqrt(2))
    beyond, density = _tail(edge, outside), 2 * edge * normal_pdf(edge)
    middle = Max(0, inside - density)
    rest = Piecewise((middle + beyond - inside**2, edge < 1), (Max(0, inside * outside + beyond - density), True))
    return GaussianData(Integer(0), scale * inside, Integer(0), scale**2 * (middle + beyond), scale**2 * rest)


def _cos(level, r, scale):
    moment = (1 - exp(-(scale**2))) ** 2 / 2
    mean = exp(-(scale**2) / 2)
    return GaussianData(mean, Integer(0), -(scale**2) * mean / sqrt(2), moment, moment)


def _sin(level, r, scale):
    moment = (1 - exp(-2 * scale**2)) / 2
    return GaussianData(
        Integer(0), scale * exp(-(scale**2) / 2), Integer(0), moment, moment - scale**2 * exp(-(scale**2))
    )


def _exp_clip(level, r, scale):
    edge = log(level) / scale
    below = exp(scale**2 / 2) * normal_cdf(edge - scale)
    a1 = scale * below
    mean = below + level * normal_cdf(-edge)
    beyond = _tail(level, normal_cdf(-edge))
    moment = exp(2 * scale**2) * normal_cdf(edge - 2 * scale) + beyond - mean**2
    a2 = scale * (a1 - level * normal_pdf(edge)) / sqrt(2)
    return GaussianData(mean, a1, a2, Max(0, moment), Max(0, moment - a1**2))


def _cubic_clip(level, r, scale):
    q = sqrt((1 - r) * (1 + r))
    linear, cubic = scale * (r - 3 * q / sqrt(6)), scale**3 * q / sqrt(6)
    # beyond level + 3 the cubic lies above its level for every share r
    edge = Root(linear * T + cubic * T**3 - level, T, 0, (level + 3) / scale)
    density, outside = normal_pdf(edge), erfc(edge / sqrt(2))
    m0 = erf(edge / sqrt(2))
    m2 = m0 - 2 * edge * density
    m4 = 3 * m2 - 2 * edge**3 * density
    m6 = 5 * m4 - 2 * edge**5 * density
    a1 = linear * m0 + 3 * cubic * m2
    moment = linear**2 * m2 + 2 * linear * cubic * m4 + cubic**2 * m6 + level**2 * outside
    # the mean square of f - a1 xi, inside and outside the edge
    left = linear * outside - 3 * cubic * m2
    rest = left**2 * m2 + 2 * left * cubic * m4 + cubic**2 * m6
    rest += level**2 * outside - 4 * level * a1 * density + a1**2 * (2 * edge * density + outside)
    # a sum of such terms may fall below zero by rounding where f is nearly linear
    return GaussianData(Integer(0), a1, Integer(0), moment, Max(0, rest))


def _sign(level, r, scale):
    return GaussianData(Integer(0), sqrt(2 / pi), Integer(0), Integer(1), 1 - 2 / pi)


def _relu(level, r, scale):
    moment = scale**2 * (HALF - 1 / (2 * pi))
    return GaussianData(
        scale / sqrt(2 * pi), scale * HALF, scale / (2 * sqrt(pi)), moment, moment - scale**2 * Rational(1, 4)
    )


def _softmax(level, r, scale):
    # e^(s t - 1/2) - 1 has the mean e^((s^2 - 1)/2) - 1
    factor, square = exp((scale**2 - 1) / 2), scale**2
    mean, a1 = factor - 1, scale * factor
    return GaussianData(
        mean, a1, square * factor / sqrt(2), factor**2 * (exp(square) - 1), factor**2 * (exp(square) - 1 - square)
    )


def _linear(level, r, scale):
    return GaussianData(Integer(0), scale, Integer(0), scale**2, Integer(0))


TABLE = {
    "tanh": _tanh,
    "clip": _clip,
    "cos": _cos,
    "sin": _sin,
    "exp-clip": _exp_clip,
    "cubic-clip": _cubic_clip,
    "sign": _sign,
    "relu": _relu,
    "softmax": _softmax,
    "linear": _linear,
}
