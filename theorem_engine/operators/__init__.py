"""Operators: what is not elementary, as unevaluated SymPy nodes."""

from theorem_engine.operators.base import Component, Operator, is_operator
from theorem_engine.operators.dynamics import Flow, Recurrence, Trajectory
from theorem_engine.operators.gaussian_mean import Blurred, GaussianMean
from theorem_engine.operators.optimum import LocalMinimum, Minimum, Root
from theorem_engine.operators.spectral_law import MarchenkoPastur
from theorem_engine.operators.spectral_mean import SpectralMean
from theorem_engine.operators.spectrum import Eigenvalues
from theorem_engine.operators.stochastic import BatchSum, RandomRecurrence, TokenSum
from theorem_engine.operators.token_mean import Hardmax, LengthMean, TokenMean, Tokens

__all__ = [
    "BatchSum",
    "Blurred",
    "Component",
    "Eigenvalues",
    "Flow",
    "GaussianMean",
    "Hardmax",
    "LengthMean",
    "LocalMinimum",
    "MarchenkoPastur",
    "Minimum",
    "Operator",
    "RandomRecurrence",
    "Recurrence",
    "Root",
    "SpectralMean",
    "TokenMean",
    "TokenSum",
    "Tokens",
    "Trajectory",
    "is_operator",
]
