"""The error of an expression whose conditions are decided where it is evaluated: as of any other."""

from __future__ import annotations

from typing import Any

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64 import at_evaluation


def lower(nodes: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend, plain: Numeric) -> Numeric:
    """The same plans on numbers with errors."""
    return at_evaluation.lower(nodes, parameters, backend)
