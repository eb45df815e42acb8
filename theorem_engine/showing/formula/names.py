"""Names of letters: the little LaTeX that authors write them in, read into trees."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from theorem_engine.showing.formula.tree import (
    ATOM,
    BINARY,
    EMPTY,
    JOINT,
    MINUS,
    NAME,
    NUMBER,
    PLUS,
    POWER,
    PREFIX,
    PRODUCT,
    RELATION,
    SUM,
    Tree,
    accent,
    fence,
    over,
    root,
    script,
    sign,
)

_ACCENTS = ("hat", "bar", "tilde", "dot", "underline", "overline")
_UPRIGHT = ("mathrm", "operatorname", "text", "mathbf")
_SIGNS = {
    "partial": ("∂", NAME), "infty": ("∞", NUMBER), "top": ("⊤", NAME), "star": ("⋆", NAME), "cdot": ("·", BINARY),
    "le": (" ≤ ", RELATION), "ge": (" ≥ ", RELATION), "neq": (" ≠ ", RELATION), "to": (" → ", RELATION),
    "sim": (" ~ ", RELATION), "ell": ("ℓ", NAME), "dagger": ("†", NAME), "times": ("×", NAME), "nabla": ("∇", NAME),
    "log": ("log ", PREFIX), "min": ("min", PREFIX), "max": ("max", PREFIX), "exp": ("exp", PREFIX), "mid": ("|", NAME),
    "emptyset": ("∅", NAME), "circ": ("∘", BINARY), "sum": ("Σ", PREFIX), "int": ("∫", PREFIX), "prime": ("′", NAME),
}  # fmt: skip
_TOKENS = re.compile(r"\\[A-Za-z]+|\\.|[0-9]+|\S")


@cache
def read_name(latex: str) -> Tree:
    r"""The tree of a name.

    >>> from theorem_engine.showing.formula.lines import plain
    >>> plain(read_name(r"\hat m_{kk}")), plain(read_name(r"\mathcal{E}_{\mathrm{Bayes}}"))
    ('m̂_kk', 'ℰ_Bayes')
    """
    return _Reader(latex, {}).row()


def read_form(latex: str, slots: dict[int, Tree]) -> Tree:
    """The tree of a node's own LaTeX, in which parts stand as ``\\slot{number}``."""
    return _Reader(latex, slots).row()


class _Reader:
    """Reads groups, scripts, fractions, accents, fonts and signs."""

    def __init__(self, text: str, slots: dict[int, Tree]) -> None:
        self.tokens = _TOKENS.findall(text)[::-1]
        self.slots = slots

    def row(self, end: str = "") -> Tree:
        """Everything up to a closing token."""
        parts: list[Tree] = []
        while self.tokens and self.tokens[-1] != end:
            part = self.scripted()
            if part != EMPTY:
                parts.append(part)
        if end and self.tokens:
            self.tokens.pop()
        if len(parts) == 1:
            return parts[0]
        signs = [p.data[2] for p in parts if p.kind == "sign"]
        level = SUM if BINARY in signs or RELATION in signs else PRODUCT if len(parts) > 1 else ATOM
        if parts and parts[0].kind == "sign" and parts[0].data[1] == "|" and parts[-1].kind in ("sign", "script"):
            level = POWER if parts[-1].kind == "script" else ATOM
        if level == PRODUCT and _is_prefix(parts[0]) and parts[0].data[1] == "d":
            level = ATOM
        if level < POWER:
            parts = _spaced(parts)
        return Tree("row", tuple(parts), level=level)

    def scripted(self) -> Tree:
        """An atom with what stands below and above it."""
        base, below, above = self.atom(), EMPTY, EMPTY
        while self.tokens and self.tokens[-1] in ("_", "^", "'"):
            place = self.tokens.pop()
            if place == "'":
                above = sign(r"\prime", "′")
            elif place == "_":
                below = _tight(self.atom())
            else:
                above = _tight(self.atom())
        if below == EMPTY and above == EMPTY:
            return base
        found = script(base, below, above)
        # a mark above a letter is part of its name
        is_mark = above.kind == "sign" and above.data[2] != NUMBER
        return Tree("script", found.parts, level=ATOM) if is_mark else found

    def atom(self) -> Tree:
        """One letter, number, sign, group or command; nothing where the text ends too early."""
        if not self.tokens:
            return EMPTY
        token = self.tokens.pop()
        name = token[1:] if token[0] == "\\" else ""
        if token == "{":
            return self.row("}")
        if name == "slot":
            number = self.word()
            return self.slots.get(int(number), EMPTY) if number.isdecimal() else EMPTY
        if name in ("frac", "tfrac", "dfrac"):
            return over(self.atom(), self.atom())
        if name == "sqrt":
            return root(self.atom())
        if name in _UPRIGHT:
            text = self.word()
            return sign(rf"\mathrm{{{text.replace('_', chr(92) + '_')}}}", text, "word")
        if name in ("mathcal", "mathbb"):
            letter = self.word()
            style = "SCRIPT" if name == "mathcal" else "DOUBLE-STRUCK"
            font = "mathcal" if name == "mathcal" else "mathbf"
            return sign(rf"\{font}{{{letter}}}", "".join(_styled(x, style) for x in letter))
        if name in _ACCENTS:
            return accent(self.atom(), "bar" if name == "overline" else name)
        if name in ("left", "bigl", "Bigl"):
            return self.fenced()
        if name in _SIGNS:
            text, kind = _SIGNS[name]
            return sign(f"\\{name}" + (" " if kind == PREFIX else ""), text, kind)
        if len(name) > 1:
            return sign(f"\\{name}", greek(name))
        if name:
            return sign(token, name if name not in ",;! " else "") if name in "{}|_%" else EMPTY
        if token in "+-":
            return PLUS if token == "+" else MINUS
        if token in "=<>":
            return sign(token, f" {token} ", RELATION)
        return sign(token, kind=NUMBER if token.isdigit() else NAME)

    def fenced(self) -> Tree:
        r"""What stands between \left and \right."""
        left = self.tokens.pop()[-1] if self.tokens else "("
        parts = []
        while self.tokens and self.tokens[-1] not in (r"\right", r"\bigr", r"\Bigr"):
            parts.append(self.scripted())
        if self.tokens:
            self.tokens.pop()
        right = self.tokens.pop()[-1] if self.tokens else ")"
        return fence(parts[0] if len(parts) == 1 else Tree("row", tuple(parts), level=SUM), left, right)

    def word(self) -> str:
        """The plain text of a group, or of the one letter that stands for it."""
        if not self.tokens:
            return ""
        if (first := self.tokens.pop()) != "{":
            return first
        letters = []
        while self.tokens and (token := self.tokens.pop()) != "}":
            letters.append(token[-1] if token[0] == "\\" and len(token) == 2 else token)
        return "".join(letters)


