"""A local minimum at mpmath's precision: the float64 one, polished on the gradient like any other."""

from theorem_engine.backends.multiprecision.minimum import lower

__all__ = ["lower"]
