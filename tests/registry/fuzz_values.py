"""Hostile values for letters, as Python source: what is printed in a report can be typed again.

A value is source text so that a query survives a process boundary and its report unchanged; `evaluate` reads it in a
namespace of the few names used here.
"""

import decimal
import fractions
import math

import mpmath
import numpy as np
import sympy

from theorem_engine import ElementWise, Normalised
from theorem_engine.language.activation import Activation
from theorem_engine.language.domains import Choice, ComplexPlane, Expression, Integers, Interval
from theorem_engine.language.lengths import Lengths

NAMES = {
    "inf": math.inf, "nan": math.nan, "np": np, "sympy": sympy, "mpf": mpmath.mpf, "Decimal": decimal.Decimal,
    "Fraction": fractions.Fraction, "ElementWise": ElementWise, "Normalised": Normalised, "t": sympy.Symbol("t"),
}  # fmt: skip

#: The lines a reader needs before a reported call.
PREAMBLE = (
    "import numpy as np, sympy, theorem_engine as te; from decimal import Decimal; from fractions import Fraction; "
    "from math import inf, nan; from mpmath import mpf; from theorem_engine import ElementWise, Normalised; "
    "t = sympy.Symbol('t')"
)

#: Numbers that are real, and hard.
EXTREME = (
    "0", "0.0", "-0.0", "1", "-1", "1e-300", "-1e-300", "1e-200", "1e-100", "1e-30", "1e-16", "1e-12", "1e-8", "1e-3",
    "0.5", "2", "7", "50", "100", "1e3", "1e4", "1e6", "1e8", "1e12", "1e15", "1e16", "1e30", "1e100", "1e154", "1e200",
    "1e300", "-1e300", "-1e8", "-50", "-1e-8", "-0.5", "inf", "-inf", "0.9999999999999999", "1.0000000000000002",
    "5e-324", "1.7976931348623157e308", "'1e-300'", "'1e300'", "'sqrt(2)'", "'1/3'", "'inf'", "'-1e-299'",
    "Decimal('1e-300')", "Decimal('0.3')", "Decimal('1e300')", "Fraction(1, 3)", "Fraction(10**40 + 1, 10**40)",
    "sympy.Rational(1, 3)", "sympy.pi", "sympy.sqrt(2)", "sympy.pi / 10**20", "sympy.Float('0.25')", "mpf('0.1')",
    "mpf('1e250')", "np.float64(0.1)", "np.float32(1e30)", "np.int64(3)", "10**9", "10**18", "10**30", "10**300",
)  # fmt: skip

#: Objects that are no number of any domain, or only seem to be one.
FOREIGN = (
    "nan", "-nan", "float('nan')", "None", "True", "False", "''", "'text'", "'nan'", "' '", "'1e999999999'", "'1/0'",
    "'sqrt(-1)'", "'0x10'", "'1_000'", "'__import__(\"os\")'", "'\\u2028'", "'9' * 5000", "b'1'", "[]", "[1.0, 2.0]",
    "(1,)", "{}", "{1: 2}", "set()", "object()", "print", "range(3)", "1j", "complex(1, 0)", "complex(nan, 0)",
    "np.array([0.1, 0.2])", "np.array(0.5)", "np.array([])", "np.nan", "np.inf", "np.float64('nan')", "np.bool_(True)",
    "np.datetime64('2026-01-01')", "np.complex128(1)", "np.array('x')", "10**400", "-10**400", "10**5000",
    "Decimal('NaN')", "Decimal('sNaN')", "Decimal('Infinity')", "Decimal('1e-400')", "Decimal('1e999999')",
    "Fraction(1, 10**400)", "Fraction(10**400, 1)", "sympy.oo", "-sympy.oo", "sympy.nan", "sympy.zoo", "sympy.I", "t",
    "sympy.Symbol('nu')", "sympy.S.true", "sympy.Matrix([1, 2])", "sympy.Float('nan')", "sympy.Integer(10)**400",
    "sympy.exp(10000)", "sympy.exp(-10000)", "sympy.sqrt(-2)", "sympy.Interval(0, 1)", "sympy.zeta(3)", "mpf('nan')",
    "mpf('inf')", "mpf('1e-1000')", "mpf('1e1000')", "np.float32(0.1)", "np.longdouble('1e-4000')",
    "np.longdouble('1e4000')", "np.ma.masked", "type",
)  # fmt: skip

LENGTHS = (
    "1", "2", "3", "17", "10**3", "10**6", "10**12", "10**12 + 1", "0", "'uniform(1,3)'", "'uniform(2,2)'",
    "'uniform(1,40)'", "'uniform(3,1)'", "'uniform(1,99999)'", "'uniform(1,10**6)'", "'uniform(0,2)'", "'uniform(1)'",
    "'uniform(1,2'", "'uniform(1,inf)'", "{1: 0.5, 3: 0.5}", "{2: 0.5, 3: '1/2'}", "{2: 0.3, 5: 0.7}", "{1: 1}",
    "{1: 1e-300, 2: 1.0}", "{2: 0.5, 10**12: 0.5}", "{100: 0.5, 10000: 0.5}", "{1: -1, 2: 2}", "{1: nan, 2: 1}",
    "{1: inf}", "{1: 0.3}", "{0: 1}", "{1.5: 1}", "{'2': 1}", "{2: None}", "{None: 1}", "{2: 0.5, 2.0: 0.5}",
    "{2: Decimal('0.5'), 3: Fraction(1, 2)}", "{2: sympy.sqrt(2) / 2, 3: 1 - sympy.sqrt(2) / 2}",
)  # fmt: skip

