"""Bundles of means and integrals taken apart: what their lowerings share, whatever numbers they are run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.lengths import Distribution
from theorem_engine.language.operators.gaussian_mean import bandwidth
from theorem_engine.language.operators.spectral_bundle import Bundle
from theorem_engine.numerics.spectral.laws import pole_weights


@dataclass(frozen=True)
class GaussianBundle:
    """Gaussian means over the same variables: all bodies, places of breaks, and a bound of the frequency in each."""

    body: Numeric
    marks: Numeric | None
    bands: list[Numeric | None]


def compile_gaussian(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> GaussianBundle:
    """Functions of the variables and the parameters; of the parameters alone for the breaks."""
    variables, breaks = means[0].variables, means[0].breaks
    inputs = [*variables, *parameters]
    waves = [sympy.Max(*(bandwidth(m.body, x) for m in means)) for x in variables]
    return GaussianBundle(
        backend.function(inputs, [m.body for m in means]),
        backend.function(parameters, list(breaks)) if breaks else None,
        [backend.function(inputs, [w]) if w != 0 else None for w in waves],
    )


def finite_interval(integral: Any) -> tuple[Any, Any, Any]:
    """The variable of an integral and its two ends; anything but one finite interval is refused."""
    limits = integral.limits
    if len(limits) != 1 or len(limits[0]) != 3 or any(end.is_infinite for end in limits[0][1:]):
        raise NotAvailable(f"{integral}: only integrals over one finite interval are lowered")
    variable, low, high = limits[0]
    return variable, low, high


def over_lengths(
    means: tuple[Any, ...],
    parameters: tuple[Any, ...],
    backend: Backend,
    average: Callable[[Numeric, Distribution, tuple[Any, ...]], list[Any]],
) -> Numeric:
    """A function of the parameters that averages the bodies over a distribution of lengths; one length is itself."""
    body = backend.function([means[0].letter, *parameters], [m.body for m in means])
    place = parameters.index(means[0].length)

    def evaluate(*values: Any) -> list[Any]:
        given = values[place]
        return average(body, given, values) if isinstance(given, Distribution) else list(body(given, *values))

    return evaluate


@dataclass(frozen=True)
class CompiledLaw:
    """A recurrence taken apart: its first state and number of steps, one step, and whether it is over."""

    first: Numeric
    step: Numeric
    stop: Numeric | None
    has_clock: bool


def compile_law(law: Any, parameters: tuple[Any, ...], backend: Backend) -> CompiledLaw:
    """Functions of the state, the clock where there is one, and the parameters."""
    inputs = [*law.state, *([law.clock] if law.clock is not None else []), *parameters]
    return CompiledLaw(
        backend.function(parameters, [*law.start, law.duration]),
        backend.function(inputs, list(law.bodies)),
        backend.function(inputs, [law.until]) if law.until is not None else None,
        law.clock is not None,
    )


class CompiledPole:
    """The roots of one denominator of a spectral bundle: what finds them, and what is analytic there."""

    def __init__(self, bundle: Bundle, index: int, parameters: tuple[Any, ...], backend: Backend) -> None:
        s, base = bundle.variable, bundle.denominators[index]
        self.order = bundle.highest_power(index)
        self._powers = [body.powers[index] for body in bundle.bodies]
        self._members = bundle.members
        self.coefficients = backend.function(parameters, sympy.Poly(sympy.expand(base), s).all_coeffs())
        #: The denominator and its derivatives.
        self.derivatives = backend.function([s, *parameters], [base.diff(s, k) for k in range(self.order + 2)])
        self._regular = [
            backend.function([s, *parameters], [bundle.regular_part(b, index).diff(s, k) for k in range(power)])
            if power
            else None
            for b, power in enumerate(self._powers)
        ]

    def contributions(
        self, z: Any, series: Mapping[str, Any], slopes: list[Any], values: Sequence[Any]
    ) -> Iterator[tuple[int, Any]]:
        """What one root adds to each member, from the expansions of the law's forms at it and the slopes there."""
        parts = [None if f is None else f(z, *values) for f in self._regular]
        for i, (body, form) in enumerate(self._members):
            here = parts[body]
            if here is not None:
                weights = pole_weights(series[form], slopes, self._powers[body])
                yield i, sum((w * g for w, g in zip(weights[1:], here[1:], strict=True)), weights[0] * here[0])
