"""Integral over a finite interval, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.bundles import finite_interval
from theorem_engine.base.reports import note
from theorem_engine.numerics.quadrature import legendre_interval


def lower(integrals: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Gauss-Legendre on panels; all integrals of the bundle share their nodes."""
    variable, low, high = finite_interval(integrals[0])
    ends = backend.function(parameters, [low, high])
    body = backend.function([variable, *parameters], [i.function for i in integrals])

    def evaluate(*values: Any) -> list[Any]:
        spread = [np.asarray(v)[..., None] if np.ndim(v) else v for v in values]
        results = legendre_interval(lambda x: body(x, *spread), *ends(*values))
        note("Gauss-Legendre", [error for _, error in results])
        return [value for value, _ in results]

    return evaluate
