"""Mean of a rational function over the Marchenko-Pastur law or one of its spiked forms."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sympy
from sympy.core.symbol import Str

from theorem_engine.operators.base import Operator, hygienic

#: Forms of a spectral law: n the bulk itself; y and m the right and left directions of the spike, p a
#: left direction orthogonal to it.
FORMS = ("n", "yy", "ym", "mm", "pp")


class MarchenkoPastur(sympy.Basic):
    """Law of the spectrum of S = X^T X/p, X = noise + a rank-one spike, seen in a given form.

    X is p by n with independent standard normal noise, ``ratio`` is n/p and ``spike`` is theta, the
    singular value of the spike over sqrt(p). With yh and mh its right and left directions, and w a
    unit vector orthogonal to mh, the forms are those of a function h of S:

    - n: tr h(S)/n without spike, the Marchenko-Pastur law proper;
    - yy: yh^T h(S) yh; ym: yh^T h(S) Xs^T mh; mm: mh^T Xs h(S) Xs^T mh; pp: w^T Xs h(S) Xs^T w,
      all with Xs = X/sqrt(p).

    >>> MarchenkoPastur(2).moment(2)
    3
    """

    def __new__(cls, ratio: Any, spike: Any = 0, form: str = "n") -> Any:
        """Keep ratio, spike and form."""
        name = form.name if isinstance(form, Str) else form
        if name not in FORMS:
            raise ValueError(f"a spectral law has the forms {', '.join(FORMS)}, not {name!r}")
        spike = sympy.S.Zero if name in ("n", "pp") else sympy.sympify(spike, strict=True)
        return sympy.Basic.__new__(cls, sympy.sympify(ratio, strict=True), spike, Str(name))

    @property
    def ratio(self) -> Any:
        """Columns over rows."""
        return self.args[0]

    @property
    def spike(self) -> Any:
        """Strength of the spike; zero where the form does not see it."""
        return self.args[1]

    @property
    def form(self) -> str:
        """One of ``FORMS``."""
        return str(self.args[2].name)

    def spiked(self, spike: Any, form: str) -> Any:
        """The same bulk with a spike, in another form."""
        return MarchenkoPastur(self.ratio, spike, form)

    def resolvent(self, z: Any) -> Any:
        """The mean of 1/(s - z) for z off the spectrum, real or complex; an elementary expression.

        The square root is written for its argument: positive for real z outside the bulk, never on the
        negative axis for the others, so that it has the right branch everywhere.
        """
        ratio, spike = self.ratio, self.spike
        outer = self.uniformised(z)
        shifted = outer - 2 * spike**2
        # two forms of one function, each without cancellation at z -> 0
        bulk = sympy.Piecewise((-(outer + 2) / (outer * z), ratio > 1), (-2 / (outer + 2 * ratio), True))
        return {
            "n": bulk,
            "pp": -2 * ratio / outer,
            "yy": bulk * outer / shifted,
            "ym": -2 * spike / shifted,
            "mm": -2 * (spike**2 + ratio) / shifted,
        }[self.form]

    def uniformised(self, z: Any) -> Any:
        """2 sqrt(ratio)/u for the root u of sqrt(ratio) (u + 1/u) = z - 1 - ratio inside the unit circle."""
        shift = z - 1 - self.ratio
        inverse = 2 * sympy.sqrt(self.ratio) / shift
        return shift * (1 + sympy.sqrt((1 - inverse) * (1 + inverse)))

    def moment(self, power: int) -> Any:
        """The mean of s^power, a polynomial in ratio and spike."""
        ratio, spike = sympy.Dummy("ratio"), sympy.Dummy("spike")
        return _moment(self.form, power, ratio, spike).xreplace({ratio: self.ratio, spike: self.spike})

    def _latex(self, printer: Any) -> str:
        inside = ", ".join(printer._print(x) for x in self.args[: 1 if self.form in ("n", "pp") else 2])
        return rf"\mathrm{{MP}}_{{{self.form}}}\left({inside}\right)"


def _moment(form: str, power: int, ratio: Any, spike: Any) -> Any:
    """Coefficient extraction in the uniformising variable u: z = (1 + l u)(1 + l/u), l = sqrt(ratio).

    The moment is the residue at u = 0 of z^power R(z) dz/du, where R is a power series in u that
    starts with u; only its first ``power`` terms meet the pole.
    """
    u, root = sympy.Dummy("u"), sympy.sqrt(ratio)
    strength = spike**2 / root
    size = power + 2
    spiked = sum(((strength * u) ** k for k in range(size)), sympy.S.Zero)
    bulk = sum(((-root * u) ** k for k in range(size)), sympy.S.Zero)
    series = {
        "n": u / root * bulk,
        "pp": root * u,
        "yy": u / root * bulk * spiked,
        "ym": spike * u / root * spiked,
        "mm": (strength + root) * u * spiked,
    }[form]
    # minus the residue of z^power R dz/du, with R = -series and dz/du = root (1 - 1/u^2)
    body = sympy.expand((1 + root * u) ** power * (u + root) ** power * series * root * (u**2 - 1))
    return sympy.factor(-sympy.expand(body).coeff(u, power + 1))


class SpectralMean(Operator):
    """``SpectralMean(body, s, law)``: mean of body, rational in s, over a spectral law.

    The body must have no pole on the spectrum. Means over laws of one ratio are evaluated together and
    share the roots of their denominators. Derivatives pass inside, except those in letters of the law.

    >>> s, x = sympy.symbols("s x", positive=True)
    >>> SpectralMean(1 / (s + x), s, MarchenkoPastur(2)).free_symbols == {x}
    True
    """

    lowering = "spectral_mean"

    def __new__(cls, body: Any, variable: Any, law: Any) -> Any:
        """Means of constants are those constants times the mass of the law."""
        body = sympy.sympify(body, strict=True)
        if variable not in body.free_symbols:
            return body if body == 0 else body * law.moment(0)
        if not getattr(variable, "scope", "").startswith("bound:"):
            (variable,), (body,) = hygienic((variable,), body)
        return sympy.Expr.__new__(cls, body, variable, law)

    @property
    def body(self) -> Any:
        """The function averaged."""
        return self.args[0]

    @property
    def variable(self) -> Any:
        """The spectral variable."""
        return self.args[1]

    @property
    def law(self) -> Any:
        """The law averaged over."""
        return self.args[2]

    @property
    def bound(self) -> frozenset[Any]:
        """The spectral variable."""
        return frozenset({self.variable})

    def bundle_key(self) -> Hashable:
        """Means over laws of one ratio share poles and nodes, whatever their forms."""
        return (SpectralMean, self.variable, self.law.ratio)

    def partial(self, symbol: Any) -> Any:
        """Differentiate under the mean."""
        if symbol in self.law.free_symbols:
            raise TypeError(f"the law of a spectral mean depends on {symbol}, the letter of differentiation")
        return SpectralMean(self.body.diff(symbol), self.variable, self.law)

    def _latex(self, printer: Any) -> str:
        name = printer._print(self.variable)
        return rf"\int {printer._print(self.body)}\,\mathrm{{d}}{printer._print(self.law)}({name})"


@dataclass(frozen=True)
class Rational:
    """A body as polynomial plus numerator over powers of the bundle's denominators."""

    polynomial: tuple[Any, ...]
    numerator: Any
    powers: tuple[int, ...]


