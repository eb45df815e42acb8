"""Three theorems written once more, by other means, to draw data from."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import erf

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(120)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


def oracle_risk(lam, gamma, d, L):
    """marion2025: what the right token misses and what the others let in, by Gauss-Hermite quadrature."""
    own = np.sum(_WEIGHTS * (1 - erf(lam * np.sqrt(d / 2) + lam * gamma * _NODES)) ** 2)
    return gamma**2 * own + (L - 1) * np.sum(_WEIGHTS * erf(lam * _NODES) ** 2)


def ridge_error(c, snr, gamma):
    """liao2026: minus gamma^2 times the derivative of A (1 + A)/(1 + m A), by a complex step."""
    z = gamma + 1e-30j
    b = z + c - 1
    root = (-b + np.sqrt(b * b + 4 * z)) / (2 * z)
    return -(gamma**2) * np.imag(root * (1 + root) / (1 + (1 + snr) * root)) / 1e-30


def linear_attention_risk(nu, L):
    """duranthon2026, spiked: 1 - S^2/Q for weights 1 + a chi, minimised over a."""

    def risk(a):
        s = 1 + a * np.sqrt(nu)
        return 1 - s**2 / (s**2 + a**2 + (L - 1) * (1 + a**2))

    return minimize_scalar(risk, bounds=(0, 5 * np.sqrt(nu) + 5), method="bounded", options={"xatol": 1e-10}).fun
