"""Flows at mpmath's precision by collocation: Chebyshev polynomials on panels of time.

The solution of double precision says how long panels may be and of which degree. On a panel of length h the values Y at
n Chebyshev nodes solve Y = y0 + (h/2) S f(Y), with S the matrix that integrates the polynomial through n values. Errors
are corrected by a linear system in double precision, with the Jacobian of f from differences there: each sweep, which
takes f once at every node with many digits, leaves about a millionth of the error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mp

from theorem_engine.base.errors import NotConverged

Rates = Callable[[Any, Sequence[Any]], list[Any]]

#: Nodes at which double precision is looked at, what counts as resolved there, and by which degree.
LOOK, RESOLVED, DEGREE = 24, 1e-9, 10
#: Panels below this share of the time, and degrees above this, are given up.
SHORTEST, HIGHEST = 1 / 64, 240
#: Places on a panel at which the Jacobian is taken; sweeps before it is given up.
JACOBIANS, SWEEPS = 7, 40


@dataclass(frozen=True)
class Panel:
    """A stretch of time with the Chebyshev coefficients of every letter of the state."""

    start: Any
    length: Any
    coefficients: list[list[Any]]

    def at(self, time: Any) -> list[Any]:
        """The state at a time of this panel, by Clenshaw's recursion."""
        x = 2 * (time - self.start) / self.length - 1
        found = []
        for column in self.coefficients:
            one = two = mp.zero
            for c in reversed(column[1:]):
                one, two = 2 * x * one - two + c, one
            found.append(x * one - two + column[0])
        return found


def collocate(
    rates: Rates, quick: Rates, rough: Callable[[Any], Any], start: list[Any], duration: Any, known: list[Panel]
) -> list[Panel]:
    """The flow from a start over a time.

    ``quick`` are the rates in double precision and ``rough`` the solution there; ``known`` is one of fewer digits.
    """
    panels: list[Panel] = []
    state = start
    ends = _cut(rough, 0.0, float(duration), SHORTEST * float(duration))
    for end, degree in ends:
        begin = panels[-1].start + panels[-1].length if panels else mp.zero
        length = (duration if end == ends[-1][0] else mp.mpf(end)) - begin
        near = next((p for p in known if abs(p.start - begin) < 1e-9 and abs(p.length - length) < 1e-9), None)
        guess = near.at if near is not None else rough
        count = int((degree + 1) * (mp.dps + 6) / 9) + 8
        panel = None
        while panel is None:
            if count > HIGHEST:
                raise NotConverged("the flow is not resolved by polynomials of high degree")
            panel = _solved(rates, quick, guess, begin, length, state, count, near is not None)
            count = count * 3 // 2
        panels.append(panel)
        state = panel.at(begin + length)
    return panels


def _cut(rough: Callable[[Any], Any], low: float, high: float, shortest: float) -> list[tuple[float, int]]:
    """Ends of panels on which the rough solution is resolved, each with the degree that does it."""
    x = np.cos(np.pi * (np.arange(LOOK) + 0.5) / LOOK)
    values = np.array([rough(low + (high - low) * (1 + t) / 2) for t in x])
    table = np.cos(np.outer(np.arange(LOOK), np.pi * (np.arange(LOOK) + 0.5) / LOOK))
    sizes = np.max(np.abs(table @ values) * 2 / LOOK / (np.max(np.abs(values), axis=0) + 1e-3), axis=1)
    degree = int(np.max(np.nonzero(sizes > RESOLVED)[0], initial=1))
    if degree <= DEGREE:
        return [(high, degree)]
    if high - low < shortest:
        raise NotConverged("the flow changes faster than its panels")
    middle = (low + high) / 2
    return [*_cut(rough, low, middle, shortest), *_cut(rough, middle, high, shortest)]


