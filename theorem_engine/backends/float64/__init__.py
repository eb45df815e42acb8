"""Vectorised NumPy in double precision: the default.

The backend itself needs SymPy and is imported when it is asked for; the meanings of functions do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theorem_engine.backends.float64.backend import BACKEND, Float64

__all__ = ["BACKEND", "Float64"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from theorem_engine.backends.float64 import backend

    return getattr(backend, name)
