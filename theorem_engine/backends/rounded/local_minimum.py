"""The error of a local minimum: as of any other."""

from theorem_engine.backends.rounded.minimum import lower

__all__ = ["lower"]
