"""Functions of balls, real (arb) and complex (acb), under the names that generated code uses.

A real ball that is wide is mapped by its ends where the function is monotone: the centred form of the library would
lose the sign of the result. A complex ball is the argument of an integrand: where the integrator asks whether the
integrand is analytic on it, functions with a cut answer with a ball that is not finite.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from flint import acb, arb, fmpq, fmpz

from theorem_engine.backends.balls.claims import Unproved, claim
from theorem_engine.base.errors import NotAvailable
from theorem_engine.base.held import held

#: What is not proved where a root is taken of a number that may be zero.
ROOT = "provided that the statement takes no root of a negative number: one of them is enclosed around zero"
#: Radius above which a real ball is mapped by its ends.
WIDE, NARROW_BITS = arb(2) ** -12, 12


class _Integrator:
    """Whether the integrator at work asks for analyticity; one evaluation runs at a time in a process."""

    asks_analytic = False


def asking_analytic(asks: bool) -> AbstractContextManager[None]:
    """Functions of complex balls in this block answer as the integrator asks."""
    return held(_Integrator, "asks_analytic", asks)


def asks_analytic() -> bool:
    """Whether the integrator asks for analyticity at present."""
    return _Integrator.asks_analytic


def ball(x: Any) -> Any:
    """Any number of generated code as a ball of the current precision."""
    return x if isinstance(x, (arb, acb)) else arb(x)


def is_whole(x: Any) -> bool:
    """Whether a number is a whole one exactly."""
    if isinstance(x, (int, fmpz)):
        return True
    if isinstance(x, fmpq):
        return bool(x.q == 1)
    return isinstance(x, arb) and bool(x.is_exact()) and bool(x.is_integer())


def as_whole(x: Any) -> int:
    """A number that is a whole one exactly, as such."""
    if not is_whole(x):
        raise Unproved("a number that must be whole is known as a ball only")
    whole: Any = x.unique_fmpz() if isinstance(x, arb) else x.p if isinstance(x, fmpq) else x
    return int(whole)


def hull(low: Any, high: Any) -> Any:
    """The interval between two numbers."""
    return ball(low).union(ball(high))


def _monotone(name: str, sign: int = 1) -> Callable[[Any], Any]:
    def apply(x: Any) -> Any:
        x = ball(x)
        plain: Callable[[Any], Any] = getattr(type(x), name)
        if isinstance(x, acb) or not x.rad() > WIDE:
            return plain(x)
        return hull(plain(x.lower()), plain(x.upper()))

    return apply


def _direct(name: str) -> Callable[[Any], Any]:
    return lambda x: getattr(ball(x), name)()


exp, erf, erfc, tanh, sinh, expm1 = (_monotone(name) for name in ("exp", "erf", "erfc", "tanh", "sinh", "expm1"))
sin, cos, tan, cot = (_direct(name) for name in ("sin", "cos", "tan", "cot"))


def nowhere() -> Any:
    """The complex ball that says nothing."""
    return acb(arb.nan(), arb.nan())


def cosh(x: Any) -> Any:
    """Even, and increasing from zero on."""
    x = ball(x)
    if isinstance(x, acb) or not x.rad() > WIDE:
        return x.cosh()
    return hull(x.abs_lower().cosh(), x.abs_upper().cosh())


def sech(x: Any) -> Any:
    """One over cosh."""
    return 1 / cosh(x)


def sqrt(x: Any) -> Any:
    """The root; of a real ball that reaches below zero, that of the part where it is defined.

    That the number is not negative is then taken from the statement, whose root it is, and is said to be so.
    """
    x = ball(x)
    if isinstance(x, acb):
        return x.sqrt(analytic=_Integrator.asks_analytic)
    if x > 0:
        return hull(x.lower().sqrt(), x.upper().sqrt()) if x.rad() > WIDE * abs(x) else x.sqrt()
    if x == 0:
        return arb(0)
    if x < 0 or x.is_nan():
        return arb.nan()
    if x.lower() < 0:
        claim("enclosed", ROOT)
    return hull(0, x.upper().sqrt())


def log(x: Any) -> Any:
    """The logarithm; minus infinity at zero itself."""
    x = ball(x)
    if isinstance(x, acb):
        return x.log(analytic=_Integrator.asks_analytic)
    if x == 0:
        return arb.neg_inf()
    return hull(x.lower().log(), x.upper().log()) if x > 0 and x.rad() > WIDE * x else x.log()


def log1p(x: Any) -> Any:
    """log(1 + x)."""
    x = ball(x)
    return log(1 + x) if isinstance(x, acb) else x.log1p()


def _off_imaginary_cut(x: Any) -> bool:
    return bool(not x.real.contains(0) or abs(x.imag) < 1)


def atan(x: Any) -> Any:
    """The arctangent, with cuts on the imaginary axis beyond i and -i."""
    x = ball(x)
    if isinstance(x, acb):
        return nowhere() if _Integrator.asks_analytic and not _off_imaginary_cut(x) else x.atan()
    return hull(x.lower().atan(), x.upper().atan()) if x.rad() > WIDE else x.atan()


def asinh(x: Any) -> Any:
    """The inverse of sinh, with the cuts of the arctangent."""
    x = ball(x)
    if isinstance(x, acb) and _Integrator.asks_analytic and not _off_imaginary_cut(x):
        return nowhere()
    return x.asinh()


def _real_only(name: str) -> Callable[[Any], Any]:
    def apply(x: Any) -> Any:
        x = ball(x)
        if isinstance(x, acb):
            raise NotAvailable(f"no ball code for {name} of the variable of an integral")
        return getattr(x, name)()

    return apply


asin, acos, atanh, lgamma = (_real_only(name) for name in ("asin", "acos", "atanh", "lgamma"))


def lambertw(x: Any, branch: Any = 0) -> Any:
    """Lambert's function of a real ball."""
    x = ball(x)
    if isinstance(x, acb):
        raise NotAvailable("no ball code for LambertW of the variable of an integral")
    return x.lambertw(as_whole(branch))


