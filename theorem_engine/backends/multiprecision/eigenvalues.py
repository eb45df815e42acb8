"""Eigenvalues at mpmath's precision."""

from __future__ import annotations

from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric


def lower(spectra: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """mpmath's QR iteration."""
    (spectrum,) = spectra
    order = spectrum.order
    entries = backend.function(parameters, list(spectrum.entries))

    def evaluate(*values: Any) -> list[Any]:
        flat = entries(*values)
        matrix = mp.matrix([flat[i * order : (i + 1) * order] for i in range(order)])
        found = mp.eig(matrix, left=False, right=False)
        found = sorted(found, key=lambda z: (-mp.re(z), -mp.im(z)))
        return [*(mp.re(z) for z in found), *(mp.im(z) for z in found)]

    return evaluate
