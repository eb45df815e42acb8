"""Operators: what is not elementary, as unevaluated SymPy nodes."""

from theorem_engine.operators.base import Component, Operator, is_operator
from theorem_engine.operators.dynamics import Flow, Recurrence
from theorem_engine.operators.gaussian_mean import GaussianMean
from theorem_engine.operators.optimum import Minimum, Root

__all__ = ["Component", "Flow", "GaussianMean", "Minimum", "Operator", "Recurrence", "Root", "is_operator"]
