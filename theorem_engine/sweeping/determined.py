"""Whether data determine letters: flat and singular directions of a least-squares problem, by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theorem_engine.base.errors import Infeasible

#: Columns of unit length whose smallest singular value is below this are taken for dependent: the gradient is known to
#: about as many digits where it is a difference.
DEPENDENT = 1e-6
#: A letter whose part in the worst direction is below this has nothing to do with it.
PART = 0.1


class Undetermined(Infeasible):
    """A free letter that the data say nothing about."""


def check_determined(
    owner: str, names: Sequence[str], jacobian: Any, ranges: Mapping[str, tuple[float, float]]
) -> None:
    """Refuse letters that the data cannot determine, by name.

    ``jacobian`` has derivatives of the residuals in standard errors, a column for each letter.
    """
    lengths = np.sqrt(np.sum(np.square(jacobian), axis=0))
    widths = [min(high - low, 1e300) for low, high in (ranges[name] for name in names)]
    for name, length, width in zip(names, lengths, widths, strict=True):
        # over the whole range the theorem would not move by a thousandth of an error
        flat = not length * min(width, 1.0) > 1e-3 if math.isfinite(width) else not length > 1e-12
        if flat:
            raise Undetermined(
                f"{owner}: the data cannot determine {name}: at these points, near the best fit, the theorem does not "
                "depend on it beyond their errors; give it as a parameter, or add points where it matters"
            )
    _, sizes, directions = np.linalg.svd(jacobian / lengths, full_matrices=False)
    if sizes[-1] < DEPENDENT * sizes[0]:
        joined = [name for name, part in zip(names, directions[-1], strict=True) if abs(part) > PART]
        raise Undetermined(
            f"{owner}: the data cannot determine {' and '.join(joined)} together: only a combination of them changes "
            "the theorem at these points; give one of them as a parameter"
        )
    sigmas = np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    for name, sigma, width in zip(names, sigmas, widths, strict=True):
        if sigma > width:
            raise Undetermined(
                f"{owner}: the data cannot determine {name}: its standard error {sigma:.2g} is larger than its whole "
                f"range, {ranges[name][0]:g} to {ranges[name][1]:g}; add points, or give it as a parameter"
            )
