"""Backends: one folder each, all running the same plans; SymPy is imported when one of them is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theorem_engine.backends.base import Backend, get_backend

__all__ = ["Backend", "get_backend"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from theorem_engine.backends import base

    globals()[name] = found = getattr(base, name)
    return found
