"""Integral over a finite interval, in double precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from theorem_engine.backends.running import Numeric, described, description
from theorem_engine.base.reports import note
from theorem_engine.numerics.quadrature import legendre_interval

if TYPE_CHECKING:
    from theorem_engine.backends.base import Backend


def lower(integrals: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Gauss-Legendre on panels; all integrals of the bundle share their nodes."""
    from theorem_engine.backends.bundles import finite_interval

    variable, low, high = finite_interval(integrals[0])
    ends = backend.function(parameters, [low, high])
    return integrate(ends, backend.function([variable, *parameters], [i.function for i in integrals]))


def integrate(ends: Numeric, body: Numeric) -> Numeric:
    """The integrals of a body between its ends, as a function of their parameters."""

    def evaluate(*values: Any) -> list[Any]:
        if values and all(isinstance(v, (float, np.floating)) and np.isnan(v) for v in values):
            # a search looks at places without a value, and goes on
            return [np.nan for _ in body(np.float64(0.5), *values)]
        spread = [np.asarray(v)[..., None] if np.ndim(v) else v for v in values]
        sizes: list[int] = []

        def integrand(x: Any) -> Any:
            sizes.append(x.shape[-1])
            return body(x, *spread)

        results = legendre_interval(integrand, *ends(*values))
        # every refinement doubles the panels
        note("Gauss-Legendre", [error for _, error in results], panels=sizes[-1] // sizes[0])
        return [value for value, _ in results]

    def say() -> Any:
        parts = {"ends": description(ends), "body": description(body)}
        return None if None in parts.values() else {"kind": "integral", **parts}

    return described(evaluate, say)
