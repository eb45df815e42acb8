"""The Gaussian mean of the square of a token mean at a held score, enclosed: everything on one lattice.

Let D(v) = int du k_1(u + v) b(u), b a positive product of brackets: the mean weight of a token whose log kernel is held
at v. For |Im v| <= y, |D(v + iy)| <= D(v + log cos y)/cos y <= D(v)/cos y, since a weight rises with its own kernel. So
the trapezoid sum of E D(s x)^2 over v = s x in hZ has the relative error
2 exp(y^2/(2 s^2))/((exp(2 pi y/h) - 1) cos^2 y), and D(v) itself is a lattice sum as all token means are.
"""

from __future__ import annotations

import math
from typing import Any

import sympy
from flint import arb, arb_poly, ctx

from theorem_engine.backends.balls.claims import Unproved
from theorem_engine.backends.balls.functions import ball
from theorem_engine.backends.balls.lattice import Brackets, Effort, Token, step_ball
from theorem_engine.backends.balls.length_mean import exact_lengths
from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.language.operators.token_mean import TokenMean

#: Half width of the strip in v and in u.
STRIP = 1.5


def is_square_of_held(body: Any, x: Any) -> bool:
    """Whether a body is the square of a sum of mean weights of a token whose kernel is exp(s x)."""
    if not (isinstance(body, sympy.Pow) and body.exp == 2):
        return False
    terms = sympy.Add.make_args(body.base)
    return all(_is_held(term, x) for term in terms) and len({t.args[:4] for t in terms}) == 1


def _is_held(term: Any, x: Any) -> bool:
    if not isinstance(term, TokenMean) or len(term.kernels) != 1 or not term.has_hidden or term.extra != 0:
        return False
    ordinary, hidden = (sympy.expand(k) for k in term.kernels[0])
    (y,) = term.normals
    factors = term.factors
    return (
        x not in ordinary.free_symbols
        and ordinary.is_polynomial(y)
        and sympy.degree(ordinary, y) == 1
        and ordinary.coeff(y, 0) == 0
        and sympy.expand(hidden - hidden.coeff(x, 1) * x) == 0
        and hidden.coeff(x, 1) == ordinary.coeff(y, 1)
        and factors[0][1] == term.letters[0]
        and all(f == 1 for _, f in factors[1:])
        and not term.breaks
        and not term.nobody
    )


def lower_held(body: Any, x: Any, parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """The mean over x of the square."""
    terms = sympy.Add.make_args(body.base)
    counts = [len(t.factors) - 1 for t in terms]
    hidden = sympy.expand(terms[0].kernels[0][1])
    slope = backend.function(parameters, [hidden.coeff(x, 1)])
    length = backend.function(parameters, [terms[0].length])

    def evaluate(*values: Any) -> Any:
        lengths = exact_lengths(length(*values)[0])
        longest = max(n for n, _ in lengths)
        # how many choices of further tokens each term sums over; a bracket of power zero is one token more
        choices = [(n, w * sum(math.perm(n - 1, count) for count in counts)) for n, w in lengths]
        with ctx.extraprec(60 + int(3 * math.log2(longest))):
            return _mean(abs(ball(slope(*values)[0])), choices, longest)

    return evaluate


def _mean(s: Any, choices: list[tuple[int, Any]], longest: int) -> Any:
    """E D(s x)^2 with D(v) the sum over lengths of choices times int du k_1(u + v) B(u)^(n-1)."""
    digits = math.log(2) * (ctx.prec - 80 - 3 * math.log2(longest)) + 4
    size = float(s.mid())
    need = digits + 2 * math.log(longest) + 8
    step = min(2 * math.pi * STRIP / (need + STRIP**2 / (2 * size**2)), size * math.sqrt(2 * math.pi**2 / need))
    step = math.floor(4096 * max(step, 2 * math.pi * STRIP / (4 * need))) / 4096
    decay = digits + 2 * math.log(longest)
    reach = math.sqrt(2 * (decay + 4))
    widest = math.ceil(size * reach / step)
    low = -size * reach - decay
    high = size * reach + math.log(decay + 5)
    effort = Effort(step, math.floor(low / step), math.ceil(high / step), STRIP, reach, decay + 5)
    h = step_ball(effort)
    survival = Brackets(Token(arb(0), s), [], effort)[0, 0]
    others = []
    for b in survival:
        total = arb(0)
        for n, weight in choices:
            total += weight * (b ** (n - 1) if n < 64 or not b > 0 else ((n - 1) * b.log()).exp())
        others.append(total)
    most = sum((weight for _, weight in choices), arb(0))
    y = arb(STRIP)
    rate = (2 * arb.pi() * y / h).exp() - 1
    outer = 2 / (y.cos() * rate)
    # the strip of v: the width at which the bound is least
    inner_y = arb(min(STRIP, 2 * math.pi * size**2 / step))
    inner = 2 * (inner_y**2 / (2 * s * s)).exp() / (((2 * arb.pi() * inner_y / h).exp() - 1) * inner_y.cos() ** 2)
    if not (outer < 1 and inner < 1):
        raise Unproved("token mean: the step of the lattice is too coarse")
    first, last = effort.first, effort.last
    # far to the right k_1 has exponents that are huge numbers themselves; it is below its value where it is cut
    cut_at = math.ceil(math.log(20 * decay + 1000) / step)
    smallest = arb(0).union(_kernel(cut_at * h).upper())
    kernel = arb_poly([_kernel(k * h) if k <= cut_at else smallest for k in range(first - widest, last + widest + 1)])
    sums = (kernel * arb_poly(others[::-1])).coeffs()
    total = arb(0)
    unit = h / (s * (2 * arb.pi()).sqrt())
    for i in range(-widest, widest + 1):
        # the sum over u of k_1(u + v) b(u), one coefficient of the product
        here = sums[i + widest + last - first]
        # left of the sum k_1 <= e^v sums to e^h (1 - T), right of it to e^h T
        left = h.exp() * ((first + i) * h).exp() * most
        right = h.exp() * (-(min(last + i, cut_at) * h).exp()).exp() * others[-1]
        value = (here * h + arb(0).union((left + right).upper())) / (1 + arb(0, outer.upper()))
        total += unit * (-((i * h / s) ** 2) / 2).exp() * value**2
    # beyond the last place D is at most the number of choices
    cut = ((widest * h / s / arb(2).sqrt()).erfc() * most**2).upper()
    return (total + arb(0).union(cut)) / (1 + arb(0, inner.upper()))


def _kernel(v: Any) -> Any:
    return (v - v.exp()).exp()
