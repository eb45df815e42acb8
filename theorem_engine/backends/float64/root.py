"""Roots in double precision."""

from __future__ import annotations

from typing import Any

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.each_point import each_point
from theorem_engine.backends.token_bundle import meaning_of
from theorem_engine.base.reports import note
from theorem_engine.numerics.remembering import remembered
from theorem_engine.numerics.solvers.following import one_search
from theorem_engine.numerics.solvers.search import SCAN, find_root


def lower(roots: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Scan, then Brent's method, at each point."""
    (root,) = roots
    body = backend.function([root.letter, *parameters], [root.body])
    meaning = meaning_of("root", roots, parameters)
    ends = backend.function(parameters, list(root.args[2:4]))

    def one(*values: float) -> list[float]:
        low, high = (float(e) for e in ends(*values))

        def search() -> float:
            count = root.scan or SCAN
            return find_root(lambda u: float(body(u, *values)[0]), low, high, last=root.takes_last, count=count)

        with one_search():
            # the error asks for the root once more
            x = float(remembered((meaning, *values), search, is_search=True))
        # how far the noise of the function moves it is known where noise is: with the error of the prediction
        note("root", None, f"{root.letter.name} in [{low:.3g}, {high:.3g}]")
        return [x]

    return lambda *values: each_point(one, values)
