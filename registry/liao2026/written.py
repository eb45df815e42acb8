"""The paper's nonlinearities as expressions, with the places where they bend.

Moments have closed forms of their own (``moments.py``); what needs f itself, at other arguments than a standard normal
one, takes it from here.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sympy import Dummy, Max, Min, Rational, cos, exp, log, sign, sin, sqrt, tanh

from theorem_engine import GaussianMean, Root
from theorem_engine.base.errors import OutOfDomain
from theorem_engine.language.domains import Rejected
from theorem_engine.language.gaussian_data import kinks
from theorem_engine.registry.liao2026.notation import T

t = Dummy("t", real=True)


@dataclass(frozen=True)
class Written:
    """A function of ``t``, not centred, and where it bends or jumps."""

    body: Any
    bends: tuple[Any, ...] = ()

    def mean(self, weight, normal, centre=0, width=1):
        """E[weight f(centre + width xi)] over a standard normal ``normal`` = xi; the width is not zero."""
        breaks = tuple((bend - centre) / width for bend in self.bends)
        return GaussianMean(weight * self.at(centre + width * normal), normal, breaks=breaks)

    def at(self, argument):
        """The function at an argument."""
        return _at(self.body, argument)


@lru_cache(256)
def _at(body, argument):
    # one mean of a function follows another at the same argument, and a maximum takes long to make
    return body.xreplace({t: argument})


def _cubic(level, r):
    q = sqrt((1 - r) * (1 + r))
    linear, cubic = r - 3 * q / sqrt(6), q / sqrt(6)
    edge = Root(linear * T + cubic * T**3 - level, T, 0, level + 3)
    return Written(Max(-level, Min(level, linear * t + cubic * t**3)), (-edge, edge))


TABLE = {
    "tanh": lambda level, r: Written(tanh(t)),
    "clip": lambda level, r: Written(Max(-level, Min(level, t)), (-level, level)),
    "cos": lambda level, r: Written(cos(t)),
    "sin": lambda level, r: Written(sin(t)),
    "exp-clip": lambda level, r: Written(exp(Min(t, log(level))), (log(level),)),
    "cubic-clip": _cubic,
    "sign": lambda level, r: Written(sign(t), (0,)),
    "relu": lambda level, r: Written(Max(0, t), (0,)),
    "softmax": lambda level, r: Written(exp(t - Rational(1, 2))),
    "linear": lambda level, r: Written(t),
}


def written(nonlinearity, level=None, r=None):
    """A named nonlinearity, or an expression of the user's own, as a function of ``t``."""
    if isinstance(nonlinearity, str):
        return TABLE[nonlinearity](level, r)
    (letter,) = nonlinearity.free_symbols
    body = nonlinearity.xreplace({letter: t})
    try:
        return Written(body, tuple(sorted(set(kinks(body, t)), key=float)))
    except Rejected as problem:
        raise OutOfDomain(f"nonlinearity {nonlinearity}: {problem}") from None
