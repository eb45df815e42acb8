"""Gauss-Legendre rules at mpmath's precision."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from flint import arb
from mpmath import mp

from theorem_engine.numerics.laplace.balls import ball_precision, from_ball


def legendre_nodes(count: int) -> list[tuple[Any, Any]]:
    """Nodes in (0, 1) and weights, from flint's roots of Legendre polynomials."""
    return _kept(count, mp.prec)


@lru_cache(maxsize=16)
def _kept(count: int, precision: int) -> list[tuple[Any, Any]]:
    found = []
    with ball_precision(20):
        for k in range(count):
            root, weight = arb.legendre_p_root(count, k, weight=True)
            found.append(((1 + from_ball(root)) / 2, from_ball(weight) / 2))
    return found
