"""Spectral means, enclosed: residues at the enclosed roots of the denominators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sympy
from flint import acb, arb

from theorem_engine.backends.balls.claims import Unproved
from theorem_engine.backends.balls.functions import ball
from theorem_engine.backends.balls.polynomial_roots import enclose_roots
from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.bundles import CompiledPole
from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.operators.spectral_bundle import take_apart
from theorem_engine.numerics.spectral.laws import Kit, resolvents


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """The mean of a rational body: its polynomial by moments, the rest by residues."""
    bundle = take_apart(means)
    forms = tuple(dict.fromkeys(form for _, form in bundle.members))
    law = backend.function(parameters, [bundle.ratio, bundle.spike])
    fixed = backend.function(parameters, [sympy.Add(*bundle.polynomial_terms(i)) for i in range(len(means))])
    poles = [_Pole(bundle, k, parameters, backend) for k in range(len(bundle.denominators))]

    def evaluate(*values: Any) -> list[Any]:
        if any(isinstance(v, acb) for v in values):
            raise NotAvailable("no certificate: a spectral mean stands inside another integral")
        ratio, spike = (ball(v) for v in law(*values))
        totals = [ball(v) for v in fixed(*values)]
        for pole in poles:
            for z in pole.places(values):
                _check_off_spectrum(z, ratio)
                for i, term in pole.terms(z, ratio, spike, forms, values):
                    totals[i] += acb(term).real
        return totals

    return evaluate


def _check_off_spectrum(z: Any, ratio: Any) -> None:
    """A pole must lie off the spectrum, which is on the real line from zero on."""
    if z.imag.contains(0) and not z.real < 0:
        gap = (1 - ratio.sqrt()) ** 2
        if not (ratio < 1 and z.real > 0 and z.real < gap):
            raise Unproved("spectral mean: a root of a denominator may lie on the spectrum")


class _Pole(CompiledPole):
    """The enclosed roots of one denominator."""

    def places(self, values: Sequence[Any]) -> list[Any]:
        """All roots."""
        return enclose_roots([ball(c) for c in self.coefficients(*values)])

    def terms(self, z: Any, ratio: Any, spike: Any, forms: Sequence[str], values: Sequence[Any]) -> Iterator[Any]:
        """Contributions of one root to the members."""
        slopes = [acb(ball(d)) for d in self.derivatives(z, *values)[1:]]
        series = resolvents(z, acb(ratio), acb(spike), forms, self.order, _kit())
        return self.contributions(z, series, slopes, values)


def _kit() -> Kit:
    """Arithmetic of complex balls; which of two equal forms of a number is taken is no part of the proof."""
    return Kit(
        lambda x: acb(x).sqrt(), lambda condition, a, b: a if condition else b,
        acb.sin, acb.cosh, acb.sinh, acb.exp, acb.log, arb.pi(),
    )  # fmt: skip
