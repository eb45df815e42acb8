"""Spectral means at mpmath's precision: residues with as many extra digits as they lose, else quadrature."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sympy
from mpmath import mp

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.bundles import CompiledPole
from theorem_engine.base.errors import NotConverged
from theorem_engine.language.operators.spectral_bundle import take_apart
from theorem_engine.numerics.spectral.laws import Kit, atoms, bulk_density, bulk_place, nodes, resolvents

#: Bits carried beyond the working precision, before any loss is seen.
SPARE = 30
MAX_LEVEL = 11


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """Residues at the roots shared by the bundle; quadrature on the spectrum where they cannot be told apart."""
    bundle = take_apart(means)
    s = bundle.variable
    forms = tuple(dict.fromkeys(form for _, form in bundle.members))
    law = backend.function(parameters, [bundle.ratio, bundle.spike])
    terms = [bundle.polynomial_terms(i) for i in range(len(means))]
    fixed = backend.function(
        parameters, [*(sympy.Add(*t) for t in terms), *(sympy.Add(*map(sympy.Abs, t)) for t in terms)]
    )
    bodies = backend.function([s, *parameters], [body.whole for body in bundle.bodies])
    poles = [_Pole(bundle, k, parameters, backend) for k in range(len(bundle.denominators))]

    def residues(values: Sequence[Any]) -> tuple[list[Any], int]:
        """Sums of residues and how many bits their cancellation cost."""
        ratio, spike = law(*values)
        start = [mp.mpf(x) for x in fixed(*values)]
        totals, sizes = start[: len(means)], start[len(means) :]
        for pole in poles:
            for z in pole.places(values):
                for i, term, doubt in pole.terms(z, ratio, spike, forms, values):
                    totals[i] += mp.re(term)
                    sizes[i] += doubt * abs(term)
        lost = 0
        for total, size in zip(totals, sizes, strict=True):
            if size:
                lost = max(lost, int(mp.mag(size)) - (int(mp.mag(total)) if total else -mp.prec))
        return totals, lost

    def evaluate(*values: Any) -> list[Any]:
        found = _with_spare(residues, values)
        if found is None:
            found = _quadrature(bodies, law(*values), bundle.members, forms, values)
        return found

    return evaluate


def _with_spare(residues: Any, values: Sequence[Any]) -> list[Any] | None:
    """Residues with the bits they lose added; None where the roots are not simple at any such precision."""
    wanted = mp.prec
    spare = SPARE
    for _ in range(3):
        with mp.extraprec(spare):
            try:
                totals, lost = residues(values)
            except (ZeroDivisionError, mp.NoConvergence):
                return None
        if lost <= spare - 10:
            return totals
        if lost > 2 * wanted + SPARE:
            return None
        spare = lost + SPARE
    return None


class _Pole(CompiledPole):
    """The roots of one denominator at mpmath's precision."""

    def places(self, values: Sequence[Any]) -> list[Any]:
        """All roots, polished on the denominator as its author wrote it."""
        coefficients = [mp.mpf(c) for c in self.coefficients(*values)]
        if not coefficients[0]:
            raise ZeroDivisionError
        roots = []
        for z in mp.polyroots(coefficients, maxsteps=200, extraprec=mp.prec):
            for _ in range(2):
                value, slope = self.derivatives(z, *values)[:2]
                z -= value / slope
            roots.append(mp.mpc(z))
        return roots

    def terms(self, z: Any, ratio: Any, spike: Any, forms: Sequence[str], values: Sequence[Any]) -> Iterator[Any]:
        """Contributions of one root to the members, each with the factor by which it amplifies rounding."""
        slopes = list(self.derivatives(z, *values)[1:])
        series = resolvents(z, ratio, spike, forms, self.order, _kit())
        doubt = self.order * (1 + abs(z * slopes[1] / slopes[0]))
        return ((i, term, doubt) for i, term in self.contributions(z, series, slopes, values))


def _kit() -> Kit:
    return Kit(mp.sqrt, lambda condition, a, b: a if condition else b, mp.sin, mp.cosh, mp.sinh, mp.exp, mp.log, +mp.pi)


def _quadrature(
    bodies: Numeric, law: Sequence[Any], members: Sequence[tuple[int, str]], forms: Sequence[str], values: Sequence[Any]
) -> list[Any]:
    """Double-exponential rule over the bulk, halved until every sum stands still, and the atoms."""
    kit = _kit()
    ratio, spike = law
    reach = int(mp.ceil(mp.asinh(mp.mpf("1.6") * (mp.dps + 5) * mp.ln(10) / mp.pi)))

    def add(places: list[Any]) -> tuple[list[Any], list[Any]]:
        sums, sizes = [mp.zero] * len(members), [mp.zero] * len(members)
        for t in places:
            cosine2, sine2, weight = nodes(t, kit)
            density = bulk_density(cosine2, sine2, ratio, spike, forms, kit)
            body = bodies(bulk_place(cosine2, ratio, kit), *values)
            for i, (b, form) in enumerate(members):
                product = weight * density[form] * body[b]
                sums[i] += product
                sizes[i] += abs(product)
        return sums, sizes

    step = mp.mpf(1) / 8
    half = 8 * reach
    sums, sizes = add([k * step for k in range(-half, half + 1)])
    for _ in range(MAX_LEVEL):
        new, new_sizes = add([(k + mp.mpf(1) / 2) * step for k in range(-half, half)])
        gaps = [abs(a - b) for a, b in zip(new, sums, strict=True)]
        sums = [a + b for a, b in zip(sums, new, strict=True)]
        sizes = [a + b for a, b in zip(sizes, new_sizes, strict=True)]
        step, half = step / 2, 2 * half
        # geometric convergence: a gap of half the digits leaves none after the next halving
        close = mp.mpf(10) ** (-(mp.dps * 6) // 10)
        if all(gap <= close * size for gap, size in zip(gaps, sizes, strict=True)):
            break
    else:
        raise NotConverged("spectral mean: neither residues nor quadrature settle")
    place, masses = atoms(ratio, spike, forms, kit)
    at_zero, outside = bodies(mp.zero, *values), bodies(place, *values)
    totals = []
    for total, (b, form) in zip(sums, members, strict=True):
        totals.append(total * step + masses[form][0] * at_zero[b] + masses[form][1] * outside[b])
    return totals
