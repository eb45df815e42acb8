"""Eigenvalues at mpmath's precision."""

from __future__ import annotations

from typing import Any

from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.base.errors import NotConverged


def lower(spectra: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """mpmath's QR iteration; the order is that of double precision, by falling real and then imaginary part."""
    (spectrum,) = spectra
    order = spectrum.order
    entries = backend.function(parameters, list(spectrum.entries))

    def evaluate(*values: Any) -> list[Any]:
        flat = entries(*values)
        if not all(mp.isfinite(e) for e in flat):
            raise NotConverged("eigenvalues: the matrix has entries without a finite value")
        matrix = mp.matrix([flat[i * order : (i + 1) * order] for i in range(order)])
        found = _paired(list(mp.eig(matrix, left=False, right=False)))
        found = sorted(found, key=lambda z: (-mp.re(z), -mp.im(z)))
        return [*(mp.re(z) for z in found), *(mp.im(z) for z in found)]

    return evaluate


def _paired(found: list[Any]) -> list[Any]:
    """Eigenvalues of a real matrix as they are without rounding: real, or exact conjugates of each other.

    The iteration is complex and leaves the two members of a pair with real parts that differ in their last digit,
    so that it was chance which came first. The one furthest from the real line is joined to whatever is nearest to
    its conjugate, itself if it is real.
    """
    left = sorted(found, key=lambda z: abs(mp.im(z)), reverse=True)
    result = []
    while left:
        z = left.pop(0)
        near = min(range(len(left)), key=lambda i: abs(left[i] - mp.conj(z)), default=None)
        if near is None or abs(left[near] - mp.conj(z)) >= abs(z - mp.conj(z)):
            result.append(mp.mpc(mp.re(z), 0))
            continue
        other = left.pop(near)
        middle = (z + mp.conj(other)) / 2
        result += [middle, mp.conj(middle)]
    return result
