"""Eigenvalues in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.base.reports import note

EPS = float(np.finfo(float).eps)


def lower(spectra: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """LAPACK on all points at once, by falling real and then imaginary part: its conjugate pairs are exact ones."""
    (spectrum,) = spectra
    order = spectrum.order
    entries = backend.function(parameters, list(spectrum.entries))

    def evaluate(*values: Any) -> list[Any]:
        flat = np.stack(np.broadcast_arrays(*[np.asarray(e, dtype=float) for e in entries(*values)]), axis=-1)
        matrix = flat.reshape(*flat.shape[:-1], order, order)
        # LAPACK takes no infinities; what has none is not a number, and is refused as such later
        finite = np.isfinite(matrix).all(axis=(-2, -1))
        matrix = np.where(finite[..., None, None], matrix, 0.0)
        found = np.where(finite[..., None], np.linalg.eigvals(matrix), np.nan)
        found = np.take_along_axis(found, np.argsort(-found.real - 1j * found.imag, axis=-1), axis=-1)
        # the backward error of LAPACK is a few units of the norm; how much an eigenvalue feels it is not known here
        note(
            "eigenvalues", None, f"backward error {8 * EPS * float(np.max(np.linalg.norm(matrix, axis=(-2, -1)))):.1e}"
        )
        return [*(found.real[..., i] for i in range(order)), *(found.imag[..., i] for i in range(order))]

    return evaluate