def power(base: Any, exponent: Any) -> Any:
    """A power: by multiplication for whole exponents, by roots for halves, else by the logarithm."""
    if is_whole(exponent):
        return whole_power(base, as_whole(exponent))
    if is_whole(2 * exponent):
        return whole_power(sqrt(base), as_whole(2 * exponent))
    base = ball(base)
    if isinstance(base, acb):
        return base.pow(ball(exponent), analytic=_Integrator.asks_analytic)
    if base == 0 and exponent > 0:
        return arb(0)
    if base > 0:
        return exp(exponent * log(base))
    # the base reaches zero: from there to its largest value, if the exponent keeps its sign
    return hull(0, exp(exponent * base.upper().log())) if exponent > 0 and base.upper() > 0 else arb.nan()


def whole_power(base: Any, n: int) -> Any:
    """A whole power; even ones of wide real balls are not negative."""
    base = ball(base)
    if isinstance(base, arb) and base.rel_accuracy_bits() < NARROW_BITS:
        if n < 0:
            return 1 / whole_power(base, -n)
        if n % 2 == 0:
            return hull(base.abs_lower() ** n, base.abs_upper() ** n)
        return hull(base.lower() ** n, base.upper() ** n)
    return base**n


def absolute(x: Any) -> Any:
    """The absolute value of a real number."""
    x = ball(x)
    return x.real_abs(analytic=_Integrator.asks_analytic) if isinstance(x, acb) else abs(x)


def sign(x: Any) -> Any:
    """Minus one, zero or one."""
    x = ball(x)
    return x.real_sgn(analytic=_Integrator.asks_analytic) if isinstance(x, acb) else x.sgn()


def heaviside(x: Any, middle: Any = None) -> Any:
    """Zero below and one above zero."""
    return (1 + sign(x)) / 2


def largest(first: Any, *rest: Any) -> Any:
    """The maximum of real numbers."""
    first = ball(first)
    for other in map(ball, rest):
        if isinstance(first, acb) or isinstance(other, acb):
            first = acb(first).real_max(acb(other), analytic=_Integrator.asks_analytic)
        else:
            first = first.max(other)
    return first


