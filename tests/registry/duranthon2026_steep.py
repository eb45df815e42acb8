"""Weights of single-location regression by plain quadrature from the definition of the model.

Composite Gauss-Legendre rules over the scores of two or three tokens, with panels that shrink towards the bend of the
weight and towards the score of the other token. Nothing is shared with the engine.
"""

import numpy as np
from scipy.special import erf, expit, log_ndtr, ndtr

BASE, BASE_WEIGHTS = np.polynomial.legendre.leggauss(20)
REACH = 9.0


def rule(places, low=-REACH, high=REACH):
    """Nodes and weights of the normal law, panels doubling away from each (place, scale)."""
    ends = [low, high, *np.arange(np.ceil(low), high, 0.5)]
    for place, scale in places:
        steps = scale * 2.0 ** np.arange(0, max(1, np.ceil(np.log2(2 * (high - low) / scale))))
        ends += [place, *(place - steps), *(place + steps)]
    ends = np.unique(np.clip(ends, low, high))
    ends = ends[np.concatenate([[True], np.diff(ends) > 1e-14])]
    half = np.diff(ends)[:, None] / 2
    x = (ends[:-1, None] + half * (1 + BASE)).ravel()
    return x, (half * BASE_WEIGHTS).ravel() * np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)


def sigmoid(t):
    """1/(1 + exp(-t))."""
    return expit(t)


#: Element-wise weights: function of the score.
ELEMENT_WISE = {"linear": lambda t: 1 + t, "sigmoid": sigmoid, "erf": lambda t: 1 + erf(t)}
#: Logarithms of kernels, and how far from their bend they are straight.
LOG_KERNELS = {
    "softmax": lambda t: t,
    "softplus": lambda t: np.where(t < -30, t, np.log(np.logaddexp(0.0, np.maximum(t, -30)))),
    "tanh": lambda t: 2 * t - np.logaddexp(0.0, 2 * t),
}


def posterior_of_two(x, nu):
    """P(hidden | own score) for two tokens of the max task."""
    found = np.empty(x.size)
    for i, own in enumerate(x):
        y, w = rule([(own, min(1.0, 1 / max(nu, 1e-9)))])
        found[i] = w @ expit(nu * (own - y))
    return found


def posterior_of_many(x, nu, length):
    """The same for any number of tokens: 1/Z as an integral of exp(-t Z), on a fine grid of log t."""
    if np.isinf(nu):
        return np.exp((length - 1) * log_ndtr(x))
    y, w = rule([(0.0, 1.0)])
    step = 0.04
    u = np.arange(-nu * REACH - 45 - np.log(length), nu * REACH + 6, step)
    lost = np.array([w @ -np.expm1(-np.exp(np.minimum(t + nu * y, 700.0))) for t in u])
    survival = np.array([w @ np.exp(-np.exp(np.minimum(t + nu * y, 700.0))) for t in u])
    logs = np.where(lost < 0.5, np.log1p(-np.minimum(lost, 0.9)), np.log(np.maximum(survival, 1e-300)))
    rest = np.exp((length - 1) * logs)
    v = u[:, None] + nu * x
    return step * (rest @ np.exp(v - np.exp(np.minimum(v, 700.0))))


def element_wise(function, m, nu, length, bend=0.0, is_bump=False):
    """S and Q of an element-wise weight in the max task: one token, weighted by its posterior."""
    x, w = rule([(bend / m, 1 / abs(m)), (0.0, 1.0)])
    posterior = posterior_of_two(x, nu) if length == 2 and np.isfinite(nu) else posterior_of_many(x, nu, length)
    weight = function(m * x)
    return float(length * (w * posterior) @ weight), float(length * (w @ weight**2))


def spiked_element_wise(function, m, nu, length, bend=0.0):
    """S and Q in the spiked task: the hidden score has mean sqrt(nu)."""
    shift = np.sqrt(nu)
    x, w = rule([(bend / m - shift, 1 / abs(m))])
    y, v = rule([(bend / m, 1 / abs(m))])
    first = function(m * (x + shift))
    return float(w @ first), float(w @ first**2 + (length - 1) * (v @ function(m * y) ** 2))


def normalised(log_kernel, m, nu, task, sharpness=2.0):
    """S and Q of two tokens with normalised weights: a double integral over both scores."""
    shift = np.sqrt(nu) if task == "spiked" else 0.0
    scale = 1 / (sharpness * abs(m))
    x, w = rule([(-shift, scale), (0.0, 1.0)])
    first = second = 0.0
    for own, mass in zip(x + shift, w, strict=True):
        y, v = rule([(own, min(scale, 1 / max(nu, 1e-9))), (0.0, scale)])
        mine = expit(log_kernel(m * own) - log_kernel(m * y))
        hidden = 1.0 if task == "spiked" else 2 * expit(nu * (own - y))
        first += mass * (v @ (hidden * mine))
        second += mass * (v @ (mine**2 + (1 - mine) ** 2))
    return float(first), float(second)


def largest_of_many(function, m, length, bend=0.0):
    """S of an element-wise weight at infinite nu: the law of the largest score."""
    x, w = rule([(bend / m, 1 / abs(m))])
    return float(length * (w * ndtr(x) ** (length - 1)) @ function(m * x))
