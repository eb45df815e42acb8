"""Integral over a finite interval, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.base.errors import NotAvailable
from theorem_engine.base.reports import note
from theorem_engine.numerics.quadrature import legendre_interval


def lower(integrals: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Gauss-Legendre on panels; all integrals of the bundle share their nodes."""
    limits = integrals[0].limits
    if len(limits) != 1 or len(limits[0]) != 3 or any(end.is_infinite for end in limits[0][1:]):
        raise NotAvailable(f"{integrals[0]}: only integrals over one finite interval are lowered")
    variable, low, high = limits[0]
    ends = backend.function(parameters, [low, high])
    body = backend.function([variable, *parameters], [i.function for i in integrals])

    def evaluate(*values: Any) -> list[Any]:
        spread = [np.asarray(v)[..., None] if np.ndim(v) else v for v in values]
        results = legendre_interval(lambda x: body(x, *spread), *ends(*values))
        note("Gauss-Legendre", [error for _, error in results])
        return [value for value, _ in results]

    return evaluate
