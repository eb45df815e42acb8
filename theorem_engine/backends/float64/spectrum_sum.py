"""Sums over infinite spectra in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.each_point import each_point
from theorem_engine.base.errors import NotConverged
from theorem_engine.base.reports import note

#: Terms that are added one by one; the next ones are an integral with corrections in f' and f''' at its end.
TERMS = 2000
#: The integral is over the logarithm w = exp(v - exp(-v)) of the index, by the trapezoid rule in v with this step.
STEP, LOW, HIGH = 1 / 32, -4.0, 6.55
EPS = 2.0**-52


def lower(sums: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Euler and Maclaurin: terms, half of the first that is not added, an integral, and two derivatives."""
    (node,) = sums
    body = backend.function([node.index, *parameters], [node.body])
    slopes = backend.function([node.index, *parameters], [node.body.diff(node.index), node.body.diff(node.index, 3)])
    terms = np.arange(1.0, TERMS)
    first = float(TERMS)

    def one(*values: float) -> list[float]:
        def function(x: Any) -> Any:
            return np.broadcast_to(body(x, *values)[0], np.shape(x))

        with np.errstate(all="ignore"):
            head = function(terms)
            first_slope, third_slope = (float(s) for s in slopes(first, *values))
            fine, coarse, size = _tail(function, first)
            ends = float(function(np.array([first]))[0]) / 2 - first_slope / 12 + third_slope / 720
        total = float(np.sum(head)) + ends + fine
        if not np.isfinite(total):
            raise NotConverged("the sum over a spectrum is infinite, or its terms are no numbers")
        rounding = 8 * EPS * (float(np.sum(np.abs(head))) + size)
        # the rule doubles its digits with each halving; what is left out is below the last correction
        note("Euler-Maclaurin", rounding + min(abs(fine - coarse), (fine - coarse) ** 2 / max(size, 1e-300))
             + abs(third_slope) / first**2)  # fmt: skip
        return [total]

    return lambda *values: each_point(one, values)


def _tail(function: Any, first: float) -> tuple[float, float, float]:
    """The integral from ``first`` on, by a rule, by one of twice the step, and that of the absolute value."""
    v = np.arange(LOW, HIGH, STEP)
    w = np.exp(v - np.exp(-v))
    x = first * np.exp(np.minimum(w, 690.0))
    heights = function(x) * x * w * (1 + np.exp(-v))
    heights = np.where(np.isfinite(heights) & (w < 690.0), heights, 0.0)
    return STEP * float(np.sum(heights)), 2 * STEP * float(np.sum(heights[::2])), STEP * float(np.sum(np.abs(heights)))
