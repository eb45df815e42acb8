"""Expressions of one letter, read from text by a fixed grammar: ``x**3 - 3*x``, ``tanh(2*x)``, ``max(0, x)``.

    sum     = product (("+" | "-") product)*
    product = sign (("*" | "/") sign)*
    sign    = ("+" | "-") sign | power
    power   = atom (("**" | "^") sign)?
    atom    = number | letter | constant | function "(" sum ("," sum)* ")" | "(" sum ")"

Text is cut into words and built up node by node; nothing is evaluated, and whatever the grammar does not know is
refused. Length, depth and degree are bounded, so that no text makes the algebra behind it work for long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from theorem_engine.base.exact import MAX_EXPONENT, MAX_TEXT, NotANumber, read_number

MAX_WORDS = 160
MAX_DEPTH = 24
#: Highest power of the letter, and of a number; moments of a polynomial are exact numbers of twice its degree.
MAX_DEGREE = 40
_WORD = re.compile(r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?)|(?P<name>[^\W\d]\w*)|"
                   r"(?P<sign>\*\*|[-+*/^(),]))")  # fmt: skip


@dataclass(frozen=True)
class Function:
    """What a name stands for: how many arguments it takes and how the node is made."""

    make: Callable[..., Any]
    least: int = 1
    most: int = 1


@dataclass(frozen=True)
class _Node:
    """An expression on its way: the node, and the degree it has as a polynomial."""

    made: Any
    degree: int

    @property
    def is_number(self) -> bool:
        return not self.made.free_symbols


def read_expression(text: str, functions: Mapping[str, Function]) -> Any:
    """A SymPy expression of one letter, exact; ``functions`` are the names that may be called, in lower case.

    >>> read_expression("x**3 - 3*x/2", {})
    x**3 - 3*x/2
    """
    made = _Reader(text, functions).whole()
    if not made.free_symbols:
        raise NotANumber("has no letter; a function is an expression of one, such as x**3 - 3*x")
    return made


class _Reader:
    """A descent through the grammar, one method for each line of it."""

    def __init__(self, text: str, functions: Mapping[str, Function]) -> None:
        self.functions = functions
        self.words = list(_words(text))
        self.place = 0
        self.depth = 0
        self.letter = ""

    def whole(self) -> Any:
        import sympy

        found = self._sum()
        if self.place < len(self.words):
            raise NotANumber(f"cannot be read from {self._next()[1]!r} on; a product is written 2*x")
        if found.made.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
            raise NotANumber("is infinite, or has no value, everywhere")
        return found.made

    def _next(self) -> tuple[str, str]:
        return self.words[self.place] if self.place < len(self.words) else ("end", "its end")

    def _take(self, *signs: str) -> str:
        """The next word if it is one of these signs; it is then read."""
        kind, word = self._next()
        if kind == "sign" and word in signs:
            self.place += 1
            return word
        return ""

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise NotANumber(f"has {self._next()[1]!r} where {sign!r} is expected")

    def _sum(self) -> _Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise NotANumber(f"has more than {MAX_DEPTH} brackets inside each other")
        total = self._product()
        while sign := self._take("+", "-"):
            term = self._product()
            made = total.made + term.made if sign == "+" else total.made - term.made
            total = _Node(made, max(total.degree, term.degree))
        self.depth -= 1
        return total

    def _product(self) -> _Node:
        total = self._signed()
        while sign := self._take("*", "/"):
            factor = self._signed()
            if sign == "/" and factor.made == 0:
                raise NotANumber("divides by zero")
            made = total.made * factor.made if sign == "*" else total.made / factor.made
            total = _bounded(made, total.degree + factor.degree)
        return total

    def _signed(self) -> _Node:
        minus = False
        while sign := self._take("+", "-"):
            minus ^= sign == "-"
        found = self._power()
        return _Node(-found.made, found.degree) if minus else found

    def _power(self) -> _Node:
        base = self._atom()
        if not self._take("**", "^"):
            return base
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise NotANumber(f"has more than {MAX_DEPTH} powers inside each other")
        exponent = self._signed()
        self.depth -= 1
        return _raised(base, exponent)

    def _atom(self) -> _Node:
        import sympy

        kind, word = self._next()
        if kind == "number":
            self.place += 1
            number: Any = read_number(word)
            return _Node(sympy.Rational(*Fraction(number).as_integer_ratio()), 0)
        if kind == "name":
            self.place += 1
            return self._named(word)
        if self._take("("):
            inside = self._sum()
            self._expect(")")
            return inside
        raise NotANumber(f"has {word!r} where a number, a letter or a function is expected")

    def _named(self, name: str) -> _Node:
        import sympy

        if self._take("("):
            function = self.functions.get(name.lower())
            if function is None:
                raise NotANumber(f"calls {name[:40]!r}; the functions are {', '.join(sorted(self.functions))}")
            arguments = [self._sum()]
            while self._take(","):
                arguments.append(self._sum())
            self._expect(")")
            if not function.least <= len(arguments) <= function.most:
                raise NotANumber(f"gives {name} {len(arguments)} arguments; it takes {_count(function)}")
            # to algebra a function is one more letter
            return _Node(function.make(*(a.made for a in arguments)), min(1, max(a.degree for a in arguments)))
        if name == "pi":
            return _Node(sympy.pi, 0)
        if name.lower() in self.functions:
            raise NotANumber(f"names the function {name} without an argument; write {name}(x)")
        if self.letter not in ("", name):
            raise NotANumber(f"has two letters, {self.letter[:20]} and {name[:20]}; a function has one")
        if not name.isidentifier() or name.startswith("_"):
            # a raised or lowered digit counts as part of a word, and what it means would be lost
            raise NotANumber(f"has {name[:20]!r}, which is no letter; a power is written x^2")
        if len(name) > 20:
            raise NotANumber(f"has a letter of {len(name)} characters")
        self.letter = name
        return _Node(sympy.Symbol(name, real=True), 1)


def _words(text: str) -> Any:
    if len(text) > MAX_TEXT:
        raise NotANumber(f"is longer than {MAX_TEXT} characters")
    place, count = 0, 0
    body = text.strip()
    while place < len(body):
        match = _WORD.match(body, place)
        if match is None:
            raise NotANumber(f"has {body[place:].strip()[:10]!r}, which no expression is made of")
        place, count = match.end(), count + 1
        if count > MAX_WORDS:
            raise NotANumber(f"has more than {MAX_WORDS} numbers, names and signs")
        yield match.lastgroup, match[match.lastgroup or 0]


def _count(function: Function) -> str:
    return str(function.most) if function.least == function.most else f"{function.least} to {function.most}"


def _bounded(made: Any, degree: int) -> _Node:
    if degree > MAX_DEGREE:
        raise NotANumber(f"has a degree above {MAX_DEGREE}")
    return _Node(made, degree)


def _raised(base: _Node, exponent: _Node) -> _Node:
    """A power; exponents that are numbers are bounded before the power is made."""
    if not exponent.is_number:
        if base.made == 0:
            raise NotANumber("raises zero to a power that varies")
        return _bounded(base.made**exponent.made, 1)
    size = abs(exponent.made)
    if not bool(size <= (MAX_EXPONENT if base.is_number else MAX_DEGREE)):
        raise NotANumber(f"has the power {str(exponent.made)[:20]}, which is beyond {MAX_DEGREE}")
    if base.made == 0 and not bool(exponent.made > 0):
        raise NotANumber("divides by zero")
    if base.is_number and base.made != 0:
        from math import log10

        if abs(float(size) * log10(abs(float(base.made)) or 1.0)) > MAX_EXPONENT:
            raise NotANumber(f"has a number beyond 1e{MAX_EXPONENT}")
    steps = -(-int(size.p) // int(size.q)) if size.is_Rational else int(size) + 1
    return _bounded(base.made**exponent.made, base.degree * max(1, steps))
