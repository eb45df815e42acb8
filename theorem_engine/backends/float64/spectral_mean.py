"""Spectral means in double precision: residues, and quadrature where residues lose digits.

A residue sum is exact up to rounding, but its terms cancel near double roots of a denominator and
where roots lie far away (a leading coefficient close to zero). The integrand on the spectrum does
not cancel, so quadrature takes over there; the smaller error estimate wins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.methods.polynomial import array_roots, scalar_roots
from theorem_engine.methods.spectral import (
    ARRAY,
    SCALAR,
    Kit,
    angle_distance,
    atoms,
    bulk_density,
    bulk_place,
    nodes,
    pole_weights,
    resolvents,
)
from theorem_engine.operators.spectral_mean import Bundle, take_apart
from theorem_engine.trace import note

EPS = float(np.finfo(float).eps)
#: Residues are doubted above this error, relative to the mean of the absolute value.
DOUBT = 4e-12
#: Roots closer than this, relatively, may be one root found twice: residues are then not used at all.
CLOSE = 1e-5
#: Quadrature needs about 1/distance nodes, the distance of the roots from the bulk in the angle's plane.
NEAR = 0.03
#: The double-exponential rule on [-REACH, REACH] starts with this step and halves it at most so often.
REACH, STEP, HALVINGS = 3.7, 0.125, 7
#: Points integrated at once: memory stays small.
BLOCK = 64


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Residues at the roots shared by the bundle, for scalars or for arrays of points."""
    return _Lowered(means, parameters, backend)


