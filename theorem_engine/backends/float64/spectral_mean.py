"""Spectral means in double precision: residues, and quadrature where residues lose digits.

A residue sum is exact up to rounding, but its terms cancel near double roots of a denominator and
where roots lie far away (a leading coefficient close to zero). The integrand on the spectrum does
not cancel, so quadrature takes over there; the smaller error estimate wins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import sympy

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.spectral_quadrature import EXPONENT, Quadrature
from theorem_engine.base.reports import note
from theorem_engine.language.operators.spectral_bundle import Bundle, take_apart
from theorem_engine.numerics.spectral.laws import ARRAY, SCALAR, angle_distance, pole_weights, resolvents
from theorem_engine.numerics.spectral.polynomial import array_roots, scalar_roots

EPS = float(np.finfo(float).eps)
#: Residues are doubted above this error, relative to the mean of the absolute value.
DOUBT = 4e-12
#: Roots closer than this, relatively, may be one root found twice: residues are then not used at all.
CLOSE = 1e-5
#: A step of Newton's method this short, relatively, leaves less than rounding of a root that is not ``CLOSE`` to one.
ARRIVED = 1e-11
#: Quadrature needs about 1/distance nodes, the distance of the roots from the bulk in the angle's plane.
NEAR = 0.03
#: Roundings of a term of a polynomial's mean, in the unit of those of a residue.
POLYNOMIAL = 4.0
#: One over the strength of a pole that residues say nothing about.
UNKNOWN = 1e-30
#: Points integrated at once: memory stays small.
BLOCK = 64


@lru_cache(maxsize=256)
def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Residues at the roots shared by the bundle, for scalars or for arrays of points.

    The value of an entry, its slopes and its outcomes have most of their bundles in common: each is compiled once.
    """
    return _Lowered(means, parameters, backend)


