"""Local minima, enclosed as all minima are."""

from theorem_engine.backends.balls.minimum import lower

__all__ = ["lower"]
