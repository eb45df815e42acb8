"""An objective taken apart: terms of each token, sums over the tokens, and an outer function of the sums.

    Phi(x) = sum_l e(x_l) + G(T),     T_a = sum_l h_a(x_l, T_b)  or  log sum_l exp g_a(x_l, T_b),  b before a.

A sum may use the ones before it. Letters outside all sums have one value for each sample; with that, whatever is to
be summed later is written as such letters times sums that are known, where they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from theorem_engine.base.errors import DeclarationError
from theorem_engine.language.letters import Letter
from theorem_engine.language.operators.channel import TokenLogSum
from theorem_engine.language.operators.stochastic import TokenSum


def fresh(name: str, number: int) -> Any:
    """A real letter that no statement has."""
    return Letter(f"{name}{number}", "proximal", assumptions={"real": True})


#: The number of tokens, which is the sum of one over them.
TOKENS = fresh("tokens", 0)


@dataclass(frozen=True)
class Sum:
    """A sum over tokens, or with ``is_log`` the logarithm of a sum of exponentials."""

    symbol: Any
    inner: Any
    is_log: bool = False

    @property
    def density(self) -> Any:
        """h, where the sum of h is the letter itself, or one for a logarithm."""
        return sympy.exp(self.inner - self.symbol) if self.is_log else self.inner

    def equation(self) -> Any:
        """The sum as a function of tokens."""
        return TokenLogSum(self.inner) if self.is_log else TokenSum(self.inner)


@dataclass(frozen=True)
class Objective:
    """An objective of ``letters`` as above; ``is_separate`` if it has no sums and every number its own objective."""

    letters: tuple[Any, ...]
    each: Any
    outer: Any
    sums: tuple[Sum, ...]
    #: Letters with one value for each sample: those that stand outside of all sums.
    shared: frozenset[Any] = frozenset()
    is_separate: bool = False

    @property
    def per_sample(self) -> frozenset[Any]:
        """Letters with one value for each sample, the sums among them."""
        return self.shared | {s.symbol for s in self.sums} | {TOKENS}

    @property
    def parameters(self) -> frozenset[Any]:
        """What the objective needs besides its letters."""
        found = self.each.free_symbols | self.outer.free_symbols
        for s in self.sums:
            found |= s.inner.free_symbols
        return frozenset(found) - frozenset(self.letters) - {TOKENS, *(s.symbol for s in self.sums)}

    def with_shares(self, expression: Any) -> Any:
        """exp(g - T) by a letter of its own wherever T is the logarithm of the sum of exp(g)."""
        for share, s in self.shares().items():
            expression = expression.replace(
                lambda e, s=s: isinstance(e, sympy.exp) and _multiple(e.args[0], s) is not None,
                lambda e, s=s, share=share: share ** _multiple(e.args[0], s),
            )
        return expression

    def shares(self) -> dict[Any, Sum]:
        """A letter for each token's part of a sum of exponentials."""
        return {fresh("share", i): s for i, s in enumerate(self.sums) if s.is_log}


def expanded(expression: Any) -> Any:
    """Products of sums multiplied out, exponentials of sums left as they are."""
    return sympy.expand(expression, power_exp=False)


def _multiple(exponent: Any, s: Sum) -> Any:
    """The whole number k with exponent = k (g - T), or None."""
    k = -exponent.expand().coeff(s.symbol)
    return k if k.is_Integer and k != 0 and (exponent - k * (s.inner - s.symbol)).expand() == 0 else None


