"""Normalised softplus weights at their best slope: of strong signals, and of long sequences."""

from sympy import Integral, Max, Min, Rational, pi, sqrt

from theorem_engine import GaussianMean, Minimum, normal_cdf, normal_pdf, softplus
from theorem_engine.registry.duranthon2026.notation import NONNEGATIVE, length, nu, slope, var, x

variance = var("variance", r"\mathrm{Var}(L)", "variance of the length", NONNEGATIVE)
b = var("b", "b", "inverse slope of softplus weights, searched over", NONNEGATIVE)
t = var("t", "t", "share of the range of a score, integrated over", NONNEGATIVE)
#: Inverse slopes below which softplus cannot be told from its positive part in double precision.
FLATTEST = Rational(1, 10**6)


def _beyond_positive_part(power, s=0):
    """What E softplus(u)^power at u = (x + s)/b has beyond that of its positive part, over b^(power + 1).

    With y = |u| it is an integral over the narrow range in which the two differ, finite at b = 0:
    softplus(u) = u_+ + softplus(-|u|).
    """
    y = t / (1 - t)
    tail = softplus(-y)
    density = normal_pdf(b * y - s) + normal_pdf(b * y + s)
    body = density * tail if power == 1 else density * tail**2 + 2 * normal_pdf(b * y - s) * y * tail
    ends = (0, Rational(1, 4), Rational(1, 2), Rational(3, 4), 1)
    return sum(Integral(body / (1 - t) ** 2, (t, *pair)) for pair in zip(ends[:-1], ends[1:], strict=True))


def _steep_means(s=0):
    """E softplus((x + s)/b) b and E softplus(x/b)^2 b^2: those of the positive part at b = 0, and what is beyond."""
    first = s * normal_cdf(s) + normal_pdf(s)
    return first + b**2 * _beyond_positive_part(1, s), Rational(1, 2) + b**3 * _beyond_positive_part(2)


def least_coefficient():
    """Least variance of the weight that the other tokens take, in units of 1/nu, over the slope 1/b.

    Their total is T = sum softplus(x_l/b) against sqrt(nu)/b of the hidden one; the risk is
    E[T^2 + sum softplus^2] - (E T)^2 over nu/b^2, and the length itself varies in T.
    """
    first, square = _steep_means()

    def height(first, square):
        return (length - 1) * (2 * square - first**2) + variance * first**2

    return Min(Minimum(height(first, square), over=b), height(1 / sqrt(2 * pi), Rational(1, 2)))


def largest_gain():
    """Largest (E softplus(m (x + s)))^2 / E softplus(m x)^2 over all slopes m, s being the mean of the hidden score.

    Steep and flat slopes are searched by themselves, and both limits are looked at: 1 at m = 0, the positive
    part at m = oo.
    """
    s = sqrt(nu)
    first, square = GaussianMean(softplus(slope * (x + s)), x), GaussianMean(softplus(slope * x) ** 2, x)
    flat = -Minimum(-(first**2) / square, over=slope)
    first, square = _steep_means(s)
    steep = -Minimum(-(first**2) / square, over=b)
    return Max(1, flat, steep, 2 * (s * normal_cdf(s) + normal_pdf(s)) ** 2)
