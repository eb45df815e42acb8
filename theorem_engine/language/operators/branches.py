"""All fixed points of a group of equations, and where in a parameter two of them meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy

from theorem_engine.base.errors import DeclarationError, NoDerivative
from theorem_engine.language.operators.base import Component, Part, Searched, hygienic, only

#: Which of the stable fixed points is meant.
CHOICES = ("first", "last", "energy")


class Branches(Searched):
    """All fixed points of ``letter = body`` in a range: each with its stability and, where one is given, its energy.

    ``Branches({q: f(q, r), r: g(q)}, energy=F)``: the letters that come first and cut every circle are the unknowns;
    those after them are defined by them. Each unknown is looked for in a range, or where the recipe says. Fixed points
    are numbered from one by rising first letter; there are no more than ``most``. One is stable where the slope of the
    map, the largest real part of the eigenvalues of its Jacobian, is below one: the damped map then leads back to it.

    ``choose`` says which of the stable ones is meant: the ``first``, the ``last``, or that of least ``energy``. ``at``,
    ``slope`` and ``energy_at`` are those of the one that is meant, or of the number given; they are infinite where it
    does not exist. ``trivial`` are values of the unknowns that solve the equations whatever the parameters are, and
    need not be looked for.

    With one unknown every sign change of ``body - letter`` between its turning points is found, which are themselves
    found from a scan. With several, Newton's method starts from a lattice of places: one that has no start near it may
    be missed.

    >>> q, a = sympy.symbols("q a", positive=True)
    >>> law = Branches({q: sympy.tanh(a * q)}, trivial=[0], choose="last")
    >>> law.slope(1).free_symbols
    {a}
    """

    lowering = "branches"
    vectorised = False
    binds = ("letters",)
    bodies = Part(0, "The right-hand sides.", tuple)
    letters = Part(1, "The unknowns, then the letters that they define.", tuple)
    ranges = Part(2, "Where each unknown is looked for.", tuple)
    energy = Part(3, "What tells which stable fixed point is meant, or None.", only)
    trivial = Part(4, "Values of the unknowns that always solve the equations.", tuple)

    def __new__(
        cls,
        equations: Mapping[Any, Any],
        over: Mapping[Any, Any] | None = None,
        *,
        energy: Any = None,
        trivial: Sequence[Any] = (),
        most: int = 3,
        choose: str = "",
    ) -> Any:
        """Bind the letters; without ranges, the recipe of the statement must have them."""
        choose = choose or ("energy" if energy is not None else "last")
        if choose not in CHOICES or (choose == "energy") > (energy is not None) or most < 1:
            raise DeclarationError(f"Branches: choose={choose!r} is none of {', '.join(CHOICES)}, or has no energy")
        letters = tuple(equations)
        parts = [sympy.sympify(e, strict=True) for e in (*equations.values(), *([] if energy is None else [energy]))]
        twins, bound = hygienic(letters, *parts)
        count = unknown_count(twins, bound[: len(letters)])
        spread = _ranges(letters[:count], over)
        places = [p if isinstance(p, (tuple, list)) else (p,) for p in trivial]
        if any(len(p) != count for p in places):
            raise DeclarationError(f"Branches: a trivial fixed point has {count} values, one for each unknown")
        return sympy.Expr.__new__(
            cls, sympy.Tuple(*bound[: len(letters)]), sympy.Tuple(*twins), spread,
            sympy.Tuple(*bound[len(letters) :]), sympy.Tuple(*(sympy.Tuple(*map(sympy.sympify, p)) for p in places)),
            sympy.Tuple(sympy.Integer(most), sympy.Integer(CHOICES.index(choose)), sympy.Integer(count)),
        )  # fmt: skip

    @property
    def most(self) -> int:
        """How many fixed points there can be."""
        return int(self.args[5][0])

    @property
    def choice(self) -> str:
        """Which of the stable ones is meant."""
        return CHOICES[int(self.args[5][1])]

    @property
    def unknowns(self) -> tuple[Any, ...]:
        """The letters that cut every circle."""
        return self.letters[: int(self.args[5][2])]

    @property
    def defined(self) -> dict[Any, Any]:
        """Letters that the unknowns define, and how."""
        start = len(self.unknowns)
        return dict(zip(self.letters[start:], self.bodies[start:], strict=True))

    @property
    def has_range(self) -> bool:
        """Whether it is said where to look."""
        return bool(self.ranges)

    @property
    def sought(self) -> tuple[Any, ...]:
        """The unknowns."""
        return self.unknowns

    def searched(self, searches: Sequence[Any]) -> Any:
        """The same fixed points, looked for as these say."""
        ranges = sympy.Tuple(*(sympy.Tuple(how.low, how.high) for how in searches))
        return self.func(*self.args[:2], ranges, *self.args[3:])

    @property
    def width(self) -> int:
        """Numbers that one fixed point has: its letters, its slope, its energy."""
        return len(self.letters) + 1 + (self.energy is not None)

    def components(self) -> int:
        """Those of the one meant, those of each, and how many there are."""
        return self.width * (self.most + 1) + 1

    def at(self, letter: Any, number: int = 0) -> Any:
        """A letter at the fixed point of this number; zero stands for the one meant."""
        return self._part(number, [x.name for x in self.letters].index(letter.name))

    def slope(self, number: int = 0) -> Any:
        """The slope of the map there; a fixed point is stable where it is below one."""
        return self._part(number, len(self.letters))

    def energy_at(self, number: int = 0) -> Any:
        """The energy there."""
        if self.energy is None:
            raise DeclarationError("Branches: no energy was given")
        return self._part(number, len(self.letters) + 1)

    @property
    def count(self) -> Any:
        """How many fixed points there are."""
        return Component(self, self.width * (self.most + 1))

    def spinodal(self, along: Any, over: Any = None, which: str = "first") -> Any:
        """Where in a parameter two of the fixed points meet and end."""
        return Spinodal(self, along, over, which)

    def _part(self, number: int, place: int) -> Any:
        if not 0 <= number <= self.most:
            raise DeclarationError(f"Branches: there is no fixed point {number} of at most {self.most}")
        return Component(self, number * self.width + place)

    def partial(self, symbol: Any) -> Any:
        """Implicit function theorem."""
        return self.component_partial(0, symbol)

    def component_partial(self, index: int, symbol: Any) -> Any:
        """How a number of a fixed point moves with a parameter."""
        number, place = divmod(index, self.width)
        if number > self.most:
            return sympy.S.Zero
        here = {x: self._part(number, i) for i, x in enumerate(self.letters)}
        moves = linear_solution(_left(self), [body.diff(symbol) for body in self.bodies])
        if place < len(self.letters):
            return moves[place].xreplace(here)
        if place == len(self.letters):
            if len(self.letters) > 1:
                raise NoDerivative("the slope of Branches of several letters has no symbolic derivative")
            height = self.bodies[0].diff(self.letters[0])
        else:
            height = self.energy
        total = height.diff(symbol) + sum(height.diff(x) * d for x, d in zip(self.letters, moves, strict=True))
        return total.xreplace(here)

    def _sympystr(self, printer: Any) -> str:
        """The equations; where they are solved is no part of that."""
        pairs = zip(self.letters, self.bodies, strict=True)
        listed = ", ".join(f"{printer._print(x)}: {printer._print(body)}" for x, body in pairs)
        return f"Branches({{{listed}}})"

    def _latex(self, printer: Any) -> str:
        pairs = zip(self.letters, self.bodies, strict=True)
        listed = r",\; ".join(f"{printer._print(x)} = {printer._print(body)}" for x, body in pairs)
        return rf"\left\{{{listed}\right\}}"


class Spinodal(Searched):
    """The value of a parameter at which two fixed points of one unknown meet, the first or the last in a range.

    Written ``law.spinodal(alpha)`` for ``law = Branches(...)``. Infinite where none meet. ``at(letter)`` is a letter at
    the fixed point in which they do.
    """

    lowering = "spinodal"
    vectorised = False
    binds = ("letters", "along")
    bodies = Part(0, "The right-hand sides.", tuple)
    letters = Part(1, "The unknown, then the letters that it defines.", tuple)
    ranges = Part(2, "Where the unknown is looked for, then the parameter.", tuple)
    along = Part(3, "The parameter.")
    takes_last = Part(4, "Whether the largest such value is meant.", bool)

    def __new__(cls, law: Branches, along: Any, over: Any = None, which: str = "first") -> Any:
        """Bind the parameter too; without a range, the recipe must have it."""
        if len(law.unknowns) > 1:
            raise DeclarationError("a spinodal is looked for with one unknown; write the others as functions of it")
        if which not in CHOICES[:2]:
            raise DeclarationError(f"a spinodal is the first or the last, not {which!r}")
        (twin,), bodies = hygienic((along,), *law.bodies, *(end for pair in law.ranges for end in pair))
        count = len(law.letters)
        ranges = [] if over is None or not law.has_range else [sympy.Tuple(*bodies[count:]), sympy.Tuple(*over)]
        return sympy.Expr.__new__(
            cls, sympy.Tuple(*bodies[:count]), sympy.Tuple(*law.letters), sympy.Tuple(*ranges), twin,
            sympy.Integer(which == "last"),
        )  # fmt: skip

    @property
    def unknowns(self) -> tuple[Any, ...]:
        """The one unknown."""
        return self.letters[:1]

    @property
    def defined(self) -> dict[Any, Any]:
        """Letters that it defines, and how."""
        return dict(zip(self.letters[1:], self.bodies[1:], strict=True))

    @property
    def has_range(self) -> bool:
        """Whether it is said where to look."""
        return bool(self.ranges)

    @property
    def sought(self) -> tuple[Any, ...]:
        """The unknown and the parameter."""
        return *self.unknowns, self.along

    def searched(self, searches: Sequence[Any]) -> Any:
        """The same value, looked for as these say; the range of the unknown may move with the parameter."""
        outside = {x: self.along for how in searches for end in (how.low, how.high)
                   for x in sympy.sympify(end, strict=True).free_symbols if x.name == self.along.name}  # fmt: skip
        ranges = (sympy.Tuple(how.low, how.high).xreplace(outside) for how in searches)
        return self.func(*self.args[:2], sympy.Tuple(*ranges), *self.args[3:])

    def components(self) -> int:
        """The parameter, then the letters where it is that."""
        return 1 + len(self.letters)

    def at(self, letter: Any) -> Any:
        """A letter where the fixed points meet."""
        return Component(self, 1 + [x.name for x in self.letters].index(letter.name))

    def partial(self, symbol: Any) -> Any:
        """The parameter moves so that the equations stay solvable: their change is orthogonal to the left null vector.

        At the spinodal every row of the adjugate is a multiple of that vector; the first is not zero.
        """
        null = _left(self).adjugate()[0, :]

        def pull(x: Any) -> Any:
            return sum(null[i] * body.diff(x) for i, body in enumerate(self.bodies))

        here = {self.along: self, **{x: Component(self, 1 + i) for i, x in enumerate(self.letters)}}
        return (-pull(symbol) / pull(self.along)).xreplace(here)

    def _sympystr(self, printer: Any) -> str:
        pairs = zip(self.letters, self.bodies, strict=True)
        listed = ", ".join(f"{printer._print(x)}: {printer._print(body)}" for x, body in pairs)
        return f"Spinodal({{{listed}}}, along={printer._print(self.along)})"

    def _latex(self, printer: Any) -> str:
        return rf"{printer._print(self.along)}_{{\mathrm{{spinodal}}}}"


def unknown_count(letters: Sequence[Any], bodies: Sequence[Any]) -> int:
    """How many of the letters, from the first on, cut every circle of their equations."""
    used = {x: body.free_symbols & set(letters) for x, body in zip(letters, bodies, strict=True)}
    for count in range(1, len(letters) + 1):
        rest = list(letters[count:])
        while ready := [x for x in rest if not used[x] & set(rest)]:
            rest = [x for x in rest if x not in ready]
        if not rest:
            return count
    raise DeclarationError("Branches: no equation was given")


def _ranges(unknowns: Sequence[Any], over: Mapping[Any, Any] | None) -> Any:
    if over is None:
        return sympy.Tuple()
    missing = [x.name for x in unknowns if x not in over]
    if missing:
        raise DeclarationError(f"Branches: it is not said where to look for {', '.join(missing)}")
    return sympy.Tuple(*(sympy.Tuple(*over[x]) for x in unknowns))


def _left(node: Any) -> Any:
    """One minus the Jacobian of all letters."""
    size = len(node.letters)
    return sympy.eye(size) - sympy.Matrix(size, size, [body.diff(x) for body in node.bodies for x in node.letters])


def linear_solution(matrix: Any, right: Sequence[Any]) -> list[Any]:
    """The solution of a small linear system by Cramer's rule, with no pivot that could vanish."""
    size = matrix.rows
    names = sympy.Matrix(size, size, sympy.symbols(f"m:{size * size}", cls=sympy.Dummy))
    swap = dict(zip(names, matrix, strict=True))
    adjugate, determinant = names.adjugate().xreplace(swap), names.det().xreplace(swap)
    return [sum(adjugate[i, k] * right[k] for k in range(size)) / determinant for i in range(size)]
