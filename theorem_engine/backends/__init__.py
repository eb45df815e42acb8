"""Backends: one folder each, all running the same plans."""

from theorem_engine.backends.base import Backend, get_backend

__all__ = ["Backend", "get_backend"]