def _tight(tree: Tree) -> Tree:
    """An index of several letters is no product."""
    if tree.kind != "row" or JOINT not in tree.parts:
        return tree
    return Tree("row", tuple(part for part in tree.parts if part != JOINT), level=tree.level)


def _spaced(parts: list[Tree]) -> list[Tree]:
    """Letters beside each other with a joint between them, as in a product; a single name in roman stays whole."""
    found: list[Tree] = []
    for part in parts:
        is_loose = found and not _is_bracket(part) and not _is_bracket(found[-1]) and not _is_prefix(found[-1])
        found += [JOINT, part] if is_loose else [part]
    return found


def _is_bracket(part: Tree) -> bool:
    if part.kind != "sign":
        return part.kind == "fence"
    return part.data[1] in "()[]|/," or part.data[2] in (BINARY, RELATION)


def _is_prefix(part: Tree) -> bool:
    return part.kind == "sign" and (part.data[2] == PREFIX or part.data[1] == "d")


def _styled(letter: str, style: str) -> str:
    """A capital in another alphabet; Unicode names some of them without the word MATHEMATICAL."""
    if not letter.isupper():
        return letter
    name = f"{style} CAPITAL {letter}"
    try:
        return unicodedata.lookup(name)
    except KeyError:
        return unicodedata.lookup(f"MATHEMATICAL {name}")


def greek(name: str) -> str:
    """A Greek letter by its LaTeX name; the name itself where there is none."""
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    plain = name.removeprefix("var").upper().replace("LAMBDA", "LAMDA")
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {plain}")
    except KeyError:
        return name


def latex_of(character: str) -> str:
    """The LaTeX of a sign that stands in plain text."""
    name = unicodedata.name(character, "")
    if name.startswith("GREEK"):
        letter = name.rsplit(" ", 1)[-1].lower().replace("lamda", "lambda")
        return f"\\{letter.capitalize() if 'CAPITAL' in name else letter}"
    if "SUBSCRIPT" in name or "SUPERSCRIPT" in name:
        place = "_" if "SUBSCRIPT" in name else "^"
        return f"{place}{{{unicodedata.normalize('NFKC', character)}}}"
    if unicodedata.combining(character):
        return r"\hat{\ }"
    return rf"\mathrm{{{unicodedata.normalize('NFKD', character).encode('ascii', 'ignore').decode() or '?'}}}"