ACTIVATIONS = (
    "ElementWise(t)", "ElementWise(1 - t)", "ElementWise(-t)", "ElementWise(t**2)", "ElementWise(t**3)",
    "ElementWise(sympy.exp(t))", "ElementWise(1 + sympy.tanh(50 * t))", "ElementWise(sympy.erf(50 * t))",
    "ElementWise(1 / (1 + sympy.exp(-50 * t)))", "ElementWise(sympy.Heaviside(t), breaks=(0,))",
    "ElementWise(sympy.Max(0, t), breaks=(0,))", "ElementWise(sympy.Abs(t), breaks=(0,))", "ElementWise(1 / t)",
    "ElementWise(sympy.log(t))", "ElementWise(sympy.sqrt(t))", "ElementWise(sympy.exp(t**2))",
    "ElementWise(10**200 * t)", "ElementWise(t / 10**200)", "ElementWise(sympy.sin(100 * t))",
    "ElementWise(sympy.Function('f')(t))", "ElementWise(sympy.zeta(t))", "ElementWise(sympy.I * t)",
    "ElementWise(sympy.gamma(t))", "Normalised(sympy.exp(50 * t))", "Normalised(sympy.exp(t), extra=1)",
    "Normalised(sympy.exp(t), extra=10**200)", "Normalised(sympy.exp(sympy.exp(t)))", "Normalised(1 + sympy.exp(t))",
    "Normalised(2 + sympy.tanh(t))", "Normalised(sympy.exp(t**3))", "Normalised(sympy.log(1 + sympy.exp(t)))", "t",
    "sympy.exp(t)", "ElementWise",
)  # fmt: skip

NONLINEARITIES = (
    "t", "t**2", "t**3", "t**40", "t - t**3 / 3", "sympy.tanh(50 * t)", "sympy.erf(50 * t)", "sympy.tanh(t / 10**6)",
    "sympy.Heaviside(t)", "sympy.sign(t)", "sympy.Abs(t)", "sympy.Max(0, t)", "sympy.exp(t)", "sympy.exp(t**2)",
    "sympy.exp(t**2 / 4)", "sympy.exp(-t**2)", "1 / t", "sympy.log(t)", "sympy.log(t**2)", "sympy.sqrt(t)",
    "sympy.cos(100 * t)", "sympy.Function('f')(t)", "sympy.I * t", "sympy.zeta(t)", "10**200 * t", "t / 10**200",
    "t * sympy.Symbol('s')", "sympy.Float('0.5') * t", "t + sympy.oo", "sympy.Integer(3)", "ElementWise(t)",
    "sympy.Piecewise((t, t > 0), (0, True))",
)  # fmt: skip

DIGITS = ("15", "20", "30", "1", "2", "50", "0", "-1", "1001", "10**30", "'30'", "2.5", "True", "nan", "[30]", "None")

#: Complex numbers, on and off the real line.
COMPLEX = (
    "1j",
    "1e-12j",
    "-1e-300j",
    "1e300j",
    "'1/2+3j'",
    "'1+j'",
    "complex(0, inf)",
    "complex(2, 1e-9)",
    "2",
    "0.25",
)


def evaluate(source):
    """The value a source text stands for."""
    return eval(source, dict(NAMES))  # the texts are those of this file


def ends(domain):
    """Both ends of a domain, their neighbours on both sides, and what lies just beyond."""
    if isinstance(domain, Integers):
        high = ("10**6", "10**9", "10**18") if domain.high is None else tuple(str(domain.high + k) for k in (-1, 0, 1))
        return (*(str(domain.low + k) for k in (-1, 0, 1, 2)), *high)
    if isinstance(domain, Interval):
        word = (repr(domain.word),) if getattr(domain, "word", "") else ()
        return (*_near(float(domain.low), 1), *_near(float(domain.high), -1), *word)
    return ()


def _near(end, inward):
    """An end, points just inside it, and its neighbour outside."""
    if math.isinf(end):
        sign = "-" if end < 0 else ""
        return tuple(sign + text for text in ("inf", "1e300", "1e150", "1e16", "1e6"))
    inside = [end + inward * step for step in (1e-300, 1e-16, 1e-12, 1e-6)] + [math.nextafter(end, inward * math.inf)]
    within = [x for x in dict.fromkeys(inside) if x == 0 or abs(x) >= 1e-300]
    return (repr(end), *(repr(x) for x in within), repr(end - inward * 1e-12))


def special(letter):
    """Values made for the domain of one letter: its ends, or the choices and objects it takes."""
    domain = letter.domain
    if isinstance(domain, Activation):
        return (*map(repr, domain.names), *ACTIVATIONS)
    if isinstance(domain, Expression):
        return (*map(repr, domain.names), *NONLINEARITIES)
    if isinstance(domain, Choice):
        return (*map(repr, domain.names), repr(domain.names[0].upper()), repr(domain.names[0] + " "))
    if isinstance(domain, Lengths):
        return LENGTHS
    if isinstance(domain, ComplexPlane):
        return COMPLEX
    if isinstance(domain, Interval | Integers):
        return ends(domain)
    return ("'no such file'", "'.'", "'/dev/null'", "''", "'a.npz#1.2'", "'a.safetensors#0.99'", "'\\x00.npz'")
