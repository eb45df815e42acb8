"""Risks of single-location regression by quadrature over the tokens themselves: no Laplace transform, no closed form.

Written from the model. Each token has chi* and z*; the score of a token is chi = m chi* + sqrt(rest) zeta. In the
spiked task chi* of the hidden token has mean sqrt(nu); in the max task all tokens are standard normal and the hidden
one is drawn from softmax(nu chi*). With v along v* the risk is 1 - 2 m_vv S + q_vv Q, S = E sigma_hidden and
Q = E sum sigma^2. Every number comes with an error: its distance from the same sum on a coarser grid.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

#: Standard normal weight beyond this is below double precision.
RANGE = 9.3
#: Steps of the fine and of the coarse trapezoidal sum, relative to the scale on which the integrand changes.
STEPS = (0.17, 0.23)


@dataclass(frozen=True)
class Value:
    """A number and how far it may be off."""

    value: float
    error: float


def settled(compute):
    """The fine sum, and an error from its distance to the coarse one; ``compute`` takes the relative step."""
    fine, coarse = (np.asarray(compute(step), dtype=float) for step in STEPS)
    errors = 2 * np.abs(fine - coarse) + 1e-14 * np.abs(fine)
    if fine.ndim == 0:
        return Value(float(fine), float(errors))
    return [Value(float(v), float(e)) for v, e in zip(fine, errors, strict=True)]


def normal_line(step, steep=1.0, reach=(0.0, 0.0)):
    """Points and weights of a sum over a standard normal variable; ``reach`` extends it to the left and right."""
    h = min(step * 2.0, step / max(steep, 1e-9))
    x = h * np.arange(math.floor(-(RANGE + reach[0]) / h), math.ceil((RANGE + reach[1]) / h) + 1)
    return x, h * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def panels(step, place, steep=1.0):
    """Points and weights for a standard normal variable, Gauss-Legendre panels that shrink towards a kink."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    near = np.geomspace(1e-4, 0.5, math.ceil(1.2 / step)) / max(1.0, steep)
    far = np.arange(near[-1], 2 * RANGE, 7 * step / max(1.0, steep))[1:]
    distances = np.concatenate([[0.0], near, far])
    edges = np.unique(np.clip(np.concatenate([place - distances, place + distances]), -RANGE, RANGE))
    half = np.diff(edges) / 2
    x = (edges[:-1, None] + half[:, None] * (1 + nodes)).ravel()
    w = (half[:, None] * weights).ravel()
    return x, w * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


# ---- element-wise weights: each token's weight is a function of its own score ----


@dataclass(frozen=True)
class Weight:
    """A function of a score and the slope on which it changes."""

    function: object
    slope: float = 1.0


SIGMOID = Weight(special.expit)
LINEAR = Weight(lambda chi: 1 + chi)


def erf_weight(shift=0.0, slope=1.0):
    """1 + erf(shift + slope chi), without cancellation to the left."""
    return Weight(lambda chi: special.erfc(-(shift + slope * chi)), slope)


def steep_tanh(slope):
    """1 + tanh(slope chi)."""
    return Weight(lambda chi: 2 * special.expit(2 * slope * chi), 2 * slope)


def element_wise(task, weight, m, nu, lengths, rest=0.0):
    """S and Q of element-wise weights for a distribution over lengths, as {L: probability}."""
    mean_length = sum(n * p for n, p in lengths.items())
    width = math.sqrt(m * m + rest)

    def second(step, centre=0.0):
        x, w = normal_line(step, weight.slope * width)
        return w @ weight.function(centre + width * x) ** 2

    def spiked(step):
        x, w = normal_line(step, weight.slope * width)
        centre = m * math.sqrt(nu)
        first = w @ weight.function(centre + width * x)
        return [first, second(step, centre) + (mean_length - 1) * second(step)]

    def largest(step):
        return [_drawn_token(step, weight, m, nu, lengths, rest), mean_length * second(step)]

    return settled(spiked if task == "spiked" else largest)


