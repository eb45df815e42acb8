"""The error of a Gaussian mean: truncation of the rule, and the mean of the body's noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.rounded import reported
from theorem_engine.backends.rounded.number import UNIT, Rounded, error_of, spread, underflow, value_of
from theorem_engine.base.reports import own_notes
from theorem_engine.language.operators.base import Operator

#: Where the noise is looked at: so far, and so densely, of one variable and of two; a body that holds means itself is
#: as smooth as they are, and takes long.
REACH, STEPS, SMOOTH = 38.0, {1: 1 / 32, 2: 1 / 4}, 1 / 4
NEAR = 9.5


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend, plain: Numeric) -> Numeric:
    """The float64 means; errors of parameters enter through the body."""
    variables = means[0].variables
    body = backend.function([*variables, *parameters], [m.body for m in means])
    count = len(variables)
    step = SMOOTH if any(m.body.atoms(Operator) for m in means) else STEPS[count]
    reach = REACH if count == 1 else NEAR
    line = np.arange(-round(reach / step), round(reach / step) + 1) * step
    axes = [axis.ravel() for axis in np.meshgrid(*[line] * count, indexing="ij")]
    places = [Rounded(axis, UNIT * np.abs(axis)) for axis in axes]
    square = sum(axis * axis for axis in axes)
    density = (step / np.sqrt(2 * np.pi)) ** count * np.exp(-0.5 * square)

    def evaluate(*values: Any) -> list[Any]:
        with own_notes() as notes:
            found = plain(*[value_of(v) for v in values])
        parts = body(*places, *(spread(v) for v in values))
        results = []
        for value, part, own in zip(found, parts, reported(notes, len(found)), strict=True):
            # the density is rounded too, as an exponential of half a square
            noise = error_of(part) + (4 + square) * UNIT * np.abs(value_of(part))
            with np.errstate(all="ignore"):
                error = np.sum(np.where(density > 0, noise * density, 0.0), axis=-1)
            results.append(Rounded(value, np.where(np.isnan(error), np.inf, error + own + underflow(value))[()]))
        return results

    return evaluate