class _Lowered:
    """The compiled pieces of one bundle."""

    def __init__(self, means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> None:
        bundle: Bundle = take_apart(means)
        s = bundle.variable
        self.members = bundle.members
        self.forms = tuple(dict.fromkeys(form for _, form in bundle.members))
        self.law = backend.function(parameters, [bundle.ratio, bundle.spike])
        means_of_polynomials = [bundle.polynomial_mean(i) for i in range(len(means))]
        self.constant = (
            backend.function(parameters, means_of_polynomials) if any(m != 0 for m in means_of_polynomials) else None
        )
        self.bodies = backend.function([s, *parameters], [bundle.proper_part(i) for i in range(len(bundle.bodies))])
        self.poles = [_Pole(bundle, k, parameters, backend) for k in range(len(bundle.denominators))]

    def __call__(self, *values: Any) -> list[Any]:
        shape = np.broadcast_shapes(*[np.shape(v) for v in values]) if values else ()
        with np.errstate(all="ignore"):
            if shape == ():
                results, errors = self._scalar(tuple(float(v) for v in values))
            else:
                flat = [np.broadcast_to(np.asarray(v, dtype=float), shape).ravel() for v in values]
                table, gaps = self._array(flat)
                results, errors = [r.reshape(shape) for r in table], [e.reshape(shape) for e in gaps]
            if self.constant is not None:
                fixed = self.constant(*values)
                results = [r + f for r, f in zip(results, fixed, strict=True)]
        note("spectral mean", errors, self.detail)
        return results

    detail = ""

    def _scalar(self, values: tuple[float, ...]) -> tuple[list[Any], list[float]]:
        ratio, spike = (float(v) for v in self.law(*values))
        totals, sizes = [0.0] * len(self.members), [0.0] * len(self.members)
        trusted, roots = True, []
        try:
            for pole in self.poles:
                places = pole.scalar_places(values)
                trusted = trusted and places is not None
                for z, multiplicity in places or ():
                    roots.append(z)
                    terms, doubt = pole.terms(z, ratio, spike, self.forms, self.members, values, SCALAR)
                    for i, term in terms:
                        totals[i] += multiplicity * term.real
                        sizes[i] += multiplicity * doubt * abs(term)
        except (ZeroDivisionError, OverflowError):
            trusted = False
        errors = [2 * EPS * size for size in sizes]
        if trusted and all(e <= DOUBT * abs(t) for e, t in zip(errors, totals, strict=True)):
            self.detail = "residues"
            return totals, errors
        points = _Points(self, [np.array([v]) for v in values], np.array([ratio]), np.array([spike]))
        is_near = any(angle_distance(z, ratio, SCALAR) < NEAR for z in roots)
        if trusted and (is_near or bool(np.all(np.array(errors) <= DOUBT * points.sizes()[:, 0]))):
            self.detail = "residues"
            return totals, errors
        table, gaps = points.means()
        better = [not trusted or gap[0] < e for gap, e in zip(gaps, errors, strict=True)]
        self.detail = f"quadrature for {sum(better)} of {len(better)}"
        return (
            [float(q[0]) if b else t for q, t, b in zip(table, totals, better, strict=True)],
            [float(g[0]) if b else e for g, e, b in zip(gaps, errors, better, strict=True)],
        )

    def _array(self, values: Sequence[Any]) -> tuple[Any, Any]:
        count = values[0].size
        ratio, spike = (np.broadcast_to(np.asarray(v, dtype=float), (count,)) for v in self.law(*values))
        totals, sizes = np.zeros((len(self.members), count)), np.zeros((len(self.members), count))
        trusted, distance = np.ones(count, dtype=bool), np.full(count, np.inf)
        for pole in self.poles:
            places, multiplicities, good = pole.array_places(values, count)
            trusted &= good
            for z, multiplicity in zip(places, multiplicities, strict=True):
                if not multiplicity.any():
                    continue
                distance = np.minimum(distance, angle_distance(z, ratio, ARRAY))
                terms, doubt = pole.terms(z, ratio, spike, self.forms, self.members, values, ARRAY)
                for i, term in terms:
                    totals[i] += multiplicity * term.real
                    sizes[i] += multiplicity * doubt * np.abs(term)
        errors = 2 * EPS * sizes
        trusted &= np.isfinite(totals).all(axis=0)
        doubtful = ~(trusted & ((distance < NEAR) | (errors <= DOUBT * np.abs(totals)).all(axis=0)))
        tried = 0
        if doubtful.any():
            where = np.flatnonzero(doubtful)
            for part in np.array_split(where, -(-where.size // BLOCK)):
                points = _Points(self, [v[part] for v in values], ratio[part], spike[part])
                fine = trusted[part] & (errors[:, part] <= DOUBT * points.sizes()).all(axis=0)
                part = part[~fine]
                if not part.size:
                    continue
                tried += part.size
                table, gaps = _Points(self, [v[part] for v in values], ratio[part], spike[part]).means()
                better = ~trusted[part] | (gaps < errors[:, part])
                totals[:, part] = np.where(better, table, totals[:, part])
                errors[:, part] = np.where(better, gaps, errors[:, part])
        self.detail = f"residues; quadrature tried at {tried} of {count} points"
        return totals, errors


class _Points:
    """Quadrature on the spectrum at some points: a double-exponential rule over the bulk, and the atoms."""

    def __init__(self, lowered: _Lowered, values: Sequence[Any], ratio: Any, spike: Any) -> None:
        self.lowered = lowered
        self.values, self.ratio, self.spike = values, ratio, spike

    def sizes(self) -> Any:
        """Means of absolute values, roughly: what rounding errors are to be compared with."""
        half = round(REACH / STEP)
        sizes = self._sums(np.arange(-half, half + 1) * STEP)[1] * STEP
        return self._with_atoms(sizes, np.zeros(sizes.shape))[0]

    def _sums(self, t: Any) -> tuple[Any, Any]:
        """Sums of the integrands and of their absolute values over some nodes."""
        cosine2, sine2, weight = nodes(t, ARRAY)
        ratio, spike = self.ratio[:, None], self.spike[:, None]
        density = bulk_density(cosine2, sine2, ratio, spike, self.lowered.forms, ARRAY)
        body = self.lowered.bodies(bulk_place(cosine2, ratio, ARRAY), *(v[:, None] for v in self.values))
        products = [weight * density[form] * body[b] for b, form in self.lowered.members]
        shape = (self.ratio.size, t.size)
        # where the density vanishes so does the product, whatever the body does
        table = np.stack([np.broadcast_to(np.where(np.isfinite(p), p, 0.0), shape) for p in products])
        return table.sum(axis=-1), np.abs(table).sum(axis=-1)

    def means(self) -> tuple[Any, Any]:
        """Means and error estimates; the step is halved until the sums settle."""
        step = STEP
        half = round(REACH / STEP)
        sums, sizes = self._sums(np.arange(-half, half + 1) * step)
        gap = np.full(sums.shape, np.inf)
        for _ in range(HALVINGS):
            new, new_sizes = self._sums((np.arange(-half, half) + 0.5) * step)
            gap = np.abs(new - sums) * step / 2
            sums, sizes = sums + new, sizes + new_sizes
            step, half = step / 2, 2 * half
            # convergence is geometric: a gap of half the digits leaves none after the next halving
            if np.all(gap <= 1e-9 * sizes * step):
                break
        scale = sizes * step
        errors = np.where(gap <= 1e-9 * scale, 10 * gap * (gap / (scale + 1e-300)), gap) + 4 * EPS * scale
        return self._with_atoms(sums * step, errors)

    def _with_atoms(self, table: Any, errors: Any) -> tuple[Any, Any]:
        bodies, members = self.lowered.bodies, self.lowered.members
        place, masses = atoms(self.ratio, self.spike, self.lowered.forms, ARRAY)
        if not any(np.any(m) for pair in masses.values() for m in pair):
            return table, errors
        at_zero, outside = bodies(0 * self.ratio, *self.values), bodies(place, *self.values)
        for i, (body, form) in enumerate(members):
            for mass, value in zip(masses[form], (at_zero[body], outside[body]), strict=True):
                extra = np.where(mass > 0, mass * value, 0.0)
                table[i] += extra
                errors[i] += 4 * EPS * np.abs(extra)
        return table, errors


class _Pole:
    """The roots of one denominator and what is analytic there."""

    def __init__(self, bundle: Bundle, index: int, parameters: tuple[Any, ...], backend: Backend) -> None:
        import sympy

        s, base = bundle.variable, bundle.denominators[index]
        self.order = bundle.highest_power(index)
        self.powers = [body.powers[index] for body in bundle.bodies]
        self.coefficients = backend.function(parameters, sympy.Poly(sympy.expand(base), s).all_coeffs())
        self.derivatives = backend.function([s, *parameters], [base.diff(s, k) for k in range(self.order + 2)])
        parts = [bundle.regular_part(b, index).diff(s, k) for b, power in enumerate(self.powers) for k in range(power)]
        self.regular = backend.function([s, *parameters], parts)
        starts = np.cumsum([0, *self.powers])
        self.slices = [slice(int(a), int(b)) for a, b in zip(starts[:-1], starts[1:], strict=True)]

    def scalar_places(self, values: tuple[float, ...]) -> list[tuple[complex, int]] | None:
        """Polished roots with Im >= 0 and how often each counts; None where they are no use."""
        found = scalar_roots([float(c) for c in self.coefficients(*values)])
        polished = []
        for z in found:
            polished.append(z := _polish(lambda x: self.derivatives(x, *values)[:2], z))
            if z != z or abs(z) > 1e150:
                return None
        everything = [*polished, *(z.conjugate() for z in polished if z.imag > 0)]
        for i, z in enumerate(everything):
            for other in everything[:i]:
                if abs(z - other) < CLOSE * abs(z):
                    return None
        return [(z, 2 if z.imag > 0 else 1) for z in polished]

    def array_places(self, values: Sequence[Any], count: int) -> tuple[Any, Any, Any]:
        """Polished roots as rows, how often each counts, and where they can be used."""
        roots = array_roots(self.coefficients(*values), count)
        multiplicities = np.ones(roots.shape)
        for k in range(1, len(roots)):
            # of a conjugate pair the first counts twice
            paired = (roots[k] == roots[k - 1].conj()) & (roots[k].imag != 0) & (multiplicities[k - 1] == 1)
            multiplicities[k - 1 : k + 1] = np.where(paired, [[2], [0]], multiplicities[k - 1 : k + 1])
        for _ in range(3):
            value, slope = self.derivatives(roots, *values)[:2]
            step = value / slope
            roots = np.where(np.isfinite(step), roots - step, roots)
        good = np.isfinite(roots).all(axis=0) & (np.abs(roots) < 1e150).all(axis=0)
        for i in range(len(roots)):
            for k in range(i):
                good &= np.abs(roots[i] - roots[k]) >= CLOSE * np.abs(roots[i])
        return roots, multiplicities, good

    def terms(
        self, z: Any, ratio: Any, spike: Any, forms: Sequence[str], members: Sequence[tuple[int, str]],
        values: Sequence[Any], kit: Kit,
    ) -> tuple[list[tuple[int, Any]], Any]:  # fmt: skip
        """Contributions of one root to the members, and how much rounding they amplify."""
        slopes = self.derivatives(z, *values)[1:]
        series = resolvents(z, ratio, spike, forms, self.order, kit)
        regular = self.regular(z, *values)
        weights: dict[tuple[str, int], list[Any]] = {}
        result = []
        for i, (body, form) in enumerate(members):
            power = self.powers[body]
            if not power:
                continue
            if (form, power) not in weights:
                weights[form, power] = pole_weights(series[form], slopes, power)
            parts = regular[self.slices[body]]
            total = weights[form, power][0] * parts[0]
            for k in range(1, power):
                total = total + weights[form, power][k] * parts[k]
            result.append((i, total))
        return result, self.order * (1 + abs(z * slopes[1] / slopes[0]))


def _polish(function: Callable[[complex], Sequence[Any]], z: complex) -> complex:
    """Newton until the step no longer shrinks; the polynomial is in its author's form."""
    last = float("inf")
    for _ in range(8):
        value, slope = function(z)
        if not slope:
            return z
        step = value / slope
        size = abs(step)
        if not size < last:
            return z
        z -= step
        last = size
        if size <= EPS * abs(z):
            return z
    return z
