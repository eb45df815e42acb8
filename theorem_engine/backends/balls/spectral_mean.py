"""Spectral means, enclosed: residues at the enclosed roots of the denominators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from flint import acb, arb

from theorem_engine.backends.balls.claims import Unproved
from theorem_engine.backends.balls.functions import ball
from theorem_engine.backends.balls.polynomial_roots import enclose_roots
from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.operators.spectral_bundle import Bundle, take_apart
from theorem_engine.numerics.spectral.laws import Kit, pole_weights, resolvents


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
                for i, term in pole.terms(z, ratio, spike, forms, bundle.members, values):
                    totals[i] += acb(term).real
        return totals

    return evaluate


def _check_off_spectrum(z: Any, ratio: Any) -> None:
    """A pole must lie off the spectrum, which is on the real line from zero on."""
    if z.imag.contains(0) and not z.real < 0:
        gap = (1 - ratio.sqrt()) ** 2
        if not (ratio < 1 and z.real > 0 and z.real < gap):
            raise Unproved("spectral mean: a root of a denominator may lie on the spectrum")


class _Pole:
    """The roots of one denominator and what is analytic there."""

    def __init__(self, bundle: Bundle, index: int, parameters: tuple[Any, ...], backend: Backend) -> None:
        s, base = bundle.variable, bundle.denominators[index]
        self.order = bundle.highest_power(index)
        self.powers = [body.powers[index] for body in bundle.bodies]
        self.coefficients = backend.function(parameters, sympy.Poly(sympy.expand(base), s).all_coeffs())
        self.derivatives = backend.function([s, *parameters], [base.diff(s, k) for k in range(1, self.order + 2)])
        self.regular = [
            backend.function([s, *parameters], [bundle.regular_part(b, index).diff(s, k) for k in range(power)])
            if power
            else None
            for b, power in enumerate(self.powers)
        ]

    def places(self, values: Sequence[Any]) -> list[Any]:
        """All roots."""
        return enclose_roots([ball(c) for c in self.coefficients(*values)])

    def terms(
        self, z: Any, ratio: Any, spike: Any, forms: Sequence[str], members: Sequence[tuple[int, str]],
        values: Sequence[Any],
    ) -> list[tuple[int, Any]]:  # fmt: skip
        """Contributions of one root to the members."""
        slopes = [acb(ball(d)) for d in self.derivatives(z, *values)]
        series = resolvents(z, acb(ratio), acb(spike), forms, self.order, _kit())
        parts = [None if f is None else [ball(v) for v in f(z, *values)] for f in self.regular]
        result = []
        for i, (body, form) in enumerate(members):
            here = parts[body]
            if here is None:
                continue
            weights = pole_weights(series[form], slopes, self.powers[body])
            result.append((i, sum((w * g for w, g in zip(weights, here, strict=True)), acb(0))))
        return result


def _kit() -> Kit:
    """Arithmetic of complex balls; which of two equal forms of a number is taken is no part of the proof."""
    return Kit(
        lambda x: acb(x).sqrt(), lambda condition, a, b: a if condition else b,
        acb.sin, acb.cosh, acb.sinh, acb.exp, acb.log, arb.pi(),
    )  # fmt: skip
