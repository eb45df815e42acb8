"""Letters of an objective that are found by linear equations: eliminated one by one, or all by a multiplier.

Elimination. Let e = a z^2/2 + b z + c in a letter z with a > 0, and let sums h = g z + f have z linearly. At the
minimum over z, with m the derivative of G in the sum T, z_l = -(b_l + m g_l)/a_l, so that

    T = sum (f - b g/a) - m sum g^2/a,        m = G'(T),

which is linear where G is quadratic in T. What is left, sum (c - b^2/(2a)) + m^2 sum(g^2/a)/2 + G(T), is an objective
of the other letters; where G is convex in T it is the minimum over z.

One multiplier. If e and the one sum's h are quadratic in all letters, the stationary point x(m) of sum (e + m h) solves
linear equations for each token, and m = G'(T(m)) is one equation for one number. Let G be convex. Where e + m h is
convex in x, T(m) decreases, so that there is at most one root; and it belongs to the lowest point of all, because

    Phi(x') >= sum e(x') + G(T) + m (T' - T) >= sum e(x) + m T + G(T) - m T = Phi(x).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import sympy

from theorem_engine.language.operators.stochastic import TokenSum
from theorem_engine.planning.objective import Objective, Sum, Totals, expanded, fresh

#: The multiplier of the one sum.
MULTIPLIER = fresh("multiplier", 0)


@dataclass(frozen=True)
class Reduced:
    """An objective with fewer letters, and those left out as functions of a token's other letters and of sums."""

    objective: Objective
    eliminated: tuple[tuple[Any, Any], ...]


def eliminate(objective: Objective) -> Reduced:
    """Leave out every letter that a linear equation gives, the last first, but not all of them."""
    eliminated: list[tuple[Any, Any]] = []
    for letter in reversed(objective.letters):
        if len(objective.letters) > 1 and not objective.is_separate:
            found = _without(objective, letter)
            if found is not None:
                objective, expression = found
                eliminated.insert(0, (letter, expression))
    return Reduced(objective, tuple(eliminated))


def _without(objective: Objective, letter: Any) -> tuple[Objective, Any] | None:
    terms = sympy.Add.make_args(objective.each)
    parts = _polynomial(sympy.Add(*(t for t in terms if t.has(letter))), letter, 2)
    if parts is None or not (2 * parts[2]).is_positive:
        return None
    a, b, c = 2 * parts[2], parts[1], parts[0]
    inside = [s for s in objective.sums if s.inner.has(letter)]
    if any(s.is_log or _polynomial(s.inner, letter, 1) is None for s in inside):
        return None
    moved = {s.symbol for s in inside}
    if any(s.inner.free_symbols & moved for s in objective.sums) or not _is_convex(objective.outer, moved):
        return None
    lines = [_polynomial(s.inner, letter, 1) for s in inside]
    kept = tuple(s for s in objective.sums if s.symbol not in moved)
    rest = replace(objective, sums=kept)
    totals = Totals(rest, objective.per_sample)
    offsets = [totals.of(f - b * g / a) for f, g in lines]  # type: ignore[misc]
    squares = [[totals.of(g * k / a) for _, k in lines] for _, g in lines]  # type: ignore[misc]
    slopes = [sympy.diff(objective.outer, s.symbol) for s in inside]
    equations = [
        offsets[i] - sympy.Add(*(k * m for k, m in zip(row, slopes, strict=True))) - s.symbol
        for i, (s, row) in enumerate(zip(inside, squares, strict=True))
    ]
    try:
        solved = sympy.linsolve(equations, [s.symbol for s in inside])
    except sympy.polys.solvers.PolyNonlinearError:
        return None
    (values,) = solved
    at = dict(zip([s.symbol for s in inside], values, strict=True))
    multipliers = [sympy.factor(m.xreplace(at)) for m in slopes]
    bent = sympy.Add(
        *(m * n * k / 2 for m, row in zip(multipliers, squares, strict=True)
          for n, k in zip(multipliers, row, strict=True))
    )  # fmt: skip
    number = 1 + max((int(s.symbol.name.removeprefix("sum")) for s in objective.sums), default=-1)
    named = {more: fresh("sum", number + i) for i, more in enumerate(totals.more)}
    shares = {share: s.density for share, s in rest.shares().items()}
    made = tuple(Sum(named[m], e.xreplace(shares)) for m, e in totals.more.items())
    outer = sympy.factor((objective.outer.xreplace(at) + bent).xreplace(named))
    each = sympy.Add(*(t for t in terms if not t.has(letter))) + expanded(c - b**2 / (2 * a))
    point = expanded(-b / a) - sympy.Add(
        *(m * expanded(g / a) for m, (_, g) in zip(multipliers, lines, strict=True))  # type: ignore[misc]
    )
    letters = tuple(x for x in objective.letters if x != letter)
    return replace(objective, letters=letters, each=each, outer=outer, sums=(*kept, *made)), point.xreplace(named)


