"""Sums over infinite spectra at mpmath's precision."""

from __future__ import annotations

from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.multiprecision.integral import integrate


def lower(sums: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Euler and Maclaurin, with as many terms and derivatives as the digits ask for."""
    (node,) = sums
    body = backend.function([node.index, *parameters], [node.body])

    def evaluate(*values: Any) -> list[Any]:
        def function(x: Any) -> Any:
            return body(x, *values)[0]

        # each pair of derivatives gains a factor (order/first)^2; the k-th term is below (k/(pi first))^(2 k)
        first, orders = 4 * mp.dps, mp.dps // 2
        head = mp.fsum(function(mp.mpf(i)) for i in range(1, first))
        end = mp.mpf(first)
        with mp.workdps(mp.dps + 10):
            series = mp.taylor(function, end, 2 * orders)
        # f^(2k - 1)/(2k - 1)! is the coefficient of the series
        corrections = mp.fsum(mp.bernoulli(2 * k) / (2 * k) * series[2 * k - 1] for k in range(1, orders + 1))
        return [head + function(end) / 2 + _tail(function, end) - corrections]

    return evaluate


def _tail(function: Any, first: Any) -> Any:
    """The integral from ``first`` on, over the logarithm of the index."""

    # tanh-sinh on the first pieces of a geometric series of intervals, as far as anything is left
    def along(w: Any) -> Any:
        x = first * mp.exp(w)
        return function(x) * x

    ends, total = [mp.zero, mp.mpf(2)], mp.zero
    while True:
        piece = integrate(along, *ends)
        total += piece
        if abs(piece) <= mp.mpf(10) ** (-mp.dps - 2) * abs(total):
            return total
        ends = [ends[1], 2 * ends[1]]
