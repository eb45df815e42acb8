"""Requirements, cautions and domains as sentences, their relations as mathematics."""

from __future__ import annotations

import re
from typing import Any

import sympy

from theorem_engine.base.exact import to_text
from theorem_engine.language.operators.base import outermost_operators
from theorem_engine.showing.formula.lines import plain
from theorem_engine.showing.formula.writing import Pen

#: Signs that have no key.
_SIGNS = tuple(
    (re.compile(typed), written)
    for typed, written in ((r"(?<![\w.])-oo\b", "−∞"), (r"\boo\b", "∞"), (r"->", "→"), (r">=", "≥"), (r"<=", "≤"))
)


def readable(text: str) -> str:
    """Domains and regimes as people write them.

    >>> readable("(0, oo)"), readable("[-oo, 1]"), readable("integers >= 2"), readable("p/n -> c")
    ('(0, ∞)', '[−∞, 1]', 'integers ≥ 2', 'p/n → c')
    """
    for typed, written in _SIGNS:
        text = typed.sub(written, text)
    return text


#: Greek letters as they are typed.
_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eps": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "lam": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π",
    "rho": "ρ", "sigma": "σ", "tau": "τ", "upsilon": "υ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω",
    "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ",
    "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
#: A word that is one, with a number or a sign as its index; not a name that is typed with its value, nor code.
_LETTER = re.compile(rf"(?<![\w`'.])({'|'.join(_GREEK)})([0-9]?)(?![A-Za-z0-9=`']|_\w\w)")
_POWER = re.compile(r"\^(?:(-?[0-9]+)(?!\w|\.[0-9])|\((-[0-9]+)\))")
_DIFFERENTIAL = re.compile(rf"(?<=/)d({'|'.join(_GREEK)})(?!\w)")
_TRANSPOSED = re.compile(r"(?<=[\w)])\^T\b")
_ROOT = re.compile(r"\bsqrt\((\w+)\)|\bsqrt(?=\()")
_UP, _DOWN = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"), str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def prose(text: str) -> str:
    """Sentences of an entry with their mathematics as people write it; what stands in backticks is left alone.

    >>> prose("gamma -> oo: mu^T mu/sqrt(p) + b^2 eta0 at nu=inf, `gamma^2`")
    'γ → ∞: μᵀ μ/√p + b² η₀ at nu=inf, `gamma^2`'
    >>> prose("-gamma^2 dA/dgamma with A = vT M^(-1) v, like n^(-2/3)")
    '-γ² dA/dγ with A = vT M⁻¹ v, like n^(-2/3)'
    """
    parts = text.split("`")
    return "`".join(part if k % 2 else _written(part) for k, part in enumerate(parts))


def _written(text: str) -> str:
    text = _ROOT.sub(lambda m: "√" + (m[1] or ""), readable(text))
    text = _TRANSPOSED.sub("ᵀ", _POWER.sub(lambda m: (m[1] or m[2]).translate(_UP), text))
    text = _DIFFERENTIAL.sub(lambda m: "d" + _GREEK[m[1]], text)
    return _LETTER.sub(lambda m: _GREEK[m[1]] + m[2].translate(_DOWN), text)


def rule_text(rule: Any) -> str:
    """A requirement or caution as a sentence, its relation as mathematics."""
    relation = getattr(rule, "relation", None)
    said = getattr(rule, "meaning", None) or getattr(rule, "message", "")
    if not isinstance(relation, sympy.Basic) or not said:
        return prose(str(rule.text()))
    only = getattr(rule, "only", None)
    where = "" if not only else "; only with " + ", ".join(f"{a} = {to_text(b)}" for a, b in _pairs(only))
    shown = "" if outermost_operators(relation) else f" ({plain(Pen().write(relation))})"
    return f"{prose(said)}{shown}{where}"


def _pairs(only: Any) -> list[tuple[str, Any]]:
    """Options with their values: one pair, or several."""
    return [only] if isinstance(only[0], str) else list(only)
