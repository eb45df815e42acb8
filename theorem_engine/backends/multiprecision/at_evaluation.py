"""Expressions whose conditions are decided where they are evaluated, at mpmath's precision."""

from theorem_engine.backends.float64.at_evaluation import lower

__all__ = ["lower"]
