"""Double precision that carries a first-order bound of its own error.

Runs the same generated code as the float64 backend on numbers with an error attached, so the error of a prediction
follows the evaluation that was really made: rounding, cancellation, truncation of quadratures, residuals of solvers.
An estimate, not a proof; what is unknown is infinite.

An operator with a module here knows how its error comes about: a root from the noise of its function and the slope,
an integral from the noise of its integrand. The others are judged by their own report and by their sensitivity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theorem_engine.backends.rounded.backend import (
        BACKEND,
        INSIDE,
        Rounded,
        RoundedFloat64,
        is_numeric,
        judged,
        reported,
        solved_errors,
    )

__all__ = [
    "BACKEND", "INSIDE", "Rounded", "RoundedFloat64", "is_numeric", "judged", "reported", "solved_errors",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    # the backend needs SymPy; the numbers in this folder do not
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from theorem_engine.backends.rounded import backend

    return getattr(backend, name)
