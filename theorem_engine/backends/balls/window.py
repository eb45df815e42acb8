"""Where the sum over u of a token mean begins and ends, guessed in double precision.

None of it is part of a proof: what lies beyond the ends is bounded in balls, and a window that is too narrow only
widens the result. On a coarse grid the logarithms of all brackets are worked out by sums over the scores, then those of
the integrand and of the bounds beyond either end; the window ends where the bounds are below what the digits need.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Places of u, scores of a token, lengths of a distribution that are looked at.
PLACES, SCORES, LENGTHS = 100, 150, 16
#: Natural logarithms beyond the digits, for the coarse sums.
SPARE = 6.0


class Scores:
    """Logarithms of E f(u + mu + s x) on the grid of u, for the functions f of one kind of token."""

    def __init__(self, mu: float, s: float, u: NDArray[np.float64], reach: float) -> None:
        x = np.linspace(-reach, reach, SCORES if s else 1) if s else np.zeros(1)
        self.weights = -(x**2) / 2
        self.weights -= np.logaddexp.reduce(self.weights)
        self.v = np.minimum(u[:, None] + mu + s * x, 600.0)

    def mean(self, logarithms: NDArray[np.float64]) -> NDArray[np.float64]:
        """The logarithm of the mean of a function with the logarithms given."""
        logarithms += self.weights
        largest = np.maximum(logarithms.max(axis=1), -1e300)
        found: NDArray[np.float64] = largest + np.log(np.exp(logarithms - largest[:, None]).sum(axis=1))
        return found

    def kernel(self, power: int) -> NDArray[np.float64]:
        """log K_p."""
        return self.mean(power * self.v - np.exp(self.v))

    def missing(self) -> NDArray[np.float64]:
        """log(1 - B)."""
        return self.mean(np.log(-np.expm1(-np.exp(self.v))))


def find_window(
    lines: Sequence[tuple[float, float]], products: Sequence[Sequence[tuple[int, int]]],
    lengths: Sequence[tuple[int, float, float, int]], ends: tuple[float, float], reach: float, digits: float,
) -> tuple[float, float]:  # fmt: skip
    """The ends of the sum, inside those given.

    ``lines`` are mu and s of every kind of token, ordinary ones first; a product is a list of brackets (kind, power);
    ``lengths`` for each product are (its number, logarithm of a length's share, of its choices, tokens left over).
    """
    with np.errstate(all="ignore"):
        u = np.linspace(*ends, PLACES)
        kinds = [Scores(mu, s, u, reach) for mu, s in lines]
        survival, missing = [k.kernel(0) for k in kinds], [k.missing() for k in kinds]
        # what a bound right of a place knows is the survival log 2 and a step before
        before = [Scores(mu - 1.0, s, u, reach).kernel(0) for mu, s in lines]
        known: dict[tuple[int, int], NDArray[np.float64]] = {}
        low, high = math.inf, -math.inf
        for number, brackets in enumerate(products):
            own = [x for x in lengths if x[0] == number]
            if not own:
                continue
            body, right = np.zeros(PLACES), np.zeros(PLACES)
            left = np.zeros(PLACES)
            for kind, power in brackets:
                if (kind, power) not in known:
                    known[kind, power] = kinds[kind].kernel(power)
                body += known[kind, power]
                right += before[kind] if power else survival[kind]
                left += missing[kind] if power else 0.0
            rest = np.logaddexp.reduce([w + c + n * survival[0] for _, w, c, n in own], axis=0)
            target = np.nanmax(body + rest) - digits - SPARE
            most = np.logaddexp.reduce([w + c for _, w, c, _ in own])
            is_low = np.flatnonzero(left + most < target)
            is_high = np.flatnonzero(right + rest < target)
            low = min(low, u[is_low[-1]] if len(is_low) else ends[0])
            high = max(high, u[is_high[0]] if len(is_high) else ends[1])
    return (low, high) if ends[0] <= low < high <= ends[1] else ends
