"""Where a body may change fast: the arguments of its functions, and the places where these pass through zero.

A quadrature rule sees a body at its nodes only. A step of width 1/1000 can be found by halving; a peak of that width
between two nodes cannot, and a rule that missed it would call itself settled. So the formula is asked first:
erf(m x + c) changes around -c/m, over 1/m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from numpy.typing import NDArray

from theorem_engine.language.operators.base import Operator, is_operator
from theorem_engine.language.operators.gaussian_mean import Blurred, GaussianMean
from theorem_engine.language.operators.token_mean import LengthMean, TokenMean

if TYPE_CHECKING:
    from theorem_engine.backends.base import Backend

Array = NDArray[np.float64]
#: A power has a pole at distance 1 of its base's zero, and so have these; erf and tanh have none, or a farther one.
POLE = 1.6
NEAR = (
    sympy.log, sympy.atan, sympy.acot, sympy.asin, sympy.acos, sympy.asinh, sympy.acosh, sympy.atanh, sympy.LambertW,
)  # fmt: skip
#: These are singular where their argument vanishes, be it at a complex place beside the line.
AT_ZERO = (sympy.log, sympy.LambertW)
#: Places at which an argument that is not affine is looked at.
LOOKS = np.linspace(-38.5, 38.5, 2465)
_BISECTIONS = 60


@dataclass(frozen=True)
class Place:
    """A value of the variable, and the distance over which the body changes there; an infinite one at a kink.

    Both may be arrays over points.
    """

    at: Any
    scale: Any


@dataclass(frozen=True)
class Argument:
    """What stands inside a function of the body."""

    expression: Any
    sharpness: float = 1.0
    is_switch: bool = False
    #: Whether the function is singular where this vanishes: the base of a root, of an inverse, of a logarithm.
    is_base: bool = False


def arguments_inside(body: Any, variable: Any, waves: bool = True) -> list[Argument]:
    """The arguments, depending on a variable, of all functions, powers, branches and kernels of a body.

    Those of sine and cosine are left out where ``waves`` is false: a rule that knows their frequency follows them.

    >>> x = sympy.Symbol("x", real=True)
    >>> [a.expression for a in arguments_inside(x * sympy.erf(3 * x + 1), x)]
    [3*x + 1]
    """
    found: dict[Argument, None] = {}

    def add(expression: Any, sharpness: float = 1.0, is_switch: bool = False, is_base: bool = False) -> None:
        if variable in expression.free_symbols:
            found.setdefault(Argument(expression, sharpness, is_switch, is_base))

    def visit(node: Any) -> None:
        if variable not in node.free_symbols:
            return
        if isinstance(node, TokenMean):
            swap = dict.fromkeys(node.bound, sympy.S.Zero)
            for kernel in {k for pair in node.kernels for k in pair}:
                add(kernel.xreplace(swap))
                visit(kernel.xreplace(swap))
            for _, factor in node.factors:
                visit(factor.xreplace(swap))
        elif isinstance(node, (GaussianMean, Blurred, LengthMean)):
            # the mean blurs what happens at the middle of the law, or leaves it where it is
            middle = sympy.Integer(2) if isinstance(node, LengthMean) else sympy.S.Zero
            visit(node.body.xreplace(dict.fromkeys(node.bound, middle)))
        elif is_operator(node) and not isinstance(node, Operator):
            visit(node.args[0].xreplace({limit[0]: (limit[1] + limit[2]) / 2 for limit in node.limits}))
        elif isinstance(node, Operator):
            return
        elif isinstance(node, sympy.core.relational.Relational):
            add(node.lhs - node.rhs, is_switch=True)
        elif isinstance(node, (sympy.Abs, sympy.sign, sympy.Heaviside)):
            add(node.args[0], is_switch=True)
            visit(node.args[0])
        elif isinstance(node, (sympy.Max, sympy.Min)):
            for i, first in enumerate(node.args):
                for second in node.args[:i]:
                    add(first - second, is_switch=True)
                visit(first)
        else:
            if isinstance(node, sympy.Pow):
                if variable in node.exp.free_symbols:
                    add(node.exp)
                elif not (node.exp.is_Integer and node.exp > 0):
                    add(node.base, POLE, is_base=True)
            elif isinstance(node, (sympy.sin, sympy.cos)) and not waves:
                pass
            elif isinstance(node, sympy.Function) and not isinstance(node, sympy.Piecewise):
                for argument in node.args:
                    add(argument, POLE if isinstance(node, NEAR) else 1.0, is_base=isinstance(node, AT_ZERO))
            for part in node.args:
                visit(part)

    visit(body)
    return list(found)


class SharpPlaces:
    """The places of some bodies as numbers, for one backend."""

    def __init__(
        self, bodies: list[Any], variable: Any, parameters: tuple[Any, ...], backend: Backend, waves: bool = True
    ) -> None:
        listed = list(dict.fromkeys(a for body in bodies for a in arguments_inside(body, variable, waves)))
        self.has_switches = any(a.is_switch for a in listed)
        #: No function at all: a polynomial.
        self.is_empty = not listed
        self.affine, self.bent = [], []
        for argument in listed:
            rate = argument.expression.diff(variable)
            if variable in rate.free_symbols and not (
                _is_open(argument.expression, variable) or _is_wave(argument.expression, variable)
            ):
                # whatever is sharp here is so inside the functions it is made of; a wave passes zero where it is not
                continue
            if variable in rate.free_symbols:
                wanted = [argument.expression, rate, _without_jumps(rate.diff(variable))]
                self.bent.append((argument, backend.function([variable, *parameters], wanted)))
            else:
                start = argument.expression.xreplace({variable: sympy.S.Zero})
                self.affine.append((argument, backend.function(parameters, [rate, start])))

    def __call__(self, *values: Any) -> list[Place]:
        """The places at these values, arrays where values are."""
        places = []
        with np.errstate(all="ignore"):
            for argument, line in self.affine:
                rate, start = (_as_float(v) for v in line(*values))
                places.append(_place(argument, -start / rate, 1 / np.abs(rate)))
            for argument, function in self.bent:
                places += _along(argument, function, values)
        return [p for p in places if np.any(np.isfinite(p.at))]


def _is_open(expression: Any, variable: Any) -> bool:
    """Whether the variable stands outside all functions somewhere."""
    if expression == variable:
        return True
    if isinstance(expression, sympy.Function) or is_operator(expression):
        return False
    return any(_is_open(part, variable) for part in expression.args)


def _is_wave(expression: Any, variable: Any) -> bool:
    """Whether the expression contains a sine or a cosine of the variable."""
    return any(variable in wave.free_symbols for wave in expression.atoms(sympy.sin, sympy.cos))


def _without_jumps(expression: Any) -> Any:
    """A derivative beside the places where it is a jump's."""
    return expression.replace(sympy.DiracDelta, lambda *_: sympy.S.Zero)


