"""Errors of ridge regression and of nonlinear attention by quadrature over spectral measures.

S = X^T X/p of noise has the Marchenko-Pastur law of ratio n/p. Ridge regression is a two-dimensional update of its
resolvent. Attention needs three self-consistent numbers, found here by plain damped iteration with an integral over
the law in each step; derivatives in gamma are taken by a complex step through the iteration.
"""

import functools
import math

import numpy as np
from mpmath import mp
from scipy import optimize

DIGITS = 30


# ---- the law of noise ----


@functools.lru_cache(maxsize=64)
def spectral_law(ratio, count=6000):
    """Points and weights of the Marchenko-Pastur law of G^T G/p, G having p rows and ratio * p columns, with its atom.

    In the angle the law is smooth and periodic, where the midpoint rule has no error but rounding.
    """
    root = math.sqrt(ratio)
    half = (np.arange(count) + 0.5) * math.pi / (2 * count)
    s = (1 - root) ** 2 + 4 * root * np.cos(half) ** 2
    weights = 8 * np.sin(half) ** 2 * np.cos(half) ** 2 / s / count
    if ratio > 1:
        s, weights = np.append(s, 0.0), np.append(weights, 1 - 1 / ratio)
    return s, weights


def slope(function, at):
    """The derivative of an analytic function, by a step into the complex plane: nothing cancels."""
    step = 1e-30 * at
    return function(complex(at, step)).imag / step


# ---- ridge regression on the tokens themselves ----


def ridge_error(c, gamma, snr=0.0, count=6000):
    """-gamma^2 d/dgamma of y^T (X^T X/n + gamma)^-1 y / n, X = mu y^T + Z: rank two added to noise."""
    of_samples, of_tokens = spectral_law(1 / c, count), spectral_law(c, count)

    def form(g):
        samples = np.sum(of_samples[1] / (c * of_samples[0] + g))
        # Z Z^T/n has n columns as rows of G: its law is that of ratio p/n
        tokens = np.sum(of_tokens[1] * of_tokens[0] / (of_tokens[0] + g))
        # the basis is y/sqrt(n) and Z^T mu/sqrt(n); their cross term vanishes
        plain = np.array([[samples, 0], [0, snr * tokens]])
        update = np.array([[snr, 1], [1, 0]])
        return (plain @ np.linalg.inv(np.eye(2) + update @ plain))[0, 0]

    return -(gamma**2) * slope(form, gamma)


# ---- attention on noise ----


def solve_noise(c, gamma, a1, second_moment, diagonal=0.0, count=6000):
    """The numbers (g, e, eta) of the noise resolvent: damped steps from where a flat law would put them."""
    s, w = spectral_law(1 / c, count)
    rest = second_moment - a1**2
    kappa, start = math.sqrt(c) * a1, -math.sqrt(c) * (a1 - diagonal)

    def step(x):
        g, e, eta = x
        line = kappa * s + eta
        bottom = g * (1 + e * s) + s * line**2
        first = gamma + rest * g * np.sum(w * s / bottom)
        second = rest * np.sum(w * (1 + e * s) / bottom)
        return np.array([first, second, start - rest * np.sum(w * s * line / bottom)])

    x = np.array([gamma + rest, rest / (gamma + rest), start])
    for _ in range(20000):
        new = (x + step(x)) / 2
        change = max(_relative(new.real, x.real), _relative(new.imag, x.imag))
        x = new
        if change < 1e-15:
            break
    return x


def _relative(new, old):
    return float(np.max(np.abs(new - old) / (np.abs(old) + 1e-300)))


def null_error(c, gamma, a1, second_moment, diagonal=0.0, count=6000):
    """-gamma^2 alpha'(gamma), alpha = int (1 + e s)/P over the law of noise."""
    s, w = spectral_law(1 / c, count)

    def alpha(at):
        g, e, eta = solve_noise(c, at, a1, second_moment, diagonal, count)
        return np.sum(w * (1 + e * s) / (g * (1 + e * s) + s * (math.sqrt(c) * a1 * s + eta) ** 2))

    return -(gamma**2) * slope(alpha, gamma)


def hermite_moments(function, breaks=()):
    """Mean, E f'(xi) = E xi f(xi), variance and E f (xi^2 - 1)/sqrt2 of a function of a standard normal variable."""
    with mp.workdps(DIGITS):
        far = [mp.mpf(k) for k in (-16, -8, -4, -2, 2, 4, 8, 16)]
        places = sorted({*far, *(mp.mpf(b) for b in breaks), mp.mpf(0)})

        def mean(h):
            return mp.quad(lambda x: h(x) * mp.npdf(x), places)

        centre = mean(function)
        return {
            "mean": centre,
            "a1": mean(lambda x: x * (function(x) - centre)),
            "second_moment": mean(lambda x: (function(x) - centre) ** 2),
            "a2": mean(lambda x: (x**2 - 1) * function(x)) / mp.sqrt(2),
        }


def large_gamma_slope(c, a1, second_moment):
    """M1 of E = 1 - 2 M1/gamma on noise: the mean eigenvalue of K^T X^T X K/n."""
    s, w = spectral_law(1 / c)
    return second_moment - a1**2 + c * a1**2 * float(w @ (s * (s - 1) ** 2))


def wide_error(gamma, second_moment):
    """The limit c -> oo on noise: K S K with S = I, K semicircular of variance second_moment/c."""

    # E of (gamma/(gamma + second_moment x^2))^2 over the semicircle of radius 2
    def inside(angle):
        return (gamma / (gamma + second_moment * 4 * mp.cos(angle) ** 2)) ** 2 * mp.sin(angle) ** 2

    with mp.workdps(DIGITS):
        return 2 / mp.pi * mp.quad(inside, [0, mp.pi / 4, mp.pi / 2, 3 * mp.pi / 4, mp.pi])


def ridge_of_summed_tokens(L, alpha, delta, r_v, activation):
    """Ridge regression on the sum (or mean) of tokens: the replica equations as a root in V, by bracketing."""
    first, second = (1 / L, 1 / L) if activation == "softmax" else (1.0, float(L))

    def gap(log_v):
        v = math.exp(log_v)
        return v * (r_v + alpha * second / (1 + v * second)) - 1

    v = math.exp(optimize.brentq(gap, -800, 700, xtol=1e-15, rtol=1e-15))
    overlap = v * alpha * first / (1 + v * second)
    q = overlap**2
    for _ in range(100000):
        new = (
            overlap**2
            + v**2 * alpha * second * (1 + delta**2 - 2 * overlap * first + q * second) / (1 + v * second) ** 2
        )
        if abs(new - q) <= 1e-16 * abs(new):
            break
        q = new
    return {"risk": delta**2 + 1 - 2 * overlap * first + q * second, "m_v": overlap, "q_v": q, "V_v": v}
