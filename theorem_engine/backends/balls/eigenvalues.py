"""Eigenvalues of a small real matrix, enclosed."""

from __future__ import annotations

from typing import Any

from flint import acb, acb_mat, arb

from theorem_engine.backends.balls.claims import Unproved
from theorem_engine.backends.balls.functions import ball
from theorem_engine.backends.base import Backend, Numeric


def lower(spectra: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """The library isolates the eigenvalues; multiple ones come as balls that overlap, each with its multiplicity."""
    (spectrum,) = spectra
    order = spectrum.order
    entries = backend.function(parameters, list(spectrum.entries))

    def evaluate(*values: Any) -> list[Any]:
        flat = [ball(v) for v in entries(*values)]
        matrix = acb_mat(order, order, [acb(v) for v in flat])
        try:
            found = matrix.eig()
        except ValueError:
            try:
                found = matrix.eig(multiple=True)
            except ValueError:
                raise Unproved("the eigenvalues of a matrix are not isolated") from None
        found = _real_where_alone(found)
        return _ordered(found)

    return evaluate


def _real_where_alone(found: list[Any]) -> list[Any]:
    """A real matrix has conjugate eigenvalues: a ball that meets its own mirror image only holds a real one."""
    result = []
    for i, z in enumerate(found):
        mirror = z.conjugate()
        is_alone = not any(mirror.overlaps(other) for k, other in enumerate(found) if k != i)
        result.append(acb(z.real) if z.imag.contains(0) and is_alone else z)
    return result


def _ordered(found: list[Any]) -> list[Any]:
    """By falling real part, then imaginary part; of real parts that cannot be told apart, all take the hull.

    The k-th largest of numbers in balls lies between the k-th largest lower and the k-th largest upper end.
    """
    by_middle = sorted(found, key=lambda z: (-float(z.real.mid()), -float(z.imag.mid())))
    reals = _ranked([z.real for z in found])
    imaginary: list[Any] = []
    i = 0
    while i < len(by_middle):
        k = i + 1
        while k < len(by_middle) and any(by_middle[k].real.overlaps(z.real) for z in by_middle[i:k]):
            k += 1
        imaginary += _ranked([z.imag for z in by_middle[i:k]])
        i = k
    return [*reals, *imaginary]


def _ranked(values: list[Any]) -> list[Any]:
    lows = sorted((v.lower() for v in values), key=float, reverse=True)
    highs = sorted((v.upper() for v in values), key=float, reverse=True)
    return [v if v.is_exact() else v for v in (low.union(high) for low, high in zip(lows, highs, strict=True))]


__all__ = ["arb", "lower"]
