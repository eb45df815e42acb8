"""Operators: what is not elementary, as unevaluated SymPy nodes.

A module is imported when one of its operators is first used: most papers need two or three of them.
"""

from __future__ import annotations

import importlib
from typing import Any

#: Modules and the operators in them (a function that is named like its module is imported from there).
_HOLDS = {
    "base": ("Component", "Operator", "is_operator"),
    "branches": ("Branches", "Spinodal"),
    "dynamics": ("Flow", "Recurrence", "Trajectory"),
    "dyson": ("ClassResolvent", "Coin", "Normal", "Variance"),
    "gaussian_mean": ("Blurred", "GaussianMean"),
    "optimum": ("LocalMinimum", "Minimum", "Root"),
    "proximal": ("Proximal",),
    "spectral_law": ("MarchenkoPastur",),
    "spectral_mean": ("SpectralMean",),
    "spectrum": ("Eigenvalues",),
    "spectrum_sum": ("SpectrumSum",),
    "stochastic": ("BatchSum", "RandomRecurrence", "TokenSum"),
    "token_mean": ("Hardmax", "LengthMean", "TokenMean", "Tokens"),
}
_HOME = {name: module for module, names in _HOLDS.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