class _Lowered:
    """The compiled pieces of one bundle."""

    def __init__(self, means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> None:
        bundle: Bundle = take_apart(means)
        self.members = bundle.members
        self.forms = tuple(dict.fromkeys(form for _, form in bundle.members))
        self.law = backend.function(parameters, [bundle.ratio, bundle.spike])
        terms = [bundle.polynomial_terms(i) for i in range(len(means))]
        #: Means of the bodies' polynomials, and of the absolute values of their terms, which tell how much they cancel.
        self.fixed = (
            backend.function(
                parameters, [*(sympy.Add(*t) for t in terms), *(sympy.Add(*map(sympy.Abs, t)) for t in terms)]
            )
            if any(terms)
            else None
        )
        self.quadrature = Quadrature(bundle, self.forms, parameters, backend)
        self.poles = [_Pole(bundle, k, self.forms, parameters, backend) for k in range(len(bundle.denominators))]
        self.detail = ""

    def __call__(self, *values: Any) -> list[Any]:
        if all(isinstance(v, (float, int)) for v in values):
            results, errors = self._scalar(tuple(map(float, values)))
        else:
            shape = np.broadcast_shapes(*[np.shape(v) for v in values])
            flat = [np.broadcast_to(np.asarray(v, dtype=float), shape).ravel() for v in values]
            with np.errstate(all="ignore"):
                table, gaps = self._array(flat)
            results, errors = [r.reshape(shape) for r in table], [e.reshape(shape) for e in gaps]
        note("spectral mean", errors, self.detail)
        return results

    def _scalar(self, values: tuple[float, ...]) -> tuple[list[Any], list[float]]:
        ratio, spike = map(float, self.law(*values))
        totals, sizes = [0.0] * len(self.members), [0.0] * len(self.members)
        trusted, roots = True, []
        try:
            totals, sizes = self._start(values)
            for pole in self.poles:
                places, good = pole.scalar_places(values)
                trusted = trusted and good
                roots += [z for z, _ in places]
                for z, multiplicity in places if good else ():
                    series = resolvents(z, ratio, spike, self.forms, pole.order, SCALAR)
                    pole.add(totals, sizes, multiplicity, z, [x for form in self.forms for x in series[form]], values)
        except (ZeroDivisionError, OverflowError):
            trusted = False
        errors = [2 * EPS * size for size in sizes]
        if trusted and all(e <= DOUBT * abs(t) for e, t in zip(errors, totals, strict=True)):
            self.detail = "residues"
            return totals, errors
        distance = min((_distance(z, ratio) for z in roots), default=np.inf if not self.poles else 0.0)
        if trusted and distance < NEAR:
            self.detail = "residues"
            return totals, errors
        with np.errstate(all="ignore"):
            near = distance * _shrinkage(_strength(totals, sizes) if trusted else 1 / UNKNOWN, math.log)
            table, gaps = self.quadrature.at_point(values, ratio, spike, near)
        better = [not trusted or gap < e for gap, e in zip(gaps, errors, strict=True)]
        self.detail = f"quadrature for {sum(better)} of {len(better)}"
        return (
            [q if b else t for q, t, b in zip(table, totals, better, strict=True)],
            [g if b else e for g, e, b in zip(gaps, errors, better, strict=True)],
        )

    def _start(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Means of the polynomials and their sizes: what residues are added to."""
        if self.fixed is None:
            return [0.0] * len(self.members), [0.0] * len(self.members)
        found = self.fixed(*values)
        return list(found[: len(self.members)]), [POLYNOMIAL * x for x in found[len(self.members) :]]

    def _array(self, values: Sequence[Any]) -> tuple[Any, Any]:
        count = values[0].size
        ratio, spike = (np.broadcast_to(np.asarray(v, dtype=float), (count,)) for v in self.law(*values))
        totals, sizes = np.zeros((len(self.members), count)), np.zeros((len(self.members), count))
        for table, start in zip((totals, sizes), self._start(values), strict=True):
            for row, value in zip(table, start, strict=True):
                row[:] = value
        trusted, distance = np.ones(count, dtype=bool), np.full(count, np.inf)
        for pole in self.poles:
            places, multiplicities, good = pole.array_places(values, count)
            trusted &= good
            for z, multiplicity in zip(places, multiplicities, strict=True):
                if not multiplicity.any():
                    continue
                distance = np.minimum(distance, angle_distance(z, ratio, ARRAY))
                series = resolvents(z, ratio, spike, self.forms, pole.order, ARRAY)
                flat = [x for form in self.forms for x in series[form]]
                for i, term, size in pole.terms(z, flat, values):
                    totals[i] += multiplicity * term
                    sizes[i] += multiplicity * size
        errors = 2 * EPS * sizes
        trusted &= np.isfinite(totals).all(axis=0)
        doubtful = ~(trusted & ((distance < NEAR) | (errors <= DOUBT * np.abs(totals)).all(axis=0)))
        where = np.flatnonzero(doubtful)
        for part in np.array_split(where, -(-where.size // BLOCK)) if where.size else ():
            here = [v[part] for v in values], ratio[part], spike[part]
            near = np.nan_to_num(distance[part], nan=0.0, posinf=0.0 if self.poles else np.inf)
            near = _felt(near, totals[:, part], sizes[:, part], trusted[part])
            table, gaps = self.quadrature.at_points(*here, near)
            better = ~trusted[part] | (gaps < errors[:, part])
            totals[:, part] = np.where(better, table, totals[:, part])
            errors[:, part] = np.where(better, gaps, errors[:, part])
        self.detail = f"residues; quadrature tried at {where.size} of {count} points"
        return totals, errors


def _distance(z: complex, ratio: float) -> float:
    """Distance of a root from the bulk in the plane of the angle; zero where there is no root."""
    return angle_distance(z, ratio, SCALAR) if abs(z) < 1e150 else 0.0


def _felt(distance: Any, totals: Any, sizes: Any, trusted: Any) -> Any:
    """The distance at which a pole as strong as the mean itself would disturb the midpoint rule as much.

    The rule leaves a pole's own part of the sum times exp(-2 count distance); near a small denominator that part is
    larger than the mean by many powers of ten. What is not known of it is taken as very large.
    """
    parts = np.where(sizes > 0, sizes / np.maximum(np.abs(totals), np.abs(sizes) * UNKNOWN), 1.0)
    strength = np.where(trusted & np.isfinite(parts).all(axis=0), np.maximum(parts.max(axis=0), 1.0), 1 / UNKNOWN)
    return distance * _shrinkage(strength, np.log)


def _strength(totals: Sequence[float], sizes: Sequence[float]) -> float:
    """The largest of a pole's parts over their sum at one point, where plain floats cost less than arrays."""
    strength = 1.0
    for total, size in zip(totals, sizes, strict=True):
        if size:
            part = size / max(abs(total), size * UNKNOWN)
            if not part < math.inf:
                return 1 / UNKNOWN
            strength = max(strength, part)
    return strength


def _shrinkage(strength: Any, log: Callable[[Any], Any]) -> Any:
    return EXPONENT / (EXPONENT + log(strength) / 2)


class _Pole:
    """The roots of one denominator, and the residues there as one compiled function of the resolvents."""

    def __init__(
        self, bundle: Bundle, index: int, forms: Sequence[str], parameters: tuple[Any, ...], backend: Backend
    ) -> None:
        s, base = bundle.variable, bundle.denominators[index]
        powers = [body.powers[index] for body in bundle.bodies]
        self.order = bundle.highest_power(index)
        self.members = [i for i, (body, _) in enumerate(bundle.members) if powers[body]]
        self.roots = _roots_of(s, base, backend)
        #: Where among the parameters the letters of the denominator are.
        self.own = [parameters.index(letter) for letter in self.roots.letters]
        slopes = [sympy.Dummy(f"slope{k}") for k in range(self.order + 1)]
        series = {form: [sympy.Dummy(f"form{i}_{k}") for k in range(self.order)] for i, form in enumerate(forms)}
        #: Each member and the places of its parts.
        self.parts: list[tuple[int, int, int]] = []
        parts: list[Any] = []
        for i in self.members:
            body, form = bundle.members[i]
            weights = pole_weights(series[form], slopes, powers[body])
            regular = bundle.regular_part(body, index)
            self.parts.append((i, len(parts), len(parts) + len(weights)))
            parts += [w * regular.diff(s, k) for k, w in enumerate(weights)]
        #: (root, resolvents of all forms, parameters) -> parts of the contributions to the members, and z D''/D',
        #: which tells how much they amplify rounding.
        self.compiled = backend.function(
            [s, *(x for form in forms for x in series[form]), *parameters],
            [*parts, s * slopes[1] / slopes[0]],
            {slope: base.diff(s, k + 1) for k, slope in enumerate(slopes)},
        )

    def add(
        self, totals: list[float], sizes: list[float], multiplicity: int, z: complex, series: Iterable[Any],
        values: Sequence[float],
    ) -> None:  # fmt: skip
        """Add the contribution of one root at one point to every member, and its size in roundings."""
        found = self.compiled(z, *series, *values)
        doubt = multiplicity * self.order * (1 + abs(found[-1]))
        for i, first, end in self.parts:
            total = found[first]
            size = abs(total)
            for k in range(first + 1, end):
                total += found[k]
                size += abs(found[k])
            totals[i] += multiplicity * total.real
            sizes[i] += doubt * size

    def terms(self, z: Any, series: Iterable[Any], values: Sequence[Any]) -> list[tuple[int, Any, Any]]:
        """Members that have this pole, the contribution of one root to each, and its size in roundings."""
        *parts, curvature = self.compiled(z, *series, *values)
        doubt = self.order * (1 + abs(curvature))
        found = []
        for i, first, end in self.parts:
            total = parts[first]
            size = abs(total)
            # of a pole of higher order that lies far away the parts cancel
            for part in parts[first + 1 : end]:
                total, size = total + part, size + abs(part)
            found.append((i, total.real, doubt * size))
        return found

    def scalar_places(self, values: tuple[float, ...]) -> tuple[list[tuple[complex, int]], bool]:
        """Polished roots with Im >= 0 and how often each counts, and whether residues there are of use."""
        return self.roots.at(tuple([values[i] for i in self.own]))

    def array_places(self, values: Sequence[Any], count: int) -> tuple[Any, Any, Any]:
        """Polished roots as rows, how often each counts, and where they can be used."""
        own = [values[i] for i in self.own]
        roots = array_roots(self.roots.coefficients(*own), count)
        multiplicities = np.ones(roots.shape)
        for k in range(1, len(roots)):
            # of a conjugate pair the first counts twice
            paired = (roots[k] == roots[k - 1].conj()) & (roots[k].imag != 0) & (multiplicities[k - 1] == 1)
            multiplicities[k - 1 : k + 1] = np.where(paired, [[2], [0]], multiplicities[k - 1 : k + 1])
        for _ in range(3):
            value, slope = self.roots.value_and_slope(roots, *own)
            step = value / slope
            roots = np.where(np.isfinite(step), roots - step, roots)
        good = np.isfinite(roots).all(axis=0) & (np.abs(roots) < 1e150).all(axis=0)
        for i in range(len(roots)):
            for k in range(i):
                good &= np.abs(roots[i] - roots[k]) >= CLOSE * np.abs(roots[i])
        return roots, multiplicities, good


class _Roots:
    """A denominator's roots: shared by all bundles that have it, for they are often asked at one point in turn."""

    def __init__(self, s: Any, base: Any, backend: Backend) -> None:
        self.letters = sorted(base.free_symbols - {s}, key=lambda letter: (letter.name, letter.sort_key()))
        self.coefficients = backend.function(self.letters, sympy.Poly(sympy.expand(base), s).all_coeffs())
        self.value_and_slope = backend.function([s, *self.letters], [base, base.diff(s)])
        #: The last point and what was found there.
        self.last: tuple[Any, Any] = ((math.nan,), None)

    def at(self, values: tuple[float, ...]) -> tuple[list[tuple[complex, int]], bool]:
        """Polished roots with Im >= 0 and how often each counts, and whether residues there are of use."""
        known, found = self.last
        if known != values or found is None:
            found = self._find(values)
            self.last = values, found
        return found

    def _find(self, values: tuple[float, ...]) -> tuple[list[tuple[complex, int]], bool]:
        polished = [
            _polish(self.value_and_slope, root, values)
            for root in scalar_roots([float(c) for c in self.coefficients(*values)])
        ]
        good = True
        for i, z in enumerate(polished):
            size = abs(z)
            # of a root and its conjugate the distance is twice the imaginary part
            good = good and size < 1e150 and not 0 < 2 * z.imag < CLOSE * size
            for other in polished[:i]:
                good = good and not abs(z - other) < CLOSE * size and not abs(z.conjugate() - other) < CLOSE * size
        return [(z, 2 if z.imag > 0 else 1) for z in polished], good


@lru_cache(maxsize=128)
def _roots_of(s: Any, base: Any, backend: Backend) -> _Roots:
    return _Roots(s, base, backend)


def _polish(function: Callable[..., Sequence[Any]], z: complex, values: tuple[float, ...]) -> complex:
    """Newton until the step no longer shrinks; the polynomial is in its author's form."""
    last = float("inf")
    for _ in range(8):
        value, slope = function(z, *values)
        if not slope:
            return z
        step = value / slope
        size = abs(step)
        if not size < last:
            return z
        z -= step
        last = size
        # steps are squared each time: after one as short as this nothing is left, but between roots that are not used
        if size <= ARRIVED * abs(z):
            return z
    return z
