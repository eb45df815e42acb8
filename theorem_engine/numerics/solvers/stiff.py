"""Stiff laws dy/dt = f(y): the linearly implicit midpoint rule, extrapolated.

With J near df/dy and h = H/n, a step of length H is

    (1 - h J) d_0 = h f(y_0),    (1 - h J) (d_k - d_{k-1}) = 2 (h f(y_k) - d_{k-1}),    y_{k+1} = y_k + d_k,

closed by y_n + (1 - h J)^{-1} (h f(y_n) - d_{n-1}). The rule is symmetric for any constant J, so its error is a series
in h^2, and the columns of Neville's table gain two orders each; the implicit part lets h be large against the fastest
rate of decay (Bader and Deuflhard 1983).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from theorem_engine.base.errors import NotConverged

#: Substeps of the rows of the table.
SUBSTEPS = (2, 6, 10, 14, 22, 34, 50)
#: Steps shorter than this share of the time are given up.
SHORTEST = 1e-14

Rates = Callable[[Any], Any]


def follow(rates: Rates, state: Any, duration: float, relative: float, absolute: float) -> Any:
    """The state after some time; each step is as accurate as asked."""
    time, size, y = 0.0, duration / 100, np.asarray(state, dtype=float)
    while time < duration:
        size = min(size, duration - time)
        if size < SHORTEST * duration:
            raise NotConverged(f"a stiff flow stalls at time {time:.4g} of {duration:g}")
        moved, level = _step(rates, y, size, relative, absolute)
        if moved is None:
            size /= 4
            continue
        # the last step ends there exactly: rounding would leave a step too short to take
        time = duration if size == duration - time else time + size
        y = moved
        size *= 3.0 if level <= 3 else 1.5 if level <= 4 else 1.0 if level == 5 else 0.7
    return y


def _step(rates: Rates, y: Any, size: float, relative: float, absolute: float) -> tuple[Any, int]:
    """The end of one step and the row that settled it; None where no row does."""
    first, jacobian = np.asarray(rates(y), dtype=float), _jacobian(rates, y)
    if not (np.all(np.isfinite(first)) and np.all(np.isfinite(jacobian))):
        return None, 0
    table: list[list[Any]] = []
    for level, count in enumerate(SUBSTEPS):
        end = _midpoint(rates, y, first, jacobian, size / count, count)
        if end is None:
            return None, level
        row = [end]
        for j in range(1, level + 1):
            ratio = (count / SUBSTEPS[level - j]) ** 2
            row.append(row[j - 1] + (row[j - 1] - table[level - 1][j - 1]) / (ratio - 1))
        table.append(row)
        if level >= 2:
            gap = np.abs(row[-1] - row[-2])
            if np.all(gap <= absolute + relative * np.maximum(np.abs(y), np.abs(row[-1]))):
                return row[-1], level
    return None, len(SUBSTEPS)


def _midpoint(rates: Rates, y: Any, first: Any, jacobian: Any, h: float, count: int) -> Any:
    inverse = np.linalg.inv(np.eye(y.size) - h * jacobian)
    move = inverse @ (h * first)
    place = y + move
    for _ in range(count - 1):
        move = move + 2 * (inverse @ (h * np.asarray(rates(place)) - move))
        place = place + move
        if not np.all(np.isfinite(place)):
            return None
    end = place + inverse @ (h * np.asarray(rates(place)) - move)
    return end if np.all(np.isfinite(end)) else None


def _jacobian(rates: Rates, y: Any) -> Any:
    """Central differences: the rule is of full order with any matrix that is near."""
    columns = []
    for k in range(y.size):
        step = 1e-6 * max(1.0, abs(y[k]))
        up, down = y.copy(), y.copy()
        up[k] += step
        down[k] -= step
        columns.append((np.asarray(rates(up)) - np.asarray(rates(down))) / (2 * step))
    return np.array(columns).T