def _as_float(value: Any) -> Any:
    return np.asarray(value, dtype=float)[()] if np.ndim(value) else np.float64(value)


def _place(argument: Argument, at: Any, scale: Any) -> Place:
    """Where nothing is found, nothing is sharp."""
    lost = ~np.isfinite(at)
    wide = np.where(lost | argument.is_switch, np.inf, scale / argument.sharpness)
    return Place(np.where(lost, np.nan, at)[()], wide[()])


def _along(argument: Argument, function: Any, values: tuple[Any, ...]) -> list[Place]:
    """Zeros of an argument, and of its rate, by a look along the line."""
    shape = np.broadcast_shapes(*(np.shape(v) for v in values)) if values else ()
    if shape:
        flat = [np.broadcast_to(np.asarray(v, dtype=object), shape).ravel() for v in values]
        return [p for i in range(flat[0].size) for p in _along(argument, function, tuple(v[i] for v in flat))]

    def at(x: float) -> list[float]:
        try:
            return [float(v) for v in function(x, *values)]
        except (ArithmeticError, ValueError, TypeError):
            return [float("nan")] * 3

    table = (
        np.array([at(float(x)) for x in LOOKS]) if not _is_vectorised(function, values) else _table(function, values)
    )
    places = []
    for k in (0, 1):
        column = table[:, k]
        for i in np.flatnonzero(np.sign(column[:-1]) * np.sign(column[1:]) < 0):
            low, high, sign = float(LOOKS[i]), float(LOOKS[i + 1]), np.sign(column[i])
            for _ in range(_BISECTIONS):
                middle = (low + high) / 2
                low, high = (middle, high) if np.sign(at(middle)[k]) == sign else (low, middle)
            places.append(_place(argument, np.float64(low), _scale(argument, at(low), k)))
        # a stretch of zeros is an underflow
        zeros = column == 0
        zeros[1:-1] &= ~(zeros[:-2] | zeros[2:])
        for i in np.flatnonzero(zeros):
            places.append(_place(argument, LOOKS[i], _scale(argument, table[i], k)))
    return places


def _scale(argument: Argument, values: Any, k: int) -> float:
    """Over how much a function changes where its argument (k = 0) or the argument's rate (k = 1) vanishes."""
    value, size = abs(values[0]), abs(values[k + 1])
    if not size > 0:
        return float("inf")
    if k == 0:
        return float(1 / size)
    # t^2 + 1/100 vanishes a tenth beside the line, whatever its curvature
    return float(min(size**-0.5, (2 * value / size) ** 0.5 if argument.is_base and value else np.inf))


def _is_vectorised(function: Any, values: tuple[Any, ...]) -> bool:
    try:
        return np.shape(function(LOOKS[:2], *values)[0]) == (2,)
    except (ArithmeticError, ValueError, TypeError):
        return False


def _table(function: Any, values: tuple[Any, ...]) -> Array:
    return np.stack(
        [np.broadcast_to(np.asarray(v, dtype=float), LOOKS.shape) for v in function(LOOKS, *values)], axis=1
    )


def amplification(places: list[Place], x: Array) -> Array:
    """By how much a body amplifies the relative rounding of x: a peak of width 1/1000 at 1 sees a thousandfold."""
    total = np.zeros(x.shape)
    for place in places:
        if np.isfinite(place.at) and np.isfinite(place.scale):
            total = np.maximum(total, np.abs(x) / np.maximum(place.scale, np.abs(x - place.at)))
    return total


def finest(places: list[Place], reach: float) -> float:
    """The smallest distance over which anything within reach changes."""
    scale = np.inf
    for place in places:
        # a step is felt some widths away from its place
        near = np.abs(place.at) <= reach + 40 * np.minimum(place.scale, 1.0)
        if np.any(near):
            scale = min(scale, float(np.min(np.where(near, place.scale, np.inf))))
    return scale
