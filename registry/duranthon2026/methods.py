"""Numbers behind ``choice.py``: the probability that a token is the largest of omega_l + s xi_l + g_l / slope.

xi is standard normal and g standard Gumbel, independent for each token; with an infinite slope there is no g. Adding
Gumbel noise and taking the largest draws a token from softmax(slope (omega + s xi)). P_e is the integral over x of
the density of token e at x times the probability that all others are below x. One grid of x, around the largest
omega, serves all tokens: the trapezoidal rule converges geometrically for such integrands.
"""

from __future__ import annotations

import math
import threading
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]
#: Nodes in units of s from the largest omega; beyond the ends less than 1e-9 of the mass is left for any length used.
STEP = 0.5
NODES: Array = np.arange(-6.0, 7.5, STEP)
#: The same for Gumbel noise, in units of 1/slope: its lower tail is doubly exponential, its upper one exponential. The
#: rule for two densities converges as |Gamma(2 + 2 pi i/step)|, 6e-7 with the step above and 1e-12 with this one.
GUMBEL_STEP, BELOW, ABOVE = 0.3125, 3.2, 25.0
#: The law of such noise is tabulated so many times between two nodes, for tokens up to so many steps behind the first;
#: cubics between the entries are right to 3e-10.
FINER, FAR = 20, 160
TINY = 1e-300


def brought_to_front(x: Array, slope: Any, u: Any) -> Array:
    """Tokens in decreasing order, the one that the uniform u draws from softmax(slope x) before all others."""
    ordered = -np.sort(-x, axis=-1)
    weights = np.exp(slope * (ordered - ordered[..., :1]))
    share = np.cumsum(weights, axis=-1) / np.sum(weights, axis=-1, keepdims=True)
    place = np.minimum(np.sum(share < u, axis=-1, keepdims=True), x.shape[-1] - 1)
    # after sorting by the key the drawn token is first and the order of the others is kept
    order = np.argsort(np.where(np.arange(x.shape[-1]) == place, -1, np.arange(x.shape[-1])), axis=-1)
    result: Array = np.take_along_axis(ordered, order, axis=-1)
    return result


def log_probability(omega: Array, spread: Any, slope: float = math.inf) -> Array:
    """Log probability of each token, (n, L)."""
    result: Array = np.log(np.maximum(_shares(omega, spread, slope)[2], TINY))
    return result


def score(omega: Array, log_weight: Array, spread: Any, slope: float = math.inf) -> Array:
    """Derivative in omega of log sum_e exp(c_e) P_e.

    dP_e/domega_j = -int f_e f_j prod_{i not e, j} F_i for j not e, f and F being density and distribution function
    of the noise; a constant added to omega changes nothing, which gives the diagonal.
    """
    hazard, weight, share = _shares(omega, spread, slope)
    level = log_weight + np.log(np.maximum(share, TINY))
    factor = np.exp(log_weight - np.max(level, axis=-1, keepdims=True))
    # a token so far behind that its probability underflows has no weight, and no derivative
    total = np.maximum(np.sum(factor * share, axis=-1, keepdims=True), TINY)
    common = hazard * weight[:, None, :]
    overlap = np.einsum("nek,njk->nej", common, hazard)
    np.einsum("nee->ne", overlap)[...] = 0.0
    outgoing = np.einsum("ne,nej->nj", factor, overlap)
    own = factor * np.sum(overlap, axis=-1)
    result: Array = (own - outgoing) / total
    return result


#: The last array that was asked about, and the answer: probabilities and their derivatives are wanted together.
_last = threading.local()


def _shares(omega: Array, spread: Any, slope: float) -> tuple[Array, Array, Array]:
    """Hazards f/F of each token at each node (n, L, K), weights of the nodes (n, K), probabilities (n, L)."""
    spread = float(np.asarray(spread).reshape(-1)[0])
    known = getattr(_last, "known", None)
    if known is None or known[0] is not omega or known[1:3] != (spread, slope):
        known = _last.known = (omega, spread, slope, _computed_shares(omega, spread, slope))
    found: tuple[Array, Array, Array] = known[3]
    return found


def _computed_shares(omega: Array, spread: float, slope: float) -> tuple[Array, Array, Array]:
    behind = np.max(omega, axis=-1, keepdims=True) - omega
    # no argument is below the first node, so nothing here underflows
    if math.isinf(slope):
        step = STEP * spread
        at = NODES + (behind / spread)[..., None]
        below = ndtr(at)
        hazard = np.exp(-0.5 * at * at) / (math.sqrt(2 * math.pi) * spread * below)
    else:
        step = GUMBEL_STEP * max(spread, 1 / slope)
        hazards, belows = _table(spread, float(slope), omega.shape[-1])
        hazard, below = _between(behind * (FINER / step), hazards, belows)
    weight = step * np.prod(below, axis=-2)
    found = np.einsum("nlk,nk->nl", hazard, weight)
    return hazard, weight, found / np.sum(found, axis=-1, keepdims=True)


def _between(place: Array, *tables: Array) -> list[Array]:
    """Rows of tables at fractional places, by cubics through four rows; row 1 is place 0."""
    inside = np.minimum(place, len(tables[0]) - 4.0)
    row = inside.astype(np.intp)
    t = inside - row
    shares = (-t * (t - 1) * (t - 2) / 6, (t * t - 1) * (t - 2) / 2, -t * (t + 1) * (t - 2) / 2, t * (t * t - 1) / 6)
    return [np.sum([s[..., None] * table[row + i] for i, s in enumerate(shares)], axis=0) for table in tables]


@lru_cache(maxsize=4)
def _table(spread: float, slope: float, length: int) -> tuple[Array, Array]:
    """Hazard f/F and F of s xi + g/slope, (tokens so far behind the first, nodes).

    The wider part of the noise is kept as a function and averaged over the narrower one.
    """
    step = GUMBEL_STEP * max(spread, 1 / slope)
    low, high = -(6 * spread + BELOW / slope), 7.5 * spread + (ABOVE + math.log(length)) / slope
    nodes, rows = math.ceil((high - low) / step), FINER * FAR
    places = (low + step / FINER * np.arange(-1, rows + FINER * nodes))[:, None]
    if spread * slope > 1:
        shifts = np.arange(-3.75, 40.0, 0.25)
        shares = 0.25 * np.exp(-shifts - np.exp(-shifts))
        inside = (places - shifts / slope) / spread
        density, below = np.exp(-0.5 * inside**2) / (math.sqrt(2 * math.pi) * spread), ndtr(inside)
    else:
        shifts = np.arange(-9.0, 9.25, 0.25)
        shares = 0.25 * np.exp(-0.5 * shifts**2) / math.sqrt(2 * math.pi)
        decay = np.exp(-slope * (places - spread * shifts))
        below = np.exp(-decay)
        density = slope * decay * below
    pick = np.arange(rows)[:, None] + FINER * np.arange(nodes)
    whole = below @ shares
    return ((density @ shares) / np.maximum(whole, TINY))[pick], np.minimum(whole, 1.0)[pick]
