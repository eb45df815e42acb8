"""Expressions whose conditions are decided where they are evaluated, in balls."""

from theorem_engine.backends.float64.at_evaluation import lower

__all__ = ["lower"]