def _drawn_token(step, weight, m, nu, lengths, rest):
    """E sigma at the token drawn from softmax(nu chi*).

    A draw from a softmax is a race: the winner has the largest nu chi* + G with Gumbel noise G. Given the winner's
    sum t the others lie below it, with probability F(t)^(L-1).
    """
    x, w = normal_line(step, max(weight.slope * abs(m), nu if math.isfinite(nu) else 1.0))
    zeta, mass = normal_line(step, weight.slope * math.sqrt(rest)) if rest else (np.zeros(1), np.ones(1))
    weights = weight.function(m * x[:, None] + math.sqrt(rest) * zeta) @ mass
    if math.isinf(nu):
        below = special.ndtr(x)
        return sum(p * n * (w * weights) @ below ** (n - 1) for n, p in lengths.items())
    h = step
    t = h * np.arange(math.floor((-RANGE * nu - 4) / h), math.ceil((RANGE * nu + 42) / h))
    winners, below = np.empty_like(t), np.empty_like(t)
    for part in np.array_split(np.arange(len(t)), max(1, len(t) * len(x) // 2_000_000)):
        v = np.clip(nu * x - t[part, None], -700, 50)
        cumulative = np.exp(-np.exp(v))
        below[part] = cumulative @ w
        winners[part] = (np.exp(v) * cumulative) @ (w * weights)
    return sum(p * n * h * np.sum(winners * below ** (n - 1)) for n, p in lengths.items())


# ---- normalised weights: a kernel of each score over the sum of all kernels ----


@dataclass(frozen=True)
class Kernel:
    """The logarithm of a kernel of a score, a constant added to the sum, and whether there is a kink at zero."""

    logarithm: object
    extra: float = 0.0
    kink: bool = False
    slope: float = 1.0


def _log_softplus(chi):
    # far to the left log(1 + e^chi) is e^chi
    return np.where(chi < -40, chi, np.log(np.logaddexp(0, np.maximum(chi, -40))))


def _log_positive_part(chi):
    return np.log(chi, out=np.full_like(chi, -np.inf), where=chi > 0)


KERNELS = {
    "softmax": Kernel(lambda chi: chi),
    "softmax-plus-one": Kernel(lambda chi: chi, extra=1.0),
    "softplus": Kernel(_log_softplus),
    "tanh": Kernel(lambda chi: -np.logaddexp(0, -2 * chi), slope=2.0),
    "relu": Kernel(_log_positive_part, kink=True),
}


def normalised(task, kernel, m, nu, lengths, rest=0.0):
    """S and Q of normalised weights, summed over all tokens at once; lengths up to three (rest = 0 in the max task)."""

    def compute(step):
        parts = [(p, _all_tokens(step, task, kernel, m, nu, n, rest)) for n, p in lengths.items()]
        return [sum(p * pair[k] for p, pair in parts) for k in range(2)]

    return settled(compute)


def _all_tokens(step, task, kernel, m, nu, count, rest):
    width = math.sqrt(m * m + rest)
    spike = math.sqrt(nu) if task == "spiked" else 0.0
    grids = []
    for token in range(count):
        centre = m * spike if token == 0 else 0.0
        if kernel.kink:
            x, w = panels(
                step * (1 if count < 3 else 2), -centre / width if width else 0.0, nu if task == "max" else 1.0
            )
        else:
            scale = kernel.slope * width if task == "spiked" else max(kernel.slope * width, nu)
            x, w = normal_line(step * 1.6, scale)
        keep = w > 1e-19 * w.max()
        grids.append((centre + width * x[keep], x[keep], w[keep]))
    logarithms = [_along(kernel.logarithm(chi), token, count) for token, (chi, _, _) in enumerate(grids)]
    mass = math.prod(_along(w, token, count) for token, (_, _, w) in enumerate(grids))
    weights = _shares(logarithms, kernel.extra)
    second = np.sum(mass * sum(weight**2 for weight in weights))
    if task == "spiked":
        return np.sum(mass * weights[0]), second
    chances = _shares([_along(nu * x, token, count) for token, (_, x, _) in enumerate(grids)])
    return np.sum(mass * sum(a * b for a, b in zip(weights, chances, strict=True))), second


def _shares(logarithms, extra=0.0):
    """Each exponential over the sum of all and a constant; nothing where all of them vanish."""
    top = np.log(extra) if extra else np.float64(-np.inf)
    for logarithm in logarithms:
        top = np.maximum(top, logarithm)
    top = np.where(np.isfinite(top), top, 0.0)
    parts = [np.exp(logarithm - top) for logarithm in logarithms]
    total = sum(parts) + (np.exp(np.log(extra) - top) if extra else 0.0)
    return [part / np.where(total > 0, total, 1.0) for part in parts]


def _along(values, axis, count):
    """A vector laid along one of several axes."""
    return values.reshape([-1 if k == axis else 1 for k in range(count)])


# ---- the Bayes risk ----


def bayes(task, nu, lengths):
    """E of the posterior probability of all tokens but the hidden one; lengths up to three."""

    def compute(step):
        return sum(p * _bayes(step, task, nu, n) for n, p in lengths.items() if n > 1)

    return settled(compute)


def _bayes(step, task, nu, count):
    if math.isinf(nu):
        return 0.0
    if nu == 0:
        return 1 - 1 / count
    # differences of chi* between the first token and the others; in the spiked task the first one is hidden
    scale, centre = (math.sqrt(nu), nu) if task == "spiked" else (nu, 0.0)
    # small risks come from where the first token loses its lead: the range reaches there
    reach = math.sqrt(nu / 2) if task == "spiked" else 0.0
    x, w = normal_line(step, math.sqrt(2) * scale, (reach, 0.0))
    first = -(centre + scale * math.sqrt(2) * x)
    if count == 2:
        if task == "spiked":
            return w @ special.expit(first)
        return 2 * (w @ (special.expit(first) * special.expit(-first)))
    y, u = normal_line(step, math.sqrt(1.5) * scale, (reach, reach))
    total = 0.0
    for part in np.array_split(np.arange(len(x)), max(1, len(x) * len(y) // 1_000_000)):
        second = -(centre + scale * math.sqrt(2) * (x[part, None] / 2 + math.sqrt(3) / 2 * y))
        one = first[part, None]
        top = np.maximum(np.maximum(one, second), 0.0)
        a, b, c = np.exp(-top), np.exp(one - top), np.exp(second - top)
        inside = 2 * b / (a + b + c) if task == "spiked" else 6 * a * b / (a + b + c) ** 2
        total += w[part] @ (inside @ u)
    return total


# ---- minima ----


def ratio_risk(first, second):
    """1 - S^2/Q, the risk at the best v, with the errors of S and Q."""
    ratio = first.value**2 / second.value
    error = ratio * (2 * first.error / max(abs(first.value), 1e-300) + second.error / second.value)
    return Value(1 - ratio, error + 1e-14)


def best_risk(moments, slopes):
    """The least 1 - S^2/Q over a slope m: a scan, then a bounded search in each dip; with its error and minimiser."""

    def risk(m):
        first, second = moments(m)
        return 1 - first.value**2 / second.value if second.value > 0 else 1.0

    risks = [risk(m) for m in slopes]
    best = int(np.argmin(risks))
    low, high = slopes[max(best - 1, 0)], slopes[min(best + 1, len(slopes) - 1)]
    found = optimize.minimize_scalar(risk, bounds=(low, high), method="bounded", options={"xatol": 1e-9 * abs(high)})
    m = found.x if found.fun <= risks[best] else slopes[best]
    return ratio_risk(*moments(m)), float(m)


def slopes(low=1e-3, high=1e3, count=41, negative=True):
    """Slopes to scan, evenly in the logarithm, of both signs."""
    up = np.geomspace(low, high, count)
    return np.concatenate([-up[::-1], up]) if negative else up


# ---- off the manifold, spiked task ----

ORDER = ("m_kk", "m_kv", "m_vk", "m_vv", "q_kk", "q_vv", "q_kv")


def spiked_population(weights, slope, nu, count, m_kk, m_kv, m_vk, m_vv, q_kk, q_vv, q_kv):
    """Risk at seven order parameters, for one or two tokens: given the scores, z* and z are Gaussian.

    ``weights`` takes the list of scores to the list of weights.
    """
    spike = math.sqrt(nu)

    def compute(step):
        width = math.sqrt(q_kk)
        x, w = normal_line(step, slope * width)
        axes = [_along(x, token, count) for token in range(count)]
        mass = math.prod(_along(w, token, count) for token in range(count))
        scores = [width * x_l + (m_kk * spike if token == 0 else 0.0) for token, x_l in enumerate(axes)]
        sigma = weights(scores)
        value = [q_kv / width * x_l + (m_vk * spike if token == 0 else 0.0) for token, x_l in enumerate(axes)]
        label = m_kv / width * axes[0]
        spread, shared = q_vv - q_kv**2 / q_kk, m_vv - m_kv * q_kv / q_kk
        mean = sum(s * v for s, v in zip(sigma, value, strict=True))
        inside = 1 - 2 * (label * mean + shared * sigma[0]) + mean**2 + spread * sum(s**2 for s in sigma)
        return np.sum(mass * inside)

    return settled(compute)
