"""Channel averages in double precision by quadrature over the differences between two or three tokens.

Let x_1 be the first token and x_2 >= x_3 the others in decreasing order, each order standing for all. The bodies depend
on a = x_1 - x_2, any number, and on b = x_2 - x_3 >= 0 alone, with Gaussian weight; they vary over the scale c where
tokens are nearly equal, and over longer lengths farther off. Panels that grow by a factor of two from c up, each with
Gauss-Legendre nodes, resolve both, whatever c is.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.each_point import each_point
from theorem_engine.base.errors import NotAvailable
from theorem_engine.base.random_sets import is_restricted
from theorem_engine.base.reports import is_heard, note

Array = NDArray[np.float64]
#: Nodes of a panel, and of the coarser rule whose distance is the error reported.
FINE, COARSE = 12, 9
#: Longest panel, over which the Gaussian weight of a difference is resolved, and the largest difference: the mass
#: beyond is 3e-21.
LONGEST, FARTHEST = 2.5, 13.5
#: Shortest first panel; a body that varies faster shows in the distance of the two rules.
SHORTEST = 1e-9
#: Nodes evaluated at once.
AT_ONCE = 2**11
#: Relative accuracy of the functions of tokens that bodies are made of, squares of probabilities' slopes included.
FUNCTIONS = 5e-9


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """All bodies at the same nodes."""
    (mean,) = means
    sizes = backend.function(parameters, list(mean.sizes))
    bodies = backend.function([*mean.noise, *parameters], list(mean.bodies), mean.definitions)

    def evaluate(*values: Any) -> list[float]:
        tokens, scale = (float(x) for x in sizes(*values))
        if tokens not in (2, 3):
            raise NotAvailable(f"quadrature over the differences between {tokens:g} tokens; two or three are served")
        if not scale > 0:
            # parameters outside their domain, on the way of an iteration
            return [np.nan] * len(mean.bodies)

        def by(nodes: int) -> Array:
            return _means(bodies, values, int(tokens), scale, nodes)

        # each set of random numbers alone is an evaluation that is less exact; with a coarser rule, so is this one
        found = by(COARSE if is_restricted() else FINE)
        if is_heard():
            gaps = np.abs(found - by(COARSE)) + FUNCTIONS * np.abs(found)
            note("channel quadrature", [float(g) for g in gaps], f"panels of {FINE} nodes in {int(tokens) - 1} gaps")
        return [float(x) for x in found]

    return lambda *values: each_point(evaluate, values)


def _means(bodies: Numeric, values: tuple[Any, ...], tokens: int, scale: float, nodes: int) -> Array:
    centred, weights = _grid(tokens, scale, nodes)
    first = (np.arange(tokens) == 0).astype(float)
    total: Array = np.zeros(0)
    with np.errstate(all="ignore"):
        for begin in range(0, len(weights), AT_ONCE):
            part = slice(begin, begin + AT_ONCE)
            columns = [np.broadcast_to(b, (len(weights[part]), 1))[:, 0] for b in bodies(centred[part], first, *values)]
            # where the weight vanishes a body may be the quotient of two numbers that underflow
            rows = np.where(weights[part] > 0, np.stack(columns), 0.0) @ weights[part]
            total = rows if not total.size else total + rows
    return total


@lru_cache(maxsize=4)
def _grid(tokens: int, scale: float, nodes: int) -> tuple[Array, Array]:
    """Tokens with mean zero (n, tokens), and the weights of the nodes (n,)."""
    gap, length = _panels(scale, nodes)
    both, lengths = np.concatenate([-gap[::-1], gap]), np.concatenate([length[::-1], length])
    if tokens == 2:
        raw, weight = np.stack([both, np.zeros_like(both)], axis=-1), lengths
    else:
        a, b = (x.ravel() for x in np.meshgrid(both, gap, indexing="ij"))
        raw, weight = np.stack([a, np.zeros_like(a), -b], axis=-1), np.outer(lengths, length).ravel()
    centred = raw - np.mean(raw, axis=-1, keepdims=True)
    # the differences of L standard normals have a covariance of determinant L
    density = np.exp(-0.5 * np.sum(centred**2, axis=-1)) / math.sqrt(tokens * (2 * math.pi) ** (tokens - 1))
    weight = math.factorial(tokens - 1) * weight * density
    kept = weight > 1e-25 * np.max(weight)
    return centred[kept], weight[kept]


def _panels(scale: float, nodes: int) -> tuple[Array, Array]:
    """Nodes and weights from zero to the largest difference."""
    ends = [0.0]
    step = min(max(scale, SHORTEST), LONGEST)
    while ends[-1] < FARTHEST:
        ends.append(ends[-1] + step)
        step = min(LONGEST, ends[-1])
    x, w = np.polynomial.legendre.leggauss(nodes)
    low, high = np.array(ends[:-1])[:, None], np.array(ends[1:])[:, None]
    return ((high + low) / 2 + (high - low) / 2 * x).ravel(), ((high - low) / 2 * w).ravel()
