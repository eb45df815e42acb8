"""Presentation MathML of expressions, our own letters, applications and operators included."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from html import escape
from typing import Any, ClassVar


def mathml(expression: Any) -> str:
    """Presentation MathML of an expression, our own letters, applications and operators included.

    >>> import sympy
    >>> mathml(sympy.Symbol("x") ** 2)
    '<msup><mi>x</mi><mn>2</mn></msup>'
    """
    # SymPy writes the sign of a strict inequality as it stands, which no reader of MathML accepts
    return str(_mathml_printer()()._print(expression).toxml()).replace("<mo><</mo>", "<mo>&lt;</mo>")


@cache
def _mathml_printer() -> Any:
    """SymPy's printer, extended; the class is made on first use, as few queries need SymPy's XML modules."""
    from sympy.printing.mathml import MathMLPresentationPrinter

    class Printer(MathMLPresentationPrinter):
        """Reads a node that knows its LaTeX form through that form; the rest is SymPy's."""

        def _print(self, expr: Any, **settings: Any) -> Any:
            if not type(expr).__module__.startswith("theorem_engine.") or not hasattr(expr, "_latex"):
                return super()._print(expr, **settings)
            slots = _Slots()
            form = expr._latex(slots)
            # SymPy's documents write text nodes unescaped, so finished MathML passes through as one
            return self.dom.createTextNode(_Reader(form, [self._print(part).toxml() for part in slots.parts]).row())

    return Printer


class _Slots:
    """Stands where a node expects SymPy's LaTeX printer, and keeps the parts it is asked to print."""

    def __init__(self) -> None:
        self.parts: list[Any] = []

    def _print(self, part: Any) -> str:
        self.parts.append(part)
        return rf"\slot{{{len(self.parts) - 1}}}"


class _Reader:
    """The little LaTeX that letters and operators are written in, turned into MathML."""

    fonts: ClassVar = {"mathrm": "", "operatorname": "", "text": "", "mathcal": "SCRIPT", "mathbb": "DOUBLE-STRUCK"}
    accents: ClassVar = {"hat": "^", "bar": "\u00af", "tilde": "~", "dot": "\u02d9"}
    signs: ClassVar = {
        "leftarrow": "\u2190", "to": "\u2192", "circ": "\u2218", "partial": "\u2202", "infty": "\u221e",
        "int": "\u222b", "sum": "\u2211", "prod": "\u220f", "top": "\u22a4", "star": "\u22c6", "cdot": "\u22c5",
        "le": "\u2264", "ge": "\u2265", "in": "\u2208", "mid": "|", "langle": "\u27e8", "rangle": "\u27e9",
        "sim": "\u223c", "neq": "\u2260", "ne": "\u2260", "approx": "\u2248", "pm": "\u00b1", "times": "\u00d7",
        "ldots": "\u2026", "dots": "\u2026", "cdots": "\u22ef", "nabla": "\u2207", "ell": "\u2113", "odot": "\u2299",
        "otimes": "\u2297", "ll": "\u226a", "gg": "\u226b", "dagger": "\u2020", "quad": "\u2003",
        "min": "min", "max": "max", "exp": "exp", "log": "log", "erf": "erf", "tanh": "tanh",
    }  # fmt: skip

    def __init__(self, text: str, slots: list[str]) -> None:
        self.tokens = re.findall(r"\\[A-Za-z]+|\\.|[0-9]+|\S", text)[::-1]
        self.slots = slots

    def row(self, end: str = "") -> str:
        """Everything up to a closing token."""
        parts = []
        while self.tokens and self.tokens[-1] != end:
            parts.append(self.scripted())
        if end:
            self.tokens.pop()
        return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"

    def scripted(self) -> str:
        """An atom with what stands below and above it."""
        base, scripts = self.atom(), dict[str, str]()
        while self.tokens and self.tokens[-1] in ("_", "^"):
            place = self.tokens.pop()
            scripts[place] = self.atom()
        tag = {"_": "msub", "^": "msup", "_^": "msubsup"}.get("".join(sorted(scripts, reverse=True)), "")
        return f"<{tag}>{base}{''.join(scripts[k] for k in sorted(scripts, reverse=True))}</{tag}>" if tag else base

    def atom(self) -> str:
        """One letter, number, sign, group or command."""
        token = self.tokens.pop()
        name = token[1:] if token[0] == "\\" else ""
        if token == "{":
            return self.row("}")
        if name == "slot":
            return self.slots[int(self.word())]
        if name == "frac":
            return f"<mfrac>{self.atom()}{self.atom()}</mfrac>"
        if name == "sqrt":
            return f"<msqrt>{self.atom()}</msqrt>"
        if name in self.fonts:
            return f"<mi>{''.join(_styled(letter, self.fonts[name]) for letter in self.word())}</mi>"
        if name in self.accents:
            return f"<mover>{self.atom()}<mo>{self.accents[name]}</mo></mover>"
        if name in ("left", "right"):
            return f"<mo>{escape(self.tokens.pop()[-1])}</mo>"
        if len(name) > 1:
            return f"<mo>{self.signs[name]}</mo>" if name in self.signs else f"<mi>{_greek(name)}</mi>"
        if name:
            return "<mspace width='0.3em'/>" if name in ",;! " else f"<mo>{escape(name)}</mo>"
        tag = "mi" if token.isalpha() else "mn" if token.isdigit() else "mo"
        return f"<{tag}>{escape(token)}</{tag}>"

    def word(self) -> str:
        """The plain text of a group, or of the one letter that stands for it."""
        letters = []
        if (first := self.tokens.pop()) != "{":
            return first
        while (token := self.tokens.pop()) != "}":
            letters.append(token[-1] if token[0] == "\\" else token)
        return "".join(letters)


def _styled(letter: str, style: str) -> str:
    """A capital in another alphabet; Unicode names some of them without the word MATHEMATICAL."""
    if not style or not letter.isupper():
        return escape(letter)
    name = f"{style} CAPITAL {letter}"
    try:
        return unicodedata.lookup(name)
    except KeyError:
        return unicodedata.lookup(f"MATHEMATICAL {name}")


def _greek(name: str) -> str:
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    return unicodedata.lookup(f"GREEK {size} LETTER {name.removeprefix('var').upper().replace('LAMBDA', 'LAMDA')}")
