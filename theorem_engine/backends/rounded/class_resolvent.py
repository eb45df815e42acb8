"""Errors of quadratic forms of random matrices with classes: what a coarser rule for the classes shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.rounded.number import Rounded, each_place, value_of
from theorem_engine.base.reports import own_notes

#: Rounding of a solution of some hundred unknowns, relatively: far below what the nodes leave.
ROUNDING = 1e-11


def lower(forms: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend, plain: Numeric) -> Numeric:
    """The float64 forms, with what their own report says; errors of the parameters are far below that."""

    def evaluate(*values: Any) -> list[Any]:
        with own_notes() as notes:
            found = [float(v) for v in plain(*[value_of(v) for v in values])]
        noted = [np.broadcast_to(note.error, len(found)) for note in notes if note.error is not None]
        left = np.sum(noted, axis=0) if noted else np.full(len(found), np.inf)
        return [Rounded(v, float(e) + ROUNDING * abs(v)) for v, e in zip(found, left, strict=True)]

    return lambda *values: each_place(evaluate, values)
