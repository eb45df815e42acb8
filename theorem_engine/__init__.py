"""Theorem Engine: a symbolic-numeric engine with an equation registry.

>>> import theorem_engine as te
>>> round(float(te.predict("marion2025.linear-risk", gamma="sqrt(1/2)", L=10)), 6)
0.473684
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from theorem_engine.base.version import __version__

_ROOT = Path(__file__).resolve().parent.parent


class _Checkout:
    """Finds ``registry/`` and ``validators/`` beside the package, in a source checkout only."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Answer for the two folders and for nothing else."""
        if name in ("theorem_engine.registry", "theorem_engine.validators"):
            return PathFinder.find_spec(name, [str(_ROOT)])
        return None


if (_ROOT / "pyproject.toml").is_file() and not any(getattr(f, "__name__", "") == "_Checkout" for f in sys.meta_path):
    sys.meta_path.append(_Checkout)

#: Public names and where they live; a module is imported when one of its names is first used.
_PUBLIC = {
    "theorem_engine.base.errors": (
        "BadNumber",
        "BadRequest",
        "BrokenPack",
        "DeclarationError",
        "FileError",
        "Infeasible",
        "JournalError",
        "MissingParameter",
        "NoDerivative",
        "NotAvailable",
        "NotConverged",
        "OutOfDomain",
        "PackWarning",
        "TheoremEngineError",
        "UnknownEntry",
        "UnknownFigure",
        "UnknownOutput",
        "UnknownParameter",
        "ValidityWarning",
    ),
    "theorem_engine.checking.verdict": ("Verdict", "check"),
    "theorem_engine.checking.simulated": ("Simulation", "simulate"),
    "theorem_engine.asking.citation": ("cite",),
    "theorem_engine.showing.find": ("entries", "entry", "find"),
    "theorem_engine.asking.explanation": ("explain",),
    "theorem_engine.showing.plot": ("figure",),
    "theorem_engine.language.figure": ("figures",),
    "theorem_engine.showing.overlay": ("plot",),
    "theorem_engine.showing.export.export": ("export",),
    "theorem_engine.sweeping.comparison": ("Comparison", "compare"),
    "theorem_engine.sweeping.fit": ("Fit", "fit"),
    "theorem_engine.sweeping.grids": ("batch", "grid"),
    "theorem_engine.sweeping.sweep": ("sweep",),
    "theorem_engine.asking.methods": ("Methods", "compare_methods"),
    "theorem_engine.asking.prediction": ("Prediction", "predict"),
    "theorem_engine.asking.outcome": ("Proof",),
    "theorem_engine.asking.proof": ("prove",),
    "theorem_engine.language.catalogue": ("register",),
}
#: Words for authors of entries.
_AUTHOR = {
    "theorem_engine.language.letters": ("ABSENT", "notation"),
    "theorem_engine.language.domains": (
        "NONNEGATIVE", "POSITIVE", "REAL", "Choice", "ComplexPlane", "Expression", "Integers", "Interval", "OrWord",
    ),
    "theorem_engine.language.lengths": ("Lengths",),
    "theorem_engine.language.numbers": ("Numbers", "numbers_of"),
    "theorem_engine.language.vectors": ("Fixed", "Vectors", "rows_of"),
    "theorem_engine.language.source": ("Output", "Source"),
    "theorem_engine.language.declaration": (
        "corollary", "definition", "lemma", "proposition", "remark", "result", "theorem",
    ),
    "theorem_engine.language.regime": ("EXACT", "Limit"),
    "theorem_engine.language.rules": (
        "Doubt", "Exceeds", "Holds", "OneOf", "OnlyWith", "PositiveSemidefinite", "Warn",
    ),
    "theorem_engine.language.model": ("Alternatives", "Model", "given", "shorthand"),
    "theorem_engine.language.recipe": ("Descent", "Search", "Start"),
    "theorem_engine.language.activation": ("Activation", "ElementWise", "Normalised"),
    "theorem_engine.language.statement": ("Label", "Partial", "Total", "Unknown"),
    "theorem_engine.language.operators": (
        "BatchSum", "Blurred", "Branches", "ClassResolvent", "Coin", "Eigenvalues", "Flow", "GaussianMean", "Hardmax",
        "LengthMean", "LocalMinimum", "MarchenkoPastur", "Minimum", "Normal", "Proximal", "RandomRecurrence",
        "Recurrence", "Root", "SpectralMean", "SpectrumSum", "Spinodal", "TokenMean", "TokenSum", "Tokens",
        "Trajectory", "Variance",
    ),
    "theorem_engine.language.operators.homotopy": ("homotopy",),
    "theorem_engine.language.operators.channel": (
        "ChannelMean", "TokenLogSum", "TokenMax", "TokenSort",
    ),
    "theorem_engine.language.functions": (
        "OpenFunction", "OwenT", "UpTo", "erfcx", "expm1", "log1p", "log_softplus", "mills", "normal_cdf", "normal_pdf",
        "positive_part", "softplus",
    ),
    "theorem_engine.language.figure": ("Figure", "declare_figure"),
    "theorem_engine.language.unchecked": ("Unchecked",),
    "theorem_engine.validators.simulator": ("simulator",),
    "theorem_engine.language.panel": (
        "BLACK", "Arrows", "Axis", "Band", "Contours", "Curve", "Dots", "Level", "Panel", "Surface", "Words",
    ),
    "theorem_engine.sweeping.curves": ("curves", "side_by_side"),
}  # fmt: skip
_HOME = {name: module for table in (_PUBLIC, _AUTHOR) for module, names in table.items() for name in names}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'theorem_engine' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    # what this module imports for itself is nobody's business
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
