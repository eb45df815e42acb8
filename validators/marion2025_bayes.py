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


@simulator(covers=("bound",))
def overlap(point: Point, rng: np.random.Generator, count: int) -> dict[str, Array]:
    """The excess with the posterior of each wrong place replaced by the root of the odds, which it never exceeds."""
    L, d, gamma = int(point["L"]), int(point["d"]), float(point["gamma"])
    hidden, noise = _tokens(rng, (count,), d, gamma, np.sqrt(d / 2)), _tokens(rng, (count,), d, 1.0, 0.0)
    half = (_log_odds(noise, d, gamma) - _log_odds(hidden, d, gamma)) / 2
    return {"bound": (L - 1) * hidden[1] ** 2 * np.exp(half)}


@simulator(deterministic=True, tolerance=1e-5, covers=("gap", "least", "rate"))
def gap(point: Point, rng: np.random.Generator, count: int = 2) -> dict[str, list[float]]:
    """The least risk of the oracle over lam, less what the Bayes excess is at most, by integrals over a coordinate."""
    L, d, gamma = int(point["L"]), int(point["d"]), float(point["gamma"])
    shift = np.sqrt(d / 2)
    x = np.linspace(-40 * (1 + gamma), 40 * (1 + gamma) + shift, 400_001)

    def root(centre: float) -> Array:
        """Root of the product of the two densities of a coordinate, the informative one around a centre."""
        return np.exp(-(((x - centre) / gamma) ** 2 + x**2) / 4) / np.sqrt(2 * np.pi * gamma)

    along, across, square = (np.trapezoid(y, x) for y in (root(shift), root(0.0), x**2 * root(0.0)))
    bound = (L - 1) * along**2 * across ** (2 * d - 3) * square
    best, leading = optimal_lambda(point, rng, count)["excess"], optimal_rate(point, rng, count)["excess"]
    return {"gap": list(best), "least": [value - bound for value in best], "rate": list(leading)}
