"""Eigenvalues in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.trace import note


def lower(spectra: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """LAPACK on all points at once; nearly equal real parts are ordered by the imaginary one."""
    (spectrum,) = spectra
    order = spectrum.order
    entries = backend.function(parameters, list(spectrum.entries))

    def evaluate(*values: Any) -> list[Any]:
        flat = np.stack(np.broadcast_arrays(*[np.asarray(e, dtype=float) for e in entries(*values)]), axis=-1)
        matrix = flat.reshape(*flat.shape[:-1], order, order)
        found = np.linalg.eigvals(matrix)
        found = np.take_along_axis(found, np.argsort(-found.real - 1e-14j * found.imag, axis=-1), axis=-1)
        # LAPACK's backward error is a few units of the norm
        scale = 8 * np.finfo(float).eps * np.linalg.norm(matrix, axis=(-2, -1))
        note("eigenvalues", [scale] * (2 * order))
        return [*(found.real[..., i] for i in range(order)), *(found.imag[..., i] for i in range(order))]

    return evaluate