def _polynomial(expression: Any, letter: Any, degree: int) -> list[Any] | None:
    """Coefficients of the powers of a letter, lowest first, or None where it is no polynomial of that degree."""
    found = [expression.diff(letter, k).subs(letter, 0) / sympy.factorial(k) for k in range(degree + 1)]
    left = expanded(expression - sympy.Add(*(c * letter**k for k, c in enumerate(found))))
    return [expanded(c) for c in found] if left == 0 else None


def _is_convex(outer: Any, symbols: set[Any]) -> bool:
    """Whether SymPy knows that a function is convex in some letters."""
    ordered = sorted(symbols, key=lambda s: s.name)
    return not ordered or bool(sympy.hessian(outer, ordered).is_positive_semidefinite)


@dataclass(frozen=True)
class OneMultiplier:
    """The equation ``residual`` = 0 of the multiplier, increasing between the poles next to zero.

    It is written in ``sums`` over tokens; ``point`` has the letters as functions of the multiplier.
    """

    residual: Any
    poles: tuple[Any, ...]
    sums: dict[Any, Any]
    point: tuple[Any, ...]


def one_multiplier(objective: Objective) -> OneMultiplier | None:
    """The equation of the multiplier, or None where the objective has another form."""
    letters = list(objective.letters)
    moved = [s for s in objective.sums if s.inner.has(*letters)]
    if len(moved) != 1 or len(objective.sums) != 1 or moved[0].is_log:
        return None
    (s,) = moved
    per_sample = objective.per_sample | {MULTIPLIER}
    density = objective.each + MULTIPLIER * s.inner
    if not (_is_quadratic(objective.each, letters) and _is_quadratic(s.inner, letters)):
        return None
    matrix = sympy.hessian(density, letters)
    if not matrix.free_symbols <= per_sample or not matrix.subs(MULTIPLIER, 0).is_positive_definite:
        return None
    if not _is_convex(objective.outer, {s.symbol}):
        return None
    zero = dict.fromkeys(letters, 0)
    determinant = sympy.factor(matrix.det())
    slope = sympy.Matrix([density.diff(x).subs(zero) for x in letters])
    raw = -matrix.adjugate() * slope
    rest = replace(objective, sums=())
    totals = Totals(rest, per_sample)
    linear = sympy.Matrix([s.inner.diff(x).subs(zero) for x in letters])
    bent = sympy.hessian(s.inner, letters)
    # h at the point, over the square of the determinant, a polynomial in the multiplier
    top = (raw.T * bent * raw)[0] / 2 + determinant * (raw.T * linear)[0] + determinant**2 * s.inner.subs(zero)
    value = _quotient(totals.of(top), determinant**2)
    residual = MULTIPLIER - objective.outer.diff(s.symbol).xreplace({s.symbol: value})
    poles = tuple(sympy.roots(determinant, MULTIPLIER)) if determinant.has(MULTIPLIER) else ()
    sums = {m: TokenSum(e) for m, e in totals.more.items()}
    return OneMultiplier(residual, poles, sums, tuple(_quotient(e, determinant) for e in raw))


def _quotient(above: Any, below: Any) -> Any:
    """A quotient as one fraction."""
    top, bottom = sympy.fraction(sympy.together(above / below))
    return sympy.collect(expanded(top), MULTIPLIER) / sympy.factor(bottom)


def _is_quadratic(expression: Any, letters: list[Any]) -> bool:
    return expression.is_polynomial(*letters) and sympy.Poly(expression, *letters).total_degree() <= 2
