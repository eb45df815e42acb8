"""What the theory needs to know of a nonlinearity: its mean and its first Hermite coefficients."""

from dataclasses import dataclass, replace
from typing import Any

from sympy import Dummy, Eq, Integer, Max, Piecewise, Rational, erf, erfc, exp, log, pi, sqrt, tanh

from theorem_engine import (
    NONNEGATIVE,
    GaussianMean,
    OneOf,
    Output,
    Root,
    Source,
    definition,
    lemma,
    limit,
    normal_cdf,
    normal_pdf,
)
from theorem_engine.gaussian_data import GaussianData, gaussian_data
from theorem_engine.registry.liao2026.notation import (
    CUBIC,
    FUNCTION_RULES,
    MOMENT_RULES,
    MOMENTS,
    VARIANCE,
    WORK,
    T,
    level,
    nonlinearity,
    r,
    xi,
)
from theorem_engine.registry.liao2026.notation import a1 as slope_letter
from theorem_engine.registry.liao2026.notation import second_moment as moment_letter

HALF = Rational(1, 2)


@dataclass(frozen=True)
class Stretched:
    """f(scale t) in the place of f(t), where the weights hold a multiple of the identity; never one times f."""

    function: Any
    scale: Any

    def __str__(self) -> str:
        return f"{self.function} of {float(self.scale):.6g} t"


def stretched(nonlinearity, scale):
    """The nonlinearity that tokens meet behind a multiple of the identity."""
    return nonlinearity if scale == 1 else Stretched(nonlinearity, scale)


def moments_of(nonlinearity, level=None, r=None):
    """Moments of a named nonlinearity, or of an expression of the user's own, stretched or not."""
    scale = Integer(1)
    if isinstance(nonlinearity, Stretched):
        nonlinearity, scale = nonlinearity.function, nonlinearity.scale
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
    return GaussianData(Integer(0), a1, Integer(0), moment, rest)


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


@definition(
    "liao2026.hermite",
    title="Hermite data of the nonlinearity",
    source=Source(WORK, "assumption on f", version="v2", guessed=True),
    given=(nonlinearity, level, r),
    outputs={
        "mean": "E f(xi), taken off by every entry",
        "a1": "first Hermite coefficient E[xi f(xi)]",
        "second_moment": Output("E f(xi)^2 of the centred f", NONNEGATIVE),
        "a2": "second Hermite coefficient E[f(xi) (xi^2 - 1)]/sqrt(2)",
    },
    given_rules=(OneOf((("nonlinearity",),)), *FUNCTION_RULES),
    requires=(CUBIC,),
    assumes=("xi is standard normal", "f has a finite second moment"),
    checks=("liao2026_matrices.sampled_moments",),
    marks="AV",
    notes=(
        "clip is min(max(t, -level), level); exp-clip is min(level, e^t); cubic-clip is r t + sqrt(1 - r^2) (t^3 - 3 t)"
        "/sqrt(6) clipped at +-level; softmax stands for e^(t - 1/2) - 1, the masked row-wise softmax in the limit.",
        "Clipping at 5 changes the cubic a lot: r = 0.2, 0.5, 0.8 give a1 = 0.1274, 0.4267, 0.7532, not r.",
        "For an expression of the user's own polynomials are exact, the rest Gaussian quadrature between its kinks.",
    ),
)
def hermite(nonlinearity, level, r):
    """The three numbers of a nonlinearity that survive in the limit, and its mean, which does not.

    All entries centre f by its mean; for balanced labels the mean itself is harmless.
    """
    data = moments_of(nonlinearity, level, r)
    return {"mean": data.mean, "a1": data.a1, "second_moment": data.second_moment, "a2": data.a2}


@lemma(
    "liao2026.gaussian-equivalent",
    title="Gaussian equivalent of the attention matrix",
    source=Source(WORK, "behind Proposition 1", version="v2", guessed=True),
    given=MOMENTS,
    outputs={"b": Output("standard deviation of the nonlinear part", NONNEGATIVE)},
    given_rules=MOMENT_RULES,
    requires=(CUBIC, VARIANCE),
    cases={"is_linear": Eq(moment_letter, slope_letter**2)},
    regime=limit("n, p -> oo with p/n fixed", "of order 1/p"),
    checks=("liao2026_matrices.nonlinear_part",),
    marks="DV",
    notes=(
        "The part -I_n is there because the diagonal of K tends to zero while that of X^T X/p tends to one.",
        "Hermite components of order two and more act together as W; only with unbalanced labels does the second "
        "leave a trace of its own (class-imbalance).",
    ),
)
def gaussian_equivalent(nonlinearity, level, r, a1, second_moment, *, is_linear):
    """K behaves as a1 (X^T (I + w_K w_Q^T) X/p - I_n) + b W, W a symmetric Gaussian matrix of variance 1/p.

    W is independent of the tokens; b^2 is the second moment of the centred f less a1^2.
    """
    if nonlinearity is None:
        rest = second_moment - a1**2
        return {"b": Integer(0) if is_linear else sqrt(Max(0, rest))}
    return {"b": sqrt(Max(0, moments_of(nonlinearity, level, r).rest))}
