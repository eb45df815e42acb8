"""The Bayes estimate of single-location regression: the posterior of the place from the densities of the tokens."""

from __future__ import annotations

import numpy as np

from .marion2025 import Array, Point
from .marion2025_landscape import optimal_lambda, optimal_rate
from .simulator import simulator

#: Tokens drawn at once.
BLOCK = 2**18
#: Squares of numbers below this are no doubles.
FAINTEST = 1e-150


def _tokens(rng: np.random.Generator, shape: tuple[int, ...], d: int, scale: float, shift: float) -> list[Array]:
    """Components along k* and v*, and the squared length of the other d - 2, of Gaussian tokens."""
    others = rng.chisquare(d - 2, shape) if d > 2 else np.zeros(shape)
    return [shift + scale * rng.standard_normal(shape), scale * rng.standard_normal(shape), scale**2 * others]


def _log_odds(token: list[Array], d: int, gamma: float) -> Array:
    """Log density of an informative token less that of noise."""
    along, across, others = token
    shift = np.sqrt(d / 2)
    informative = ((along - shift) ** 2 + across**2 + others) / (2 * gamma**2) + d * np.log(gamma)
    return (along**2 + across**2 + others) / 2 - informative


@simulator(covers=("risk", "excess"))
def posterior_mean(point: Point, rng: np.random.Generator, count: int) -> dict[str, Array]:
    """Posterior variance of the informative token along v*, given all tokens; label noise is added as its variance."""
    L, d, gamma, eps = int(point["L"]), int(point["d"]), float(point["gamma"]), float(point.get("eps", 0.0))
    found = np.empty(count)
    rows = max(1, BLOCK // L)
    for start in range(0, count, rows):
        n = min(rows, count - start)
        hidden = _tokens(rng, (n, 1), d, gamma, np.sqrt(d / 2))
        noise = _tokens(rng, (n, L - 1), d, 1.0, 0.0)
        token = [np.concatenate(pair, axis=1) for pair in zip(hidden, noise, strict=True)]
        odds = _log_odds(token, d, gamma)
        chances = np.exp(odds - odds.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        values = token[1]
        mean = np.einsum("nl,nl->n", chances, values)
        found[start : start + n] = np.einsum("nl,nl->n", chances, (values - mean[:, None]) ** 2)
    # of draws whose squares are below the smallest double no spread is known: the events that matter were not met
    return {"risk": found + eps**2, **({"excess": found} if found.max() > FAINTEST else {})}


def _roots(d: int, gamma: float) -> tuple[float, float, float]:
    """Integrals over one coordinate of the root of the product of the two laws of a token.

    Along k*, where the informative one has the mean sqrt(d/2); along another; and of its square there.
    """
    shift = np.sqrt(d / 2)
    x = np.linspace(-40 * (1 + gamma), 40 * (1 + gamma) + shift, 400_001)

    def root(centre: float) -> Array:
        return np.exp(-(((x - centre) / gamma) ** 2 + x**2) / 4) / np.sqrt(2 * np.pi * gamma)

    along, across, square = (float(np.trapezoid(y, x)) for y in (root(shift), root(0.0), x**2 * root(0.0)))
    return along, across, square


def _bound(point: Point) -> float:
    """What the excess is at most: (L - 1) times integrals of the root of the product of the laws of two tokens.

    The posterior of a wrong place is below the root of its odds, and the mean of (X_J.v*)^2 times that root is such an
    integral for the wrong token, and one with the square of a coordinate for the right one.
    """
    L, d = int(point["L"]), int(point["d"])
    along, across, square = _roots(d, float(point["gamma"]))
    return float((L - 1) * along**2 * across ** (2 * d - 3) * square)


@simulator(deterministic=True, tolerance=1e-9, covers=("bound",))
def overlap(point: Point, rng: np.random.Generator, count: int = 2) -> dict[str, list[float]]:
    """The excess with the posterior of each wrong place replaced by the root of the odds, by integrals."""
    return {"bound": [_bound(point)] * count}


@simulator(deterministic=True, tolerance=1e-5, covers=("gap", "least", "rate"))
def gap(point: Point, rng: np.random.Generator, count: int = 2) -> dict[str, list[float]]:
    """The least risk of the oracle over lam, less what the Bayes excess is at most, by integrals over a coordinate."""
    bound = _bound(point)
    best, leading = optimal_lambda(point, rng, count)["excess"], optimal_rate(point, rng, count)["excess"]
    return {"gap": list(best), "least": [value - bound for value in best], "rate": list(leading)}
