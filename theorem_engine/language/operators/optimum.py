"""Minimum over letters, and the root of one equation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy

from theorem_engine.language.operators.base import Component, Part, Searched, hygienic, only


class Minimum(Searched):
    """Smallest value of an expression over one or more letters, each in a given range.

    ``over`` maps each letter to its range (low, high); a range inside the positive numbers is
    searched on a logarithmic scale. ``at(letter)`` is the minimiser. ``scan`` is the number of points
    looked at along each letter before the search narrows (a default if 0); a body of one letter with a
    ``single_valley`` is not scanned at all, the sign of its slope leads the way. With ``slopes=False`` the body is
    never differentiated: of one letter it is scanned and narrowed, of several it is followed down from the middle of
    the ranges; the minimiser is then known as well as values alone can tell.

    A range that ends at zero or at infinity needs the ``unit`` of its one letter: every scale around it is looked at,
    ``scan`` points to the decade. The infimum may then be a limit that no value of the letter reaches:
    ``is_attained`` is zero there, and the minimiser is the last place looked at on the way. Over several letters it is
    zero where rounding hides the minimiser: the value is known, the place is not.
    """

    lowering = "minimum"
    vectorised = False
    binds = ("letters",)
    body = Part(0, "What is minimised.")
    letters = Part(1, "The letters minimised over.", tuple)
    unit = Part(4, "Natural size of the letter where its range has no ends of its own, else None.", only)

    def __new__(
        cls, body: Any, over: Any, scan: int = 0, single_valley: bool = False, slopes: bool = True, unit: Any = None
    ) -> Any:
        """Bind the letters and keep their ranges; without ranges, the recipe of the statement must have them."""
        over = dict.fromkeys([over] if isinstance(over, sympy.Symbol) else over) if _is_bare(over) else over
        letters = tuple(over)
        twins, (body,) = hygienic(letters, sympy.sympify(body, strict=True))
        has_ranges = isinstance(over, Mapping) and all(over[letter] is not None for letter in letters)
        ranges = sympy.Tuple(*(sympy.Tuple(*over[letter]) for letter in letters if has_ranges))
        manner = sympy.Tuple(sympy.Integer(scan), sympy.Integer(single_valley), sympy.Integer(slopes))
        units = sympy.Tuple() if unit is None else sympy.Tuple(sympy.sympify(unit, strict=True))
        return sympy.Expr.__new__(cls, body, sympy.Tuple(*twins), ranges, manner, units)

    @property
    def has_range(self) -> bool:
        """Whether it is said where to look."""
        return bool(self.args[2])

    @property
    def sought(self) -> tuple[Any, ...]:
        """The letters minimised over."""
        return self.letters

    def searched(self, searches: Sequence[Any]) -> Any:
        """The same minimum, looked for as these say, one for each letter."""
        first = searches[0]
        ranges = sympy.Tuple(*(sympy.Tuple(how.low, how.high) for how in searches))
        manner = sympy.Tuple(*map(sympy.Integer, (first.scan, first.single_valley, first.slopes)))
        unit = sympy.Tuple() if first.unit is None else sympy.Tuple(sympy.sympify(first.unit, strict=True))
        return self.func(self.args[0], self.args[1], ranges, manner, unit)

    @property
    def scan(self) -> int:
        """Points looked at along each letter; 0 leaves it to the method."""
        return int(self.args[3][0])

    @property
    def single_valley(self) -> bool:
        """Whether the body is known to fall and then rise along its letter."""
        return bool(self.args[3][1])

    @property
    def slopes(self) -> bool:
        """Whether the body may be differentiated."""
        return bool(self.args[3][2])

    @property
    def ranges(self) -> tuple[tuple[Any, Any], ...]:
        """Search range of each letter."""
        return tuple((r[0], r[1]) for r in self.args[2])

    def components(self) -> int:
        """The value, then a minimiser for each letter, then whether the minimum is attained."""
        return 2 + len(self.letters)

    def component_names(self) -> list[str]:
        """Names of the components for printing."""
        return ["value", *(letter.name for letter in self.letters), "is_attained"]

    @property
    def is_attained(self) -> Any:
        """One where the minimum is attained, zero where the infimum is a limit."""
        return Component(self, 1 + len(self.letters))

    def at(self, letter: Any) -> Any:
        """The minimising value of a letter."""
        return Component(self, 1 + [x.name for x in self.letters].index(letter.name))

    def partial(self, symbol: Any) -> Any:
        """Envelope theorem: the minimisers do not move at first order."""
        here = {x: Component(self, 1 + i) for i, x in enumerate(self.letters)}
        return self.body.diff(symbol).xreplace(here)

    def _sympystr(self, printer: Any) -> str:
        """What is minimised and over which letters; where it is looked for is no part of that."""
        names = ", ".join(printer._print(x) for x in self.letters)
        return f"{type(self).__name__}({printer._print(self.body)}, over={names})"

    def _latex(self, printer: Any) -> str:
        names = ", ".join(printer._print(x) for x in self.letters)
        return rf"\min_{{{names}}} {printer._print(self.body)}"


def _is_bare(over: Any) -> bool:
    """Whether letters are named without ranges."""
    return not isinstance(over, Mapping)


class LocalMinimum(Minimum):
    """The local minimum reached from a start by descent, followed from known parameters to those asked for.

    ``over`` maps each letter to its value at the minimum for the parameters in ``known``, or names the letters, for
    which the recipe then says so; from there the parameters move to their values in small steps, and the minimum is
    tracked. Where it ceases to exist the descent leads elsewhere; it is given up where ``basin`` is no longer positive,
    and whoever asks must look where that is.
    """

    lowering = "local_minimum"
    basin = Part(4, "Positive where the descent may go.")

    def __new__(cls, body: Any, over: Any, known: Any = None, basin: Any = 1) -> Any:
        """Bind the letters; without starts, the recipe of the statement must have them."""
        letters = tuple(over)
        twins, (body, basin) = hygienic(letters, sympy.sympify(body, strict=True), sympy.sympify(basin, strict=True))
        values = [] if _is_bare(over) else [sympy.sympify(over[letter], strict=True) for letter in letters]
        pairs = sympy.Tuple(*(sympy.Tuple(*pair) for pair in (known or {}).items()))
        return sympy.Expr.__new__(cls, body, sympy.Tuple(*twins), sympy.Tuple(*values), pairs, basin)

    def searched(self, searches: Sequence[Any]) -> Any:
        """The same local minimum, followed from where these say it lies, one for each letter."""
        places = sympy.Tuple(*(sympy.sympify(how.value, strict=True) for how in searches))
        pairs = sympy.Tuple(*(sympy.Tuple(*pair) for pair in searches[0].known.items()))
        return self.func(self.args[0], self.args[1], places, pairs, self.args[4])

    @property
    def unit(self) -> Any:
        """The start says where to look."""
        return None

    @property
    def ranges(self) -> tuple[tuple[Any, Any], ...]:
        """A descent goes where it likes."""
        return ()

    @property
    def slopes(self) -> bool:
        """The descent needs them."""
        return True

    @property
    def start(self) -> tuple[float, ...]:
        """Where the letters are at the known parameters."""
        return tuple(float(x) for x in self.args[2])

    @property
    def known(self) -> tuple[tuple[Any, float], ...]:
        """Parameters and the values at which the start is the minimum."""
        return tuple((pair[0], float(pair[1])) for pair in self.args[3])


class Root(Searched):
    """The root of an expression in one letter within a range; infinite where the sign never changes.

    The range is scanned on a logarithmic scale when it is positive, at ``scan`` points (a default if 0);
    ``sign_change="first"`` or ``"last"`` says which root is meant where there are several.
    """

    lowering = "root"
    vectorised = False
    binds = ("letter",)
    body = Part(0, "The function whose zero is sought.")
    letter = Part(1, "The unknown.")
    takes_last = Part(4, "Whether the largest root is meant.", bool)

    def __new__(
        cls, body: Any, letter: Any, low: Any = None, high: Any = None, sign_change: str = "first", scan: int = 0
    ) -> Any:
        """Bind the letter; without ends, the recipe of the statement must have them."""
        (twin,), (body,) = hygienic((letter,), sympy.sympify(body, strict=True))
        last = sympy.Integer(sign_change == "last")
        ends = (
            (sympy.S.NaN, sympy.S.NaN)
            if low is None
            else (sympy.sympify(low, strict=True), sympy.sympify(high, strict=True))
        )
        return sympy.Expr.__new__(cls, body, twin, *ends, last, *([sympy.Integer(scan)] if scan else []))

    @property
    def scan(self) -> int:
        """Points looked at before the search narrows; 0 leaves it to the method."""
        return int(self.args[5]) if len(self.args) > 5 else 0

    @property
    def has_range(self) -> bool:
        """Whether it is said where to look."""
        return self.args[2] is not sympy.S.NaN

    @property
    def sought(self) -> tuple[Any, ...]:
        """The unknown."""
        return (self.letter,)

    def searched(self, searches: Sequence[Any]) -> Any:
        """The same root, looked for as this says."""
        (how,) = searches
        last = sympy.Integer(how.sign_change == "last" or self.takes_last)
        ends = sympy.sympify(how.low, strict=True), sympy.sympify(how.high, strict=True)
        return self.func(self.args[0], self.args[1], *ends, last, *([sympy.Integer(how.scan)] if how.scan else []))

    def partial(self, symbol: Any) -> Any:
        """Implicit function theorem."""
        slope = self.body.diff(self.letter)
        return (-self.body.diff(symbol) / slope).xreplace({self.letter: self})

    def _sympystr(self, printer: Any) -> str:
        """The equation and its unknown; where it is looked for is no part of that."""
        return f"Root({printer._print(self.body)}, {printer._print(self.letter)})"

    def _latex(self, printer: Any) -> str:
        name = printer._print(self.letter)
        return rf"\left\{{{name} : {printer._print(self.body)} = 0\right\}}"
