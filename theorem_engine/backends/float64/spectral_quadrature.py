"""Quadrature on the spectrum in double precision, the twin of residues.

Midpoints in the angle of the bulk where the poles of the bodies keep their distance, which is exact to rounding with
a number of nodes known beforehand; else a double-exponential rule, refined until it settles.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend
from theorem_engine.language.operators.spectral_bundle import Bundle
from theorem_engine.numerics.spectral.laws import ARRAY, atoms, bulk_density, bulk_place, midpoint_rule, nodes

EPS = float(np.finfo(float).eps)
#: The midpoint rule with this number of nodes over the distance is exact to rounding; it serves up to so many nodes.
EXPONENT, MOST_MIDPOINTS = 18.0, 512
#: The double-exponential rule on [-REACH, REACH] starts with this step and halves it at most so often.
REACH, STEP, HALVINGS = 3.7, 0.125, 7


class Quadrature:
    """Means of a bundle's bodies over the spectrum, the atoms included, with error estimates."""

    def __init__(self, bundle: Bundle, forms: tuple[str, ...], parameters: tuple[Any, ...], backend: Backend) -> None:
        self.forms, self.members, self.size = forms, bundle.members, len(bundle.bodies)
        #: Which body and which form each member is.
        self.places = ([body for body, _ in bundle.members], [forms.index(form) for _, form in bundle.members])
        whole = [body.whole for body in bundle.bodies]
        self.bodies = backend.function([bundle.variable, *parameters], whole)

    def at_points(self, values: Sequence[Any], ratio: Any, spike: Any, distance: Any) -> tuple[Any, Any]:
        """Means at arrays of points; ``distance`` is that of the nearest pole of the bodies, zero if not known."""
        count = _midpoints_needed(distance)
        points = _Points(self, values, ratio, spike)
        return points.midpoint(count) if count else points.double_exponential()

    def at_point(
        self, values: tuple[float, ...], ratio: float, spike: float, distance: float
    ) -> tuple[list[float], list[float]]:
        """As ``at_points`` at one point, where the rule of the last calls often serves again."""
        count = _midpoints_needed(distance)
        if not count:
            points = _Points(self, [np.array([v]) for v in values], np.array([ratio]), np.array([spike]))
            table, gaps = points.double_exponential()
            return table[:, 0].tolist(), gaps[:, 0].tolist()
        places, weights, roundings = _point_rule(ratio, spike, self.forms, count)
        bodies = np.empty((self.size, places.size))
        for row, body in zip(bodies, self.bodies(places, *values), strict=True):
            row[:] = body
        sums, sizes = bodies @ weights, np.abs(bodies) @ roundings
        return sums[self.places].tolist(), (8 * EPS * sizes[self.places]).tolist()


def _midpoints_needed(distance: Any) -> int:
    """Nodes of the midpoint rule that serve all these distances, in a few sizes only; zero where it does not."""
    nearest = distance if isinstance(distance, float) else float(np.min(distance))
    if nearest * MOST_MIDPOINTS <= EXPONENT:
        return 0
    count = 16
    while count * nearest < EXPONENT:
        count += max(8, count // 2)
    return count


@lru_cache(maxsize=64)
def _point_rule(ratio: float, spike: float, forms: tuple[str, ...], count: int) -> tuple[Any, Any, Any]:
    """The rule at one point, weights and roundings with a column for each form."""
    places, *columns = midpoint_rule(np.array([ratio]), np.array([spike]), forms, count)
    weights, roundings = (np.ascontiguousarray(part[:, 0].T) for part in columns)
    return places[0], weights, roundings


class _Points:
    """Some points to integrate at."""

    def __init__(self, quadrature: Quadrature, values: Sequence[Any], ratio: Any, spike: Any) -> None:
        self.quadrature = quadrature
        self.values, self.ratio, self.spike = values, ratio, spike

    def midpoint(self, count: int) -> tuple[Any, Any]:
        """Midpoints in the angle, zero and the outlier."""
        quadrature = self.quadrature
        places, weights, roundings = midpoint_rule(self.ratio, self.spike, quadrature.forms, count)
        bodies = np.empty((quadrature.size, *places.shape))
        for row, body in zip(bodies, quadrature.bodies(places, *(v[:, None] for v in self.values)), strict=True):
            row[:] = body
        sums, sizes = np.einsum("bmn,fmn->bfm", bodies, weights), np.einsum("bmn,fmn->bfm", np.abs(bodies), roundings)
        rows, columns = quadrature.places
        return sums[rows, columns], 8 * EPS * sizes[rows, columns]

    def double_exponential(self) -> tuple[Any, Any]:
        """A rule that crowds its nodes at the edges; the step is halved until the sums settle."""
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

    def _sums(self, t: Any) -> tuple[Any, Any]:
        """Sums of the integrands and of their absolute values over some nodes."""
        cosine2, sine2, weight = nodes(t, ARRAY)
        ratio, spike = self.ratio[:, None], self.spike[:, None]
        density = bulk_density(cosine2, sine2, ratio, spike, self.quadrature.forms, ARRAY)
        body = self.quadrature.bodies(bulk_place(cosine2, ratio, ARRAY), *(v[:, None] for v in self.values))
        products = [weight * density[form] * body[b] for b, form in self.quadrature.members]
        shape = (self.ratio.size, t.size)
        # where the density vanishes so does the product, whatever the body does
        table = np.stack([np.broadcast_to(np.where(np.isfinite(p), p, 0.0), shape) for p in products])
        return table.sum(axis=-1), np.abs(table).sum(axis=-1)

    def _with_atoms(self, table: Any, errors: Any) -> tuple[Any, Any]:
        bodies, members = self.quadrature.bodies, self.quadrature.members
        place, masses = atoms(self.ratio, self.spike, self.quadrature.forms, ARRAY)
        if not any(np.any(m) for pair in masses.values() for m in pair):
            return table, errors
        at_zero, outside = bodies(0 * self.ratio, *self.values), bodies(place, *self.values)
        for i, (body, form) in enumerate(members):
            for mass, value in zip(masses[form], (at_zero[body], outside[body]), strict=True):
                extra = np.where(mass > 0, mass * value, 0.0)
                table[i] += extra
                errors[i] += 4 * EPS * np.abs(extra)
        return table, errors
