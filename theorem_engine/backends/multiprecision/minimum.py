"""Minima at mpmath's precision: the float64 minimiser, polished on the gradient."""

from __future__ import annotations

from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.backends.float64.points import plain
from theorem_engine.errors import NotAvailable
from theorem_engine.plan import Operate


def lower(minima: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Newton's method on the symbolic gradient with the symbolic Hessian."""
    (minimum,) = minima
    if not minimum.slopes:
        raise NotAvailable("this minimum is found from values alone, in double precision only")
    letters = minimum.letters
    gradient = [minimum.body.diff(x) for x in letters]
    rough = get_backend("float64").operate(Operate(minima, ((None,) * (1 + len(letters)),), parameters))
    value = backend.function([*letters, *parameters], [minimum.body])
    both = backend.function([*letters, *parameters], [*gradient, *(g.diff(x) for g in gradient for x in letters)])
    size = len(letters)

    def evaluate(*values: Any) -> list[Any]:
        x = [mp.mpf(float(v)) for v in rough(*[plain(v) for v in values])[1:]]
        last = mp.inf
        for _ in range(60):
            flat = both(*x, *values)
            try:
                step = mp.lu_solve(_matrix(flat[size:], size), mp.matrix(flat[:size]))
            except ZeroDivisionError:
                break  # no curvature: the minimum lies at an end of its range
            change = max(abs(step[i]) / max(abs(x[i]), mp.eps) for i in range(size))
            if change > mp.mpf("1e-4") and last == mp.inf:
                break  # the minimum lies at an end of its range, where the gradient does not vanish
            x = [v - step[i] for i, v in enumerate(x)]
            if change == 0 or (change < mp.mpf(10) ** (-mp.dps // 2) and change >= last / 4):
                break
            last = change
        return [value(*x, *values)[0], *x]

    return evaluate


def _matrix(flat: list[Any], size: int) -> Any:
    return mp.matrix([flat[i * size : (i + 1) * size] for i in range(size)])
