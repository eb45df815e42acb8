"""Eigenvalues of a small real matrix, enclosed."""

from __future__ import annotations

from typing import Any

from flint import acb, acb_mat, arb

from theorem_engine.backends.balls.claims import Unproved
from theorem_engine.backends.balls.functions import ball
from theorem_engine.backends.base import Backend, Numeric


def lower(spectra: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """The library isolates the eigenvalues; where some are multiple, discs of a diagonalised matrix enclose them."""
    (spectrum,) = spectra
    order = spectrum.order
    entries = backend.function(parameters, list(spectrum.entries))

    def evaluate(*values: Any) -> list[Any]:
        flat = [ball(v) for v in entries(*values)]
        if not all(v.is_finite() for v in flat):
            raise Unproved("a matrix has entries without a finite enclosure")
        matrix = acb_mat(order, order, [acb(v) for v in flat])
        try:
            found = matrix.eig()
        except ValueError:
            found = _by_discs(matrix, order)
        return _ordered(_real_where_alone(found))

    return evaluate


def _by_discs(matrix: Any, order: int) -> list[Any]:
    """Gershgorin's discs of V^(-1) A V for approximate eigenvectors V: a cluster of m discs holds m eigenvalues."""
    _, vectors = matrix.eig(right=True, algorithm="approx")
    vectors = vectors.mid()
    try:
        turned = vectors.inv() * matrix * vectors
    except ZeroDivisionError:
        raise Unproved("the eigenvectors of a matrix are not independent") from None
    discs = []
    for i in range(order):
        radius = sum((turned[i, k].abs_upper() for k in range(order) if k != i), arb(0)).upper()
        centre = turned[i, i]
        discs.append(acb(centre.real + arb(0, radius), centre.imag + arb(0, radius)))
    if not all(disc.is_finite() for disc in discs):
        raise Unproved("the eigenvalues of a matrix are not isolated")
    # every member of a cluster may lie anywhere in it
    for _ in range(order):
        for i in range(order):
            for k in range(order):
                if discs[i].overlaps(discs[k]):
                    discs[i] = discs[k] = discs[i].union(discs[k])
    return discs


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
    return [low.union(high) for low, high in zip(lows, highs, strict=True)]