@dataclass(frozen=True)
class Bundle:
    """Spectral means over one ratio, taken apart for evaluation.

    ``bodies`` are distinct; ``members[i]`` gives the body and the form of mean i. Denominators keep
    the form their author wrote, in which they are evaluated without cancellation.
    """

    variable: Any
    ratio: Any
    spike: Any
    denominators: tuple[Any, ...]
    bodies: tuple[Rational, ...]
    members: tuple[tuple[int, str], ...]

    def highest_power(self, denominator: int) -> int:
        """Largest order of the poles at one denominator's roots."""
        return max((body.powers[denominator] for body in self.bodies), default=0)

    def regular_part(self, body: int, denominator: int) -> Any:
        """A body times one denominator's power: what is analytic at that denominator's roots."""
        parts = self.bodies[body]
        value = parts.numerator
        for k, (base, power) in enumerate(zip(self.denominators, parts.powers, strict=True)):
            if k != denominator and power:
                value = value / base**power
        return value

    def proper_part(self, body: int) -> Any:
        """A body without its polynomial."""
        parts = self.bodies[body]
        return parts.numerator / sympy.Mul(
            *(base**power for base, power in zip(self.denominators, parts.powers, strict=True))
        )

    def polynomial_mean(self, member: int) -> Any:
        """The mean of a member's polynomial, by moments."""
        body, form = self.members[member]
        law = MarchenkoPastur(self.ratio, self.spike, form)
        return sympy.Add(*(q * law.moment(j) for j, q in enumerate(self.bodies[body].polynomial) if q != 0))


