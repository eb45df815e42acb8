"""Roots in double precision."""

from __future__ import annotations

from typing import Any

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.each_point import each_point
from theorem_engine.base.reports import note
from theorem_engine.numerics.solvers.search import SCAN, find_root


def lower(roots: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Scan, then Brent's method, at each point."""
    (root,) = roots
    body = backend.function([root.letter, *parameters], [root.body])
    ends = backend.function(parameters, list(root.args[2:4]))

    def one(*values: float) -> list[float]:
        low, high = (float(e) for e in ends(*values))
        x = find_root(lambda u: float(body(u, *values)[0]), low, high, last=root.takes_last, count=root.scan or SCAN)
        # how far the noise of the function moves it is known where noise is: with the error of the prediction
        note("root", None, f"{root.letter.name} in [{low:.3g}, {high:.3g}]")
        return [x]

    return lambda *values: each_point(one, values)
