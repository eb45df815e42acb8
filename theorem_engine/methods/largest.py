"""Probability that a token is the largest of omega_l + s xi_l with independent standard normal xi, and its slope.

P_e is the integral over x of the density of token e at x times the probability that all others are below x. One grid of
x, around the largest omega, serves all tokens: the trapezoidal rule converges geometrically for such integrands.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]
#: Nodes in units of s from the largest omega; beyond the ends less than 1e-9 of the mass is left for any length used.
STEP = 0.5
NODES: Array = np.arange(-6.0, 7.5, STEP)
TINY = 1e-300


def _shares(omega: Array, spread: Any) -> tuple[Array, Array, Array]:
    """Hazards phi/Phi of each token at each node (n, L, K), weights of the nodes (n, K), probabilities (n, L)."""
    at = NODES + ((np.max(omega, axis=-1, keepdims=True) - omega) / spread)[..., None]
    # no argument is below the first node, so nothing here underflows
    below = ndtr(at)
    hazard = np.exp(-0.5 * at * at) / (np.sqrt(2 * np.pi) * below)
    weight = STEP * np.prod(below, axis=-2)
    found = np.einsum("nlk,nk->nl", hazard, weight)
    return hazard, weight, found / np.sum(found, axis=-1, keepdims=True)


def log_probability(omega: Array, spread: Any) -> Array:
    """Log probability of each token, (n, L)."""
    result: Array = np.log(np.maximum(_shares(omega, spread)[2], TINY))
    return result


def score(omega: Array, log_weight: Array, spread: Any) -> Array:
    """Derivative in omega of log sum_e exp(c_e) P_e.

    dP_e/domega_j = -int phi_e phi_j prod_{i not e, j} Phi_i / s for j not e; a constant added to omega changes
    nothing, which gives the diagonal.
    """
    hazard, weight, share = _shares(omega, spread)
    level = log_weight + np.log(np.maximum(share, TINY))
    factor = np.exp(log_weight - np.max(level, axis=-1, keepdims=True))
    total = np.sum(factor * share, axis=-1, keepdims=True)
    common = hazard * weight[:, None, :]
    overlap = np.einsum("nek,njk->nej", common, hazard) / spread
    np.einsum("nee->ne", overlap)[...] = 0.0
    outgoing = np.einsum("ne,nej->nj", factor, overlap)
    own = factor * np.sum(overlap, axis=-1)
    result: Array = (own - outgoing) / total
    return result