@cache
def take_apart(means: tuple[Any, ...]) -> Bundle:
    """The common structure of a bundle of spectral means."""
    variable, ratio = means[0].variable, means[0].law.ratio
    spikes = {m.law.spike for m in means} - {sympy.S.Zero}
    if len(spikes) > 1:
        raise TypeError("spectral means of one ratio over laws with different spikes")
    bases: dict[Any, None] = {}
    for mean in means:
        for node in sympy.preorder_traversal(mean.body):
            if isinstance(node, sympy.Pow) and variable in node.base.free_symbols and node.exp.is_negative:
                bases.setdefault(_monic_free(node.base, variable))
    distinct = list(dict.fromkeys(m.body for m in means))
    denominators = tuple(bases)
    bodies = tuple(_rational(body, variable, denominators) for body in distinct)
    members = tuple((distinct.index(m.body), m.law.form) for m in means)
    return Bundle(variable, ratio, next(iter(spikes), sympy.S.Zero), denominators, bodies, members)


def _monic_free(base: Any, variable: Any) -> Any:
    """The part of a denominator that depends on the variable."""
    return base.as_independent(variable, as_Add=False)[1]


def _rational(body: Any, variable: Any, denominators: Sequence[Any]) -> Rational:
    """Write a body over the given denominators, its numerator factored."""
    inverses = [sympy.Dummy(f"inverse{k}") for k in range(len(denominators))]

    def swap(node: Any) -> Any:
        fixed, moving = node.base.as_independent(variable, as_Add=False)
        return fixed**node.exp * inverses[list(denominators).index(moving)] ** (-node.exp)

    flat = body.replace(
        lambda n: isinstance(n, sympy.Pow) and variable in n.base.free_symbols and bool(n.exp.is_negative), swap
    )
    if not inverses:
        terms: dict[tuple[int, ...], Any] = {(): flat}
        powers: tuple[int, ...] = ()
    else:
        terms = sympy.Poly(sympy.expand(flat, deep=False), *inverses).as_dict()
        powers = tuple(max(exponents[k] for exponents in terms) for k in range(len(inverses)))
    numerator = sympy.Add(
        *(
            coefficient * sympy.Mul(*(d ** (m - k) for d, m, k in zip(denominators, powers, exponents, strict=True)))
            for exponents, coefficient in terms.items()
        )
    )
    top = sympy.Poly(sympy.expand(numerator), variable)
    bottom = sympy.Poly(sympy.expand(sympy.Mul(*(d**m for d, m in zip(denominators, powers, strict=True)))), variable)
    quotient: tuple[Any, ...] = ()
    if top.degree() >= bottom.degree():
        whole, top = sympy.div(top.set_domain("EX"), bottom.set_domain("EX"))
        quotient = tuple(sympy.simplify(c) for c in reversed(whole.all_coeffs()))
        top = sympy.Poly(sympy.simplify(top.as_expr()), variable)
    return Rational(quotient, sympy.factor(top.as_expr()), powers)
