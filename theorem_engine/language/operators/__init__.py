"""Operators: what is not elementary, as unevaluated SymPy nodes."""

from theorem_engine.language.operators.base import Component, Operator, is_operator
from theorem_engine.language.operators.branches import Branches, Spinodal
from theorem_engine.language.operators.dynamics import Flow, Recurrence, Trajectory
from theorem_engine.language.operators.dyson import ClassResolvent, Coin, Normal, Variance
from theorem_engine.language.operators.gaussian_mean import Blurred, GaussianMean
from theorem_engine.language.operators.homotopy import homotopy
from theorem_engine.language.operators.optimum import LocalMinimum, Minimum, Root
from theorem_engine.language.operators.proximal import Proximal
from theorem_engine.language.operators.spectral_law import MarchenkoPastur
from theorem_engine.language.operators.spectral_mean import SpectralMean
from theorem_engine.language.operators.spectrum import Eigenvalues
from theorem_engine.language.operators.spectrum_sum import SpectrumSum
from theorem_engine.language.operators.stochastic import BatchSum, RandomRecurrence, TokenSum
from theorem_engine.language.operators.token_mean import Hardmax, LengthMean, TokenMean, Tokens

__all__ = [
    "BatchSum",
    "Blurred",
    "Branches",
    "ClassResolvent",
    "Coin",
    "Component",
    "Eigenvalues",
    "Flow",
    "GaussianMean",
    "Hardmax",
    "LengthMean",
    "LocalMinimum",
    "MarchenkoPastur",
    "Minimum",
    "Normal",
    "Operator",
    "Proximal",
    "RandomRecurrence",
    "Recurrence",
    "Root",
    "SpectralMean",
    "SpectrumSum",
    "Spinodal",
    "TokenMean",
    "TokenSum",
    "Tokens",
    "Trajectory",
    "Variance",
    "homotopy",
    "is_operator",
]
