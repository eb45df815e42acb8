"""Errors of eigenvalues: those of the matrix, times how much each eigenvalue feels them."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.rounded.number import Rounded, each_place, error_of, value_of

#: LAPACK's backward error, in units of the norm.
BACKWARD = 4 * float(np.finfo(float).eps)


def lower(spectra: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend, plain: Numeric) -> Numeric:
    """The float64 eigenvalues with the bounds of perturbation theory."""
    (spectrum,) = spectra
    order = spectrum.order
    entries = backend.function(parameters, list(spectrum.entries))

    def evaluate(*values: Any) -> list[Any]:
        found = [np.asarray(r, dtype=float) for r in plain(*[value_of(v) for v in values])]
        flat = entries(*values)
        size = (order, order)
        matrix = np.array([float(value_of(e)) for e in flat]).reshape(size)
        noise = np.array([float(error_of(e)) for e in flat]).reshape(size)
        places = np.array([complex(re, im) for re, im in zip(found[:order], found[order:], strict=True)])
        errors = eigenvalue_bounds(matrix, noise, places)
        return [Rounded(float(r), e) for r, e in zip(found, [*errors, *_swaps(places, errors)], strict=True)]

    return lambda *values: each_place(evaluate, values)


def eigenvalue_bounds(matrix: Any, noise: Any, places: Any) -> Any:
    """How far each eigenvalue can be: first order where it is alone, else Elsner's bound, which always holds."""
    from scipy.linalg import eig

    order = len(places)
    if not (np.all(np.isfinite(matrix)) and np.all(np.isfinite(noise))):
        return np.full(order, np.inf)
    norm = float(np.linalg.norm(matrix))
    backward = BACKWARD * norm
    whole = float(np.linalg.norm(noise)) + backward
    always = (2 * norm + whole) ** (1 - 1 / order) * whole ** (1 / order)
    if np.array_equal(matrix, matrix.T):
        return np.full(order, whole)
    computed, left, right = eig(matrix, left=True, right=True)
    overlaps = np.abs(np.sum(left.conj() * right, axis=0))
    felt = np.sum(np.abs(left) * (noise @ np.abs(right)), axis=0) + backward
    errors = np.full(order, always)
    for i, place in enumerate(places):
        nearest = int(np.argmin(np.abs(computed - place)))
        first = felt[nearest] / overlaps[nearest] if overlaps[nearest] > 0 else np.inf
        alone = min((abs(place - other) for k, other in enumerate(places) if k != i), default=np.inf)
        if first < alone / 8:
            # what is left out is of second order: an eighth of it
            errors[i] = min(always, 1.25 * first)
    return errors


def _swaps(places: Any, errors: Any) -> list[float]:
    """Errors of the imaginary parts: eigenvalues of one real part may be in either order, but not a conjugate pair."""
    result = []
    for i, place in enumerate(places):
        error = errors[i]
        for k, other in enumerate(places):
            is_pair = place.imag != 0 and other == place.conjugate()
            if k != i and not is_pair and abs(place.real - other.real) <= errors[i] + errors[k]:
                error = max(error, abs(place.imag - other.imag) + errors[i] + errors[k])
        result.append(float(error))
    return result