def smallest(first: Any, *rest: Any) -> Any:
    """The minimum of real numbers."""
    return -largest(*(-ball(x) for x in (first, *rest)))


def positive_part(x: Any) -> Any:
    """The larger of a number and zero."""
    return largest(x, 0)


def floor(x: Any) -> Any:
    """The whole number below."""
    x = ball(x)
    return x.real_floor(analytic=_Integrator.asks_analytic) if isinstance(x, acb) else x.floor()


def erfcx(x: Any) -> Any:
    """exp(x^2) erfc(x), decreasing."""
    x = ball(x)
    if isinstance(x, arb) and x.rad() > WIDE:
        return hull(erfcx(x.lower()), erfcx(x.upper()))
    return (x * x).exp() * x.erfc()


def normal_pdf(x: Any) -> Any:
    """Density of the standard normal law."""
    return exp(-power(x, 2) / 2) / (2 * arb.pi()).sqrt()


def normal_cdf(x: Any) -> Any:
    """Distribution function of the standard normal law, accurate in the left tail."""
    return erfc(-ball(x) / arb(2).sqrt()) / 2


def mills(x: Any) -> Any:
    """Mills' ratio."""
    return (arb.pi() / 2).sqrt() * erfcx(ball(x) / arb(2).sqrt())


def softplus(x: Any) -> Any:
    """log(1 + exp(x)) without loss on either side."""
    x = ball(x)
    if isinstance(x, acb):
        if x.real > 30:
            return x + log(1 + (-x).exp())
        return log(1 + x.exp())
    if x.rad() > WIDE:
        return hull(softplus(x.lower()), softplus(x.upper()))
    return x + (-x).exp().log1p() if x > 0 else x.exp().log1p()


def log_softplus(x: Any) -> Any:
    """The logarithm of softplus."""
    return log(softplus(x))


# Truth values are True, False, or None where the balls do not tell. A condition on the variable of an integral is one
# on its real part: where that is told for a whole complex ball, one branch holds on all of the line inside it.


def _line(x: Any) -> Any:
    x = ball(x)
    return x.real if isinstance(x, acb) else x


def less(a: Any, b: Any) -> bool | None:
    """a < b."""
    a, b = _line(a), _line(b)
    return True if a < b else False if a >= b else None


def less_or_equal(a: Any, b: Any) -> bool | None:
    """a <= b."""
    a, b = _line(a), _line(b)
    return True if a <= b else False if a > b else None


def equal(a: Any, b: Any) -> bool | None:
    """Whether two numbers are one: told for exact ones, and for balls apart from each other."""
    a, b = ball(a), ball(b)
    if isinstance(a, acb) or isinstance(b, acb):
        a, b = acb(a), acb(b)
    if not a.overlaps(b):
        return False
    return True if a.is_exact() and b.is_exact() else None


def both(*parts: bool | None) -> bool | None:
    """Conjunction."""
    return False if any(p is False for p in parts) else None if any(p is None for p in parts) else True


def either(*parts: bool | None) -> bool | None:
    """Disjunction."""
    return negated(both(*(negated(p) for p in parts)))


def negated(part: bool | None) -> bool | None:
    """Negation."""
    return None if part is None else not part


def choose(*pairs: tuple[Any, bool | None]) -> Any:
    """The value of the first pair whose condition holds; the hull of all that may be meant where it is not told."""
    possible = []
    for value, condition in pairs:
        if condition is False:
            continue
        possible.append(value)
        if condition is True:
            break
    else:
        raise Unproved("it is not told which case of a definition holds")
    if len(possible) == 1:
        return possible[0]
    if any(isinstance(v, (bool, type(None))) for v in possible):
        return possible[0] if all(v is possible[0] for v in possible) else None
    if _Integrator.asks_analytic and any(isinstance(v, acb) for v in possible):
        return nowhere()
    first = ball(possible[0])
    for value in possible[1:]:
        other = ball(value)
        is_complex = isinstance(first, acb) or isinstance(other, acb)
        first = acb(first).union(acb(other)) if is_complex else first.union(other)
    return first