def _solved(
    rates: Rates, quick: Rates, guess: Callable[[Any], Any], begin: Any, length: Any, start: list[Any], count: int,
    is_near: bool,
) -> Panel | None:  # fmt: skip
    """Collocation on one panel; None if the degree is too low."""
    size = len(start)
    cosines = [mp.cos(mp.pi * m / (2 * count)) for m in range(4 * count)]

    def nodes_of(k: int) -> list[Any]:
        return [cosines[k * (2 * j + 1) % (4 * count)] for j in range(count)]

    table = [nodes_of(k) for k in range(count)]
    times = [begin + length * (1 + x) / 2 for x in table[1]]
    first = [mp.mpf(v) for v in guess(begin if is_near else float(begin))]
    rows = [[mp.mpf(v) for v in guess(t if is_near else float(t))] for t in times]
    values = [[v + s - f for v, s, f in zip(row, start, first, strict=True)] for row in rows]
    scale = [max([abs(row[i]) for row in values] + [mp.mpf(10) ** -6]) for i in range(size)]
    correct = _corrector(quick, [float(t) for t in times], np.array(values, dtype=float), float(length))
    reached = mp.mpf(10) ** (-mp.dps if is_near else -8)
    last = mp.inf
    for _ in range(SWEEPS):
        # errors of a size need so many digits and no more
        digits = min(mp.dps, int(-mp.log10(reached)) + 16)
        with mp.workdps(digits):
            slopes = [rates(+t, [+v for v in row]) for t, row in zip(times, values, strict=True)]
        integrals = [_integrated([row[i] for row in slopes], table) for i in range(size)]
        columns = [[length / 2 * b for b in column] for column in integrals]
        wanted = [
            [start[i] + mp.fdot(columns[i][:count], [table[k][j] for k in range(count)]) for i in range(size)]
            for j in range(count)
        ]
        misses = [[a - b for a, b in zip(p, q, strict=True)] for p, q in zip(wanted, values, strict=True)]
        largest = max(abs(v) / s for row in misses for v, s in zip(row, scale, strict=True))
        if largest <= mp.mpf(10) ** (3 - mp.dps):
            tail = max(abs(c) / s for column, s in zip(columns, scale, strict=True) for c in column[-3:])
            if tail > mp.mpf(10) ** (4 - mp.dps):
                return None
            return Panel(
                begin, length, [[column[0] + s, *column[1:]] for column, s in zip(columns, start, strict=True)]
            )
        if largest > last / 2 and digits == mp.dps:
            raise NotConverged("the flow: corrections from double precision do not shrink")
        last = largest
        reached = min(reached, largest) / 10**5
        move = correct(np.array([[float(v / largest) for v in row] for row in misses]))
        values = [
            [v + largest * float(m) for v, m in zip(row, step, strict=True)]
            for row, step in zip(values, move, strict=True)
        ]
    raise NotConverged("the flow: corrections from double precision do not end")


def _integrated(values: list[Any], table: list[list[Any]]) -> list[Any]:
    """Chebyshev coefficients of the integral from the left end of the polynomial through the values."""
    count = len(values)
    c = [2 * mp.fdot(values, row) / count for row in table] + [mp.zero, mp.zero]
    c[0] /= 2
    found = [mp.zero, c[0] - c[2] / 2, *((c[k - 1] - c[k + 1]) / (2 * k) for k in range(2, count + 1))]
    found[0] = -mp.fsum(b * (-1) ** k for k, b in enumerate(found))
    return found


def _corrector(quick: Rates, times: list[float], values: Any, length: float) -> Callable[[Any], Any]:
    """A function of residuals that solves the linearised equations in double precision."""
    from scipy.linalg import lu_factor, lu_solve

    count, size = values.shape
    angles = np.pi * (np.arange(count) + 0.5) / count
    table = np.cos(np.outer(np.arange(count + 1), angles))
    coefficients = table[:count] * 2 / count
    coefficients[0] /= 2
    padded = np.vstack([coefficients, np.zeros((2, count))])
    integral = np.zeros((count + 1, count))
    integral[1] = padded[0] - padded[2] / 2
    for k in range(2, count + 1):
        integral[k] = (padded[k - 1] - padded[k + 1]) / (2 * k)
    integral[0] = -((-1.0) ** np.arange(count + 1)) @ integral
    matrix = table.T @ integral * length / 2
    # the Jacobian at a few nodes, and the polynomial through them at all
    chosen = np.unique(np.linspace(0, count - 1, JACOBIANS).astype(int))
    found = np.array([_jacobian(quick, times[j], values[j]) for j in chosen])
    x = np.cos(angles)
    powers = np.polynomial.chebyshev.chebvander(x[chosen], len(chosen) - 1)
    fitted = np.linalg.solve(powers, found.reshape(len(chosen), -1))
    jacobians = (np.polynomial.chebyshev.chebvander(x, len(chosen) - 1) @ fitted).reshape(count, size, size)
    system = np.eye(count * size) - (matrix[:, None, :, None] * jacobians.transpose(1, 0, 2)[None]).reshape(
        count * size, count * size
    )
    factors = lu_factor(system)
    return lambda residual: lu_solve(factors, residual.ravel()).reshape(count, size)


def _jacobian(quick: Rates, time: float, state: Any) -> Any:
    """Rates differentiated by differences, a column for each letter."""
    columns = []
    for i, value in enumerate(state):
        step = 1e-5 * max(1.0, abs(value))
        ends: list[Any] = []
        for sign in (1, -1):
            moved = [float(v) for v in state]
            moved[i] += sign * step
            ends.append(np.array(quick(time, moved), dtype=float))
        columns.append((ends[0] - ends[1]) / (2 * step))
    return np.array(columns).T
