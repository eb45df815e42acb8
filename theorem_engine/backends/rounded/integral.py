"""The error of an integral: truncation of the rule, and the noise of the integrand at its nodes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from theorem_engine.backends.rounded.arrays import MANY
from theorem_engine.backends.rounded.number import UNIT, Rounded, error_of, reported, spread, underflow, value_of
from theorem_engine.backends.running import Numeric
from theorem_engine.base.reports import own_notes
from theorem_engine.numerics.quadrature import gauss_legendre

if TYPE_CHECKING:
    from theorem_engine.backends.base import Backend

#: Panels on which the noise is summed: it is as smooth as the integrand, and needs no more than its size.
PANELS, NODES = 8, 32
#: At many points at once, on the panels that settled the integral itself: a rule whose double has 8 digits of the
#: integrand has two of its noise, and the third is added.
FEW_NODES, ROOM = 8, 1.05


def lower(integrals: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend, plain: Numeric) -> Numeric:
    """The float64 integrals; errors of parameters enter through the integrand."""
    # a kept plan is restored by this module too, and without SymPy
    from theorem_engine.language.operators.base import Operator

    variable, low, high = integrals[0].limits[0]
    ends = backend.function(parameters, [low, high])
    body = backend.function([variable, *parameters], [i.function for i in integrals])
    return integrate(plain, ends, body, any(i.function.atoms(Operator) for i in integrals))


def integrate(plain: Numeric, ends: Numeric, body: Numeric, takes_long: bool = False) -> Numeric:
    """Integrals with their errors, from the plain ones and from ends and body on numbers with errors.

    A body that takes long, as one that holds means itself, is looked at in as few places as many points are.
    """

    def evaluate(*values: Any) -> list[Any]:
        with own_notes() as notes:
            found = plain(*[value_of(v) for v in values])
        is_long = takes_long or max((np.size(v) for v in found), default=1) >= MANY
        nodes, shares = _rule(max((n.panels for n in notes), default=0) if is_long else 0)
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


@cache
def _rule(panels: int) -> tuple[Any, Any]:
    """Nodes and weights for the noise on [0, 1]: few on each of the panels given, more where they are not known."""
    base, weights = gauss_legendre(FEW_NODES if panels else NODES)
    count = panels or PANELS
    nodes = ((np.arange(count)[:, None] + base) / count).ravel()
    return nodes, np.tile(weights, count) * ((ROOM if panels else 1.0) / count)