def take_apart(expression: Any, letters: tuple[Any, ...]) -> Objective:
    """Name the sums, innermost first, and gather the terms that are a sum over tokens by themselves."""
    sums: dict[Any, Sum] = {}

    def visit(node: Any) -> Any:
        if not node.has(TokenSum, TokenLogSum):
            return node
        inner = [visit(a) for a in node.args]
        if not isinstance(node, (TokenSum, TokenLogSum)):
            return node.func(*inner)
        key = type(node), inner[0]
        sums.setdefault(key, Sum(fresh("sum", len(sums)), inner[0], isinstance(node, TokenLogSum)))
        return sums[key].symbol

    outer = visit(expression)
    if not sums:
        return Objective(letters, outer, sympy.Integer(0), (), is_separate=True)
    if bare := outer.free_symbols & set(letters):
        raise DeclarationError(
            f"the objective of a Proximal is one number for each sample: {min(bare, key=str)} stands in a sum over "
            "tokens and outside of all sums too"
        )
    return _gathered(letters, outer, tuple(sums.values()))


def _gathered(letters: tuple[Any, ...], outer: Any, sums: tuple[Sum, ...]) -> Objective:
    """Terms of the outer function that are a multiple of one sum become terms of each token."""
    each = sympy.Integer(0)
    symbols = {s.symbol for s in sums}
    plain = {s.symbol: s.inner for s in sums if not s.is_log and not s.inner.free_symbols & symbols}
    rest = []
    for term in sympy.Add.make_args(outer):
        inside = term.free_symbols & symbols
        symbol = next(iter(inside)) if len(inside) == 1 else None
        factor = sympy.diff(term, symbol) if symbol in plain else None
        if factor is not None and not factor.free_symbols & symbols and expanded(term - factor * symbol) == 0:
            each += factor * plain[symbol]
        else:
            rest.append(term)
    shared = frozenset(outer.free_symbols - symbols)
    return Objective(letters, each, sympy.Add(*rest), _needed(sympy.Add(*rest), sums), shared)


def _needed(outer: Any, sums: tuple[Sum, ...]) -> tuple[Sum, ...]:
    """The sums that the outer function uses, directly or through others."""
    wanted = set(outer.free_symbols)
    kept = []
    for s in reversed(sums):
        if s.symbol in wanted:
            kept.append(s)
            wanted |= s.inner.free_symbols
    return tuple(reversed(kept))


class Totals:
    """Sums over tokens of expressions, by the objective's own sums where they are among them."""

    def __init__(self, objective: Objective, per_sample: frozenset[Any]) -> None:
        self.objective = objective
        self.per_sample = per_sample | objective.per_sample
        #: Sums that the objective does not have: letter -> what is summed.
        self.more: dict[Any, Any] = {}
        self._known: dict[Any, Any] = {sympy.Integer(1): TOKENS}
        for share, s in objective.shares().items():
            self._known[share] = sympy.Integer(1)
            self._known[s.density] = sympy.Integer(1)
        for s in objective.sums:
            if not s.is_log:
                self._known[objective.with_shares(s.inner)] = s.symbol

    def of(self, expression: Any) -> Any:
        """The sum, term by term, what is the same for all tokens in front."""
        found = sympy.Integer(0)
        for term in sympy.Add.make_args(expanded(self.objective.with_shares(expression))):
            factors = sympy.Mul.make_args(term)
            front = [f for f in factors if f.free_symbols <= self.per_sample]
            inside = sympy.Mul(*(f for f in factors if not f.free_symbols <= self.per_sample))
            if inside not in self._known:
                self._known[inside] = fresh("more", len(self.more))
                self.more[self._known[inside]] = inside
            found += sympy.Mul(*front) * self._known[inside]
        return found


def centre(objective: Objective) -> tuple[Any, ...]:
    """Where the terms of a token that are quadratic in the letters are least: a descent begins there."""
    letters = list(objective.letters)
    terms = [t for t in sympy.Add.make_args(objective.each) if t.is_polynomial(*letters)]
    plain = sympy.Add(*(t for t in terms if sympy.Poly(t, *letters).total_degree() <= 2))
    matrix = sympy.hessian(plain, letters)
    if matrix.det() == 0:
        raise DeclarationError(
            "the objective of a Proximal needs a quadratic term in each of its letters, to start from"
        )
    slope = sympy.Matrix([plain.diff(x).subs(dict.fromkeys(letters, 0)) for x in letters])
    return tuple(sympy.simplify(e) for e in -matrix.inv() * slope)
