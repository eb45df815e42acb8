"""Means over competing tokens as sums over two tables: one Laplace integral of products of Gaussian brackets.

With 1/Z^k as an integral of exp(k u - Z exp(u)) over u, and v = exp(u) h(x) for a kernel h, a mean over L tokens is

    E = sum of c / Gamma(k) * integral of [hidden] * [each]... * B^(rest) du,

    [p, f] = E v^p exp(-v) f(x),  B = E exp(-v).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import sympy

from theorem_engine.base.errors import NotAvailable
from theorem_engine.language.functions import expm1, log1p
from theorem_engine.language.operators.token_layout import make_layout
from theorem_engine.language.operators.token_mean import Hardmax, TokenMean
from theorem_engine.showing.export.tables import NODES, NodeSum

#: Where kernels are looked at for the ends of u: tokens further out count for less than 1e-22.
FURTHEST = 10
#: Below, what is left of the integral is exp(-40) of it; above, exp(-exp(4)).
BELOW, ABOVE = 40, 4
#: From here on exp(-v) is zero to any power in use, and v must not overflow.
LARGEST = sympy.Integer(7)


def token_sum(mean: TokenMean) -> Any:
    """The mean as an expression in sums over tables; NotAvailable where it takes more than one Laplace integral."""
    if len(mean.letters) > 1:
        raise NotAvailable("TokenMean of two competing weights has no form in stand-alone code")
    if mean.kernels[0].has(Hardmax):
        raise NotAvailable("TokenMean of an argmax has no form in stand-alone code")
    if mean.breaks or mean.kernels[0].has(-sympy.oo):
        raise NotAvailable("TokenMean of a kernel with a kink has no form in stand-alone code")
    layout = make_layout((mean,))
    (x,) = mean.normals
    kernels = mean.kernels[0]
    low, high = _ends(mean, kernels, x)
    place = NODES["decaying"]
    u = low + (high - low) * place
    others = mean.length - int(mean.has_hidden)

    def bracket(side: int, power: int, factor: Any) -> Any:
        v = sympy.exp(sympy.Min(u + kernels[side], LARGEST))
        return _normal_mean(v**power * sympy.exp(-v) * factor, x)

    gone = -_normal_mean(expm1(-sympy.exp(sympy.Min(u + kernels[0], LARGEST))), x)
    # a product with the power zero of nothing is one
    log_left = log1p(-sympy.Min(gone, 1 - sympy.Rational(1, 2**53)))
    unclaimed = mean.extra * sympy.exp(sympy.Min(u, LARGEST))
    total = sympy.S.Zero
    for at, which in layout.sums[0]:
        product = layout.products[which]
        count = len(product.each)
        choices = sympy.Mul(*(others - k for k in range(count)))
        parts = [bracket(0, *_read(layout.brackets[0][i])) for i in product.each]
        if product.hidden is not None:
            parts.append(bracket(1, *_read(layout.brackets[1][product.hidden])))
        parts += [sympy.exp((others - count) * log_left), unclaimed**product.nobody * sympy.exp(-unclaimed)]
        scale = layout.coefficients[at] * choices / math.factorial(product.powers[0] - 1)
        total += scale * (high - low) * NodeSum(sympy.Mul(*parts), place, "decaying")
    return total


def _read(bracket: tuple[tuple[int, ...], Any]) -> tuple[int, Any]:
    (power,), factor = bracket
    return power, factor


def _normal_mean(body: Any, x: Any) -> Any:
    return NodeSum(body.xreplace({x: NODES["normal"]}), NODES["normal"], "normal")


def _ends(mean: TokenMean, kernels: Sequence[Any], x: Any) -> tuple[Any, Any]:
    """Ends of u: kernels are monotone, so that they are largest and smallest where tokens are furthest out."""
    sides = kernels if mean.has_hidden else kernels[:1]
    logs = [kernel.xreplace({x: sympy.Integer(end)}) for kernel in sides for end in (-FURTHEST, FURTHEST)]
    return -sympy.Max(*logs) - BELOW - sympy.log(mean.length), -sympy.Min(*logs) + ABOVE
