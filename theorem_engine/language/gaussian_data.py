"""A function seen by a standard normal variable: mean, Hermite coefficients, second moment, as expressions.

Polynomials are done exactly; everything else becomes Gaussian means, with the function's kinks as
breaks. Functions that are not real, not finite or not square integrable are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import sympy

from theorem_engine.base.errors import OutOfDomain
from theorem_engine.language.domains import Rejected
from theorem_engine.language.operators.gaussian_mean import GaussianMean


@dataclass(frozen=True)
class GaussianData:
    """Moments of f(xi): ``a1`` = E[xi f], ``a2`` = E[f (xi^2 - 1)]/sqrt(2), the rest of the centred f.

    ``rest`` is the second moment less a1^2, in a form that does not cancel.
    """

    mean: Any
    a1: Any
    a2: Any
    second_moment: Any
    rest: Any


@cache
def gaussian_data(function: Any) -> GaussianData:
    """Moments of an expression in one letter.

    >>> x = sympy.Symbol("x")
    >>> gaussian_data(x**3 - 2 * x)
    GaussianData(mean=0, a1=1, a2=0, second_moment=7, rest=6)
    """
    (letter,) = function.free_symbols
    x = sympy.Symbol("xi", real=True)
    f = function.xreplace({letter: x})
    if f.has(sympy.Derivative):
        f = f.doit()
    try:
        _refuse_bad(f, x)
        breaks = tuple(sorted(set(kinks(f, x)), key=lambda place: float(place)))
    except Rejected as problem:
        # in the letter it was written in
        raise OutOfDomain(f"nonlinearity {function}: {problem}") from None
    if f.is_polynomial(x):
        return _polynomial(sympy.Poly(f, x))
    mirrored = f.xreplace({x: -x})
    is_even, is_odd = _equal(mirrored, f), _equal(mirrored, -f)

    def mean_of(body: Any) -> Any:
        return GaussianMean(body, x, breaks=breaks)

    mean = sympy.S.Zero if is_odd else mean_of(f)
    a1 = sympy.S.Zero if is_even else mean_of(x * f)
    a2 = sympy.S.Zero if is_odd else mean_of(f * (x**2 - 1)) / sympy.sqrt(2)
    # the mean square of what is left: differences of moments would cancel for nearly linear functions
    rest = mean_of((f - _slot(0) - _slot(1) * x) ** 2).xreplace({_slot(0): mean, _slot(1): a1})
    return GaussianData(mean, a1, a2, rest + a1**2, rest)


@cache
def _slot(index: int) -> Any:
    return sympy.Dummy(f"coefficient{index}", real=True)


#: Where two expressions are compared before they are simplified: a mirror image is seldom the same, and simplifying
#: exp of a square of large numbers takes minutes.
_COMPARED = ("0.3141", "1.0472", "2.2361")


def _equal(a: Any, b: Any) -> bool:
    return bool(a == b) or (not _differ(a, b) and bool(sympy.simplify(a - b) == 0))


def _differ(a: Any, b: Any) -> bool:
    """Whether two functions of one letter have different values somewhere, seen in numbers."""
    from mpmath import mp

    (letter,) = a.free_symbols | b.free_symbols
    first, second = (sympy.lambdify(letter, side, "mpmath") for side in (a, b))
    with mp.workdps(30):
        for place in _COMPARED:
            try:
                here, there = mp.mpmathify(first(mp.mpf(place))), mp.mpmathify(second(mp.mpf(place)))
            except (ArithmeticError, ValueError, TypeError):
                # no number here says nothing
                continue
            if abs(here - there) > mp.mpf(10) ** -15 * (1 + abs(here) + abs(there)):
                return True
    return False


def _polynomial(f: Any) -> GaussianData:
    def normal_moment(k: int) -> Any:
        return sympy.factorial2(k - 1) if k % 2 == 0 else sympy.S.Zero

    def mean_of(poly: Any) -> Any:
        return sum((coefficient * normal_moment(k) for (k,), coefficient in poly.terms()), sympy.S.Zero)

    x = sympy.Poly(f.gen, f.gen)
    mean = mean_of(f)
    a1 = mean_of(f * x)
    a2 = sympy.simplify(mean_of(f * (x**2 - 1)) / sympy.sqrt(2))
    rest = sympy.simplify(mean_of((f - mean - x * a1) ** 2))
    return GaussianData(mean, a1, a2, sympy.simplify(rest + a1**2), rest)


def _refuse_bad(f: Any, x: Any) -> None:
    """Errors for functions whose moments do not exist, seen at a glance from a few values."""
    from mpmath import mp
    from sympy.core.function import AppliedUndef

    if f.has(sympy.floor, sympy.ceiling, sympy.zoo, sympy.nan, sympy.oo):
        raise Rejected("it has infinitely many jumps, or is infinite")
    if unknown := sorted(str(node.func) for node in f.atoms(AppliedUndef)):
        raise Rejected(f"it contains the unknown function {unknown[0]}")
    if poles := _poles(f, x):
        raise Rejected(f"it is not finite at {poles}, so its moments are not known to exist")
    try:
        value = sympy.lambdify(x, f, "mpmath")
    except NotImplementedError as error:
        raise Rejected(f"it cannot be evaluated ({str(error).splitlines()[0][:80]})") from None
    with mp.workdps(30):
        for place in (-3, "-0.71", "0.37", 2):
            here = _real(value, place)
            if not mp.isfinite(here):
                raise Rejected(f"it is not finite at {place}")
        for place in (-1000, -100, 100, 1000):
            try:
                here = abs(_real(value, place))
                growth = 2 * mp.log(here) / (mp.mpf(place) ** 2 / 2) if here else mp.zero
            except OverflowError:
                growth = mp.inf
            # f^2 against the normal density: at equal rates the second moment is infinite
            if not growth < mp.mpf("0.98"):
                raise Rejected("its second moment diverges (it grows like exp(xi^2/4) or faster)")


def _real(value: Callable[[Any], Any], place: int | str) -> Any:
    """The value of a function at a place, if there is one and it is real."""
    from mpmath import mp

    try:
        here = value(mp.mpf(place))
    except (ValueError, ZeroDivisionError):
        here = None
    # a piecewise function may have no piece there
    if here is None or (isinstance(here, mp.mpc) and abs(here.imag) > mp.mpf("1e-20") * (1 + abs(here))):
        raise Rejected(f"it is not a finite real number at {place}")
    return mp.re(here)


def _poles(f: Any, x: Any) -> str:
    from sympy.calculus.singularities import singularities

    try:
        found = singularities(f, x, sympy.S.Reals)
    except NotImplementedError:
        return ""
    except ValueError:
        # some functions inside a maximum are more than SymPy compares: each of its arguments by itself, then the rest
        choices = {node: sympy.Dummy(real=True) for node in f.atoms(sympy.Max, sympy.Min)}
        parts = [arg for node in choices for arg in node.args] if choices else []
        found_inside = next(filter(None, (_poles(part, x) for part in parts)), "")
        return found_inside or (_poles(f.xreplace(choices), x) if choices else "")
    if found is sympy.S.EmptySet or found.is_empty:
        return ""
    if isinstance(found, sympy.FiniteSet):
        return ", ".join(str(place) for place in found)
    return f"points of {found}" if found.is_empty is False else ""


def kinks(f: Any, x: Any) -> Iterator[Any]:
    """Real places where an expression may jump or bend."""
    for node in sympy.preorder_traversal(f):
        for inside in _switches(node):
            if x not in inside.free_symbols:
                continue
            places = sympy.solveset(_same_sign(inside), x, sympy.S.Reals)
            if not isinstance(places, sympy.FiniteSet):
                if places is sympy.S.EmptySet:
                    continue
                raise Rejected(f"the places where {inside} changes sign could not all be found")
            yield from places


#: Odd functions that rise everywhere: they vanish where their argument does.
_RISING = (sympy.tanh, sympy.sinh, sympy.asinh, sympy.atan, sympy.erf)


def _same_sign(expression: Any) -> Any:
    """An expression that vanishes at the same places, without factors and functions that make no difference."""
    while True:
        _, bare = expression.as_coeff_Mul()
        inside = bare.args[0] if isinstance(bare, _RISING) else bare
        if inside == expression:
            return expression
        expression = inside


def _switches(node: Any) -> list[Any]:
    """Expressions whose sign decides between the branches of a node."""
    if isinstance(node, (sympy.Abs, sympy.sign, sympy.Heaviside)):
        return [node.args[0]]
    if isinstance(node, (sympy.Max, sympy.Min)):
        return [a - b for i, a in enumerate(node.args) for b in node.args[:i]]
    if isinstance(node, sympy.core.relational.Relational):
        return [node.lhs - node.rhs]
    return []
