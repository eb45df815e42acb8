"""Bundles of means and integrals taken apart: what their lowerings share, whatever numbers they are run on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sympy

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.lengths import Distribution
from theorem_engine.language.operators.gaussian_mean import bandwidth


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
