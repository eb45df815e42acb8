"""Minima at mpmath's precision: the float64 minimiser, polished on the gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.backends.float64.each_point import plain
from theorem_engine.base.errors import NotAvailable, NotConverged
from theorem_engine.planning.plan import Operate

#: Longest relative step of Newton's method.
LONGEST = mp.mpf("0.3")
#: Relative distance from an end of its range within which a minimiser lies on it.
NEAR = mp.mpf("1e-12")


def lower(minima: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Newton's method on the symbolic gradient with the symbolic Hessian."""
    (minimum,) = minima
    if not minimum.slopes:
        raise NotAvailable("this minimum is found from values alone, in double precision only")
    letters = minimum.letters
    gradient = [minimum.body.diff(x) for x in letters]
    rough = get_backend("float64").operate(Operate(minima, ((None,) * minimum.components(),), parameters))
    value = backend.function([*letters, *parameters], [minimum.body])
    both = backend.function([*letters, *parameters], [*gradient, *(g.diff(x) for g in gradient for x in letters)])
    ends = backend.function(parameters, [end for pair in minimum.ranges for end in pair])
    size = len(letters)

    def evaluate(*values: Any) -> list[Any]:
        _, *place, is_attained = rough(*[plain(v) for v in values])
        if not float(is_attained) and size == 1:
            raise NotAvailable("this infimum is a limit that no value reaches; it is followed in double precision only")
        x = [mp.mpf(float(v)) for v in place]
        edges = [mp.mpf(e) for e in ends(*values)]
        # at an end of its range the gradient need not vanish
        if not any(abs(x[k // 2] - edge) <= NEAR * abs(edge) for k, edge in enumerate(edges) if mp.isfinite(edge)):
            # each step doubles the digits that are right, and needs no more than those
            for digits in _ladder():
                with mp.workdps(digits):
                    x = _polished(lambda y: both(*y, *values), x)
            x = _polished(lambda y: both(*y, *values), x)
        return [value(*x, *values)[0], *x, mp.one]

    return evaluate


def _ladder() -> list[int]:
    """Numbers of digits below the working precision, each about twice the one before."""
    found, digits = [], mp.dps
    while digits > 36:
        digits = digits // 2 + 4
        found.append(digits)
    return found[::-1]


def _polished(derivatives: Callable[[list[Any]], list[Any]], x: list[Any]) -> list[Any]:
    """Newton's steps until half the digits stand still, which the last of them makes all."""
    size, enough = len(x), mp.mpf(10) ** (-mp.dps // 2 - 2)
    for _ in range(60):
        flat = derivatives(x)
        curvature = _matrix(flat[size:], size)
        if not _is_convex(curvature, size):
            raise NotConverged("minimum: the surface is too flat where double precision finds its lowest point")
        step = mp.lu_solve(curvature, mp.matrix(flat[:size]))
        change = max(abs(step[i]) / max(abs(x[i]), mp.eps) for i in range(size))
        # Newton's step is trusted within its own neighbourhood only
        part = min(mp.one, LONGEST / change) if change else mp.one
        x = [v - part * step[i] for i, v in enumerate(x)]
        if change <= enough:
            return x
    raise NotConverged("minimum: Newton's method does not settle from the minimiser of double precision")


def _is_convex(matrix: Any, size: int) -> bool:
    """Whether all leading minors are positive."""
    return all(mp.det(matrix[:k, :k]) > 0 for k in range(1, size + 1))


def _matrix(flat: list[Any], size: int) -> Any:
    return mp.matrix([flat[i * size : (i + 1) * size] for i in range(size)])
