"""Whether data determine letters: flat and singular directions of a least-squares problem, by name."""

from __future__ import annotations

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


def check_determined(owner: str, names: Sequence[str], jacobian: Any, widths: Mapping[str, float]) -> None:
    """Refuse letters that the data cannot determine, by name.

    ``jacobian`` has derivatives of the residuals in standard errors, a column for each letter; ``widths`` are the
    ranges that letters have at most, or typically where there is no end.
    """
    lengths = np.sqrt(np.sum(np.square(jacobian), axis=0))
    for name, length in zip(names, lengths, strict=True):
        if not length * widths[name] > 1:
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
    for name, sigma in zip(names, sigmas, strict=True):
        if sigma > widths[name]:
            raise Undetermined(
                f"{owner}: the data cannot determine {name} beside the other letters: its standard error {sigma:.2g} "
                f"is larger than the range {widths[name]:.2g} that it has; add points, or give it as a parameter"
            )
