"""Gaussian means of erf, and risks of its attention layer, by plain sums over the normal variable of the definitions.

The layer is T = sum_l erf(lam X_l.k) X_l.v. A token is Gaussian, so given X.k the rest is linear algebra: X.v and X.v*
have means linear in X.k and a known covariance. That leaves one integral over X.k per mean. The integrands are entire
and the trapezoidal sum of an entire function under a Gaussian has no error but rounding.
"""

import math

import numpy as np
from scipy import special

from tests.registry.reference_attention import normal_line, settled


def erf_means(t, g):
    """E erf, E erf^2, E (1 - erf)^2 and E G^j erf for j = 1, 2, 3, of erf(t + g G), each with its error."""
    # (1 - erf)^2 of a large argument is largest where the normal variable makes up for it
    reach = max(0.0, 4 * t * g / (1 + 4 * g * g))
    functions = {
        "mean": lambda x, y: special.erf(y),
        "square": lambda x, y: special.erf(y) ** 2,
        "miss": lambda x, y: special.erfc(y) ** 2,
        "first": lambda x, y: x * special.erf(y),
        "second": lambda x, y: x**2 * special.erf(y),
        "third": lambda x, y: x**3 * special.erf(y),
    }

    def compute(step):
        x, w = normal_line(step, g, (reach, 0.0))
        return [w @ function(x, t + g * x) for function in functions.values()]

    return dict(zip(functions, settled(compute), strict=True))


def risk(kappa, nu, theta, eta, rho, lam, gamma, d, L, eps=0.0):
    """E (Y - T)^2 of the attention layer, the hidden token first."""
    spike = math.sqrt(d / 2)

    def compute(step):
        hidden = _token(step, lam, gamma, spike * kappa, spike * theta, eta, rho, nu)
        other = _token(step, lam, 1.0, 0.0, 0.0, eta, rho, nu)
        squares = hidden["TT"] + (L - 1) * other["TT"]
        products = 2 * (L - 1) * hidden["T"] * other["T"] + (L - 1) * (L - 2) * other["T"] ** 2
        return eps**2 + gamma**2 - 2 * hidden["TY"] + squares + products

    return settled(compute)


def _token(step, lam, gamma, score, value, eta, rho, nu):
    """E T, E T^2 and E T Y of one token N(spike, gamma^2 I), given the means of X.k and X.v."""
    x, w = normal_line(step, lam * gamma)
    weight, projected = special.erf(lam * (score + gamma * x)), value + gamma * rho * x
    return {
        "T": w @ (weight * projected),
        "TT": w @ (weight**2 * (projected**2 + gamma**2 * (1 - rho**2))),
        "TY": w @ (weight * (projected * gamma * eta * x + gamma**2 * (nu - rho * eta))),
    }


def best_linear(gamma, L, eps=0.0, d=4):
    """Risk of the best linear predictor on all tokens: normal equations of the second moments, solved as they stand."""
    key, value = 0, 1
    # each token is the hidden one with probability 1/L; only the hidden one has a mean, along k*
    block = np.eye(d) * (gamma**2 + L - 1) / L
    block[key, key] += d / 2 / L
    moments = np.kron(np.eye(L), block)
    cross = np.zeros(L * d)
    cross[value::d] = gamma**2 / L
    return eps**2 + gamma**2 - cross @ np.linalg.solve(moments, cross)
