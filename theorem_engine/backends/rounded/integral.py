"""The error of an integral: truncation of the rule, and the noise of the integrand at its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from theorem_engine.backends.rounded.number import UNIT, Rounded, error_of, reported, spread, underflow, value_of
from theorem_engine.backends.running import Numeric
from theorem_engine.base.reports import own_notes
from theorem_engine.numerics.quadrature import gauss_legendre

if TYPE_CHECKING:
    from theorem_engine.backends.base import Backend

#: Panels on which the noise is summed: it is as smooth as the integrand, and needs no more than its size.
PANELS = 8


def lower(integrals: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend, plain: Numeric) -> Numeric:
    """The float64 integrals; errors of parameters enter through the integrand."""
    variable, low, high = integrals[0].limits[0]
    ends = backend.function(parameters, [low, high])
    return integrate(plain, ends, backend.function([variable, *parameters], [i.function for i in integrals]))


def integrate(plain: Numeric, ends: Numeric, body: Numeric) -> Numeric:
    """Integrals with their errors, from the plain ones and from ends and body on numbers with errors."""
    base, weights = gauss_legendre(32)
    nodes = ((np.arange(PANELS)[:, None] + base) / PANELS).ravel()
    shares = np.tile(weights, PANELS) / PANELS

    def evaluate(*values: Any) -> list[Any]:
        with own_notes() as notes:
            found = plain(*[value_of(v) for v in values])
        begin, end = (spread(e) for e in ends(*values))
        width = end - begin
        places = begin + width * Rounded(nodes, UNIT * nodes)
        results = []
        for value, part, own in zip(
            found, body(places, *(spread(v) for v in values)), reported(notes, len(found)), strict=True
        ):
            whole = width * part
            noise = np.broadcast_to(error_of(whole), np.broadcast_shapes(np.shape(value_of(whole)), nodes.shape))
            error = noise @ shares
            results.append(Rounded(value, np.where(np.isnan(error), np.inf, error + own + underflow(value))[()]))
        return results

    return evaluate
