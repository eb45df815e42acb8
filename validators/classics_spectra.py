"""Sample covariance matrices as they are defined: traces of resolvents, edges, and the top eigenpair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.linalg import eigh_tridiagonal, eigvalsh_tridiagonal

from .simulator import simulator

Point = Mapping[str, Any]
#: Samples drawn for a matrix.
SIZE = 300
#: Where eigenvalues alone are wanted, matrices can be larger.
LONG = 2000


def sizes(ratio: float, size: int) -> tuple[int, int]:
    """Samples and dimension whose ratio p/n is nearest to the one asked for, the larger near the size."""
    best = (np.inf, 1, 1)
    for n in range(max(2, round(0.9 * size / max(1.0, ratio))), round(1.1 * size / max(1.0, ratio)) + 3):
        p = max(1, round(ratio * n))
        # of equally good ones the nearest to the size
        best = min(best, (abs(p / n / ratio - 1) + 1e-9 * abs(max(n, p) - size), n, p))
    return best[1], best[2]


def columns(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Results of runs, one array for each name."""
    return {name: np.array([one[name] for one in found]) for name in found[0]}


@simulator(size=SIZE, orders=(1.0,), cost=3.0, covers=("m", "atom", "slope"))
def resolvent_traces(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """Traces of (S - z)^(-1) and its square over p, and the share of zero eigenvalues."""
    n, p = sizes(float(point["g"]), int(point.get("size", SIZE)))
    z = point["z"]

    def one() -> dict[str, Any]:
        data = rng.standard_normal((n, p))
        eigenvalues = np.linalg.eigvalsh(data.T @ data / n)
        inverse = 1 / (eigenvalues - z)
        # rounding leaves zero eigenvalues tiny, of either sign
        zero = np.mean(eigenvalues < 1e-10 * eigenvalues[-1])
        return {"m": np.mean(inverse), "slope": np.mean(inverse**2), "atom": zero}

    return columns([one() for _ in range(count)])


def bidiagonal(rng: Generator, n: int, p: int, first: float = 1.0) -> tuple[Any, Any]:
    """Diagonal and side of B^T B, where B is what reflections make of an n by p standard normal matrix.

    Reflections of the rows bring the first column to one entry, of the columns but the first the first row to two, and
    so on: lengths of normal vectors remain, independent chi variables. The first axis is never moved, so that a factor
    ``first`` of the first column stays with it.
    """
    rank = min(n, p)
    main = np.sqrt(rng.chisquare(n - np.arange(rank)))
    main[0] *= first
    # a row that still has columns to its right
    after = np.sqrt(rng.chisquare(p - 1 - np.arange(min(rank, p - 1))))
    diagonal = np.zeros(p)
    diagonal[:rank] = main**2
    diagonal[1 : len(after) + 1] += after**2
    side = np.zeros(p - 1)
    side[: len(after)] = main[: len(after)] * after
    return diagonal / n, side / n


@simulator(size=LONG, orders=(2 / 3,), cost=1.0, covers=("edge_low", "edge_high"))
def edges(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """The largest eigenvalue and the smallest that is not zero; near g = 1 the latter has another scale."""
    n, p = sizes(float(point["g"]), int(point.get("size", LONG)))
    zeros = max(0, p - n)

    def one() -> dict[str, Any]:
        diagonal, side = bidiagonal(rng, n, p)
        ends = {"edge_high": end(diagonal, side, p - 1)}
        return {**ends, "edge_low": end(diagonal, side, zeros)} if min(n, p) < 0.8 * max(n, p) else ends

    return columns([one() for _ in range(count)])


def end(diagonal: Any, side: Any, place: int) -> float:
    """The eigenvalue of this number, from below."""
    return float(eigvalsh_tridiagonal(diagonal, side, select="i", select_range=(place, place))[0])


def top_orders(point: Point) -> tuple[float, ...]:
    """Above the threshold corrections are of order 1/n, below it the edge's own."""
    return (1.0,) if float(point["spike"]) > 1 + np.sqrt(float(point["g"])) else (2 / 3, 1.0)


@simulator(size=LONG, orders=top_orders, cost=1.0, covers=("eigenvalue", "overlap"))
def top_eigenpair(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """The largest eigenvalue of S and the squared cosine of its eigenvector with the first axis."""
    n, p = sizes(float(point["g"]), int(point.get("size", LONG)))

    def one() -> dict[str, Any]:
        diagonal, side = bidiagonal(rng, n, p, float(np.sqrt(float(point["spike"]))))
        values, vectors = eigh_tridiagonal(diagonal, side, select="i", select_range=(p - 1, p - 1))
        return {"eigenvalue": values[0], "overlap": vectors[0, 0] ** 2}

    return columns([one() for _ in range(count)])
