"""Expressions of one letter from text: a fixed grammar, exact numbers, bounded work, nothing evaluated."""

import time

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from theorem_engine.base.exact import NotANumber
from theorem_engine.base.expression import MAX_DEGREE, read_expression
from theorem_engine.language.written_functions import NAMES, activation_parts, function_of

X = sympy.Symbol("x", real=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x**3 - 3*x", X**3 - 3 * X),
        ("x^3-3*x", X**3 - 3 * X),
        ("-x^2", -(X**2)),
        ("2^-x", 2**-X),
        ("2**3**2*x", 2**9 * X),
        ("x/2/3", X / 6),
        ("1 - 2 - x", -1 - X),
        ("--x", X),
        ("0.1*x + .5 + 5.", X / 10 + sympy.Rational(11, 2)),
        ("1e-3*x", X / 1000),
        ("tanh(2*x)", sympy.tanh(2 * X)),
        ("max(0, x)", sympy.Max(0, X)),
        ("Max(0, x) + Abs(x)", sympy.Max(0, X) + sympy.Abs(X)),
        ("exp(-x^2)", sympy.exp(-(X**2))),
        ("sqrt(2)*sin(pi*x)", sympy.sqrt(2) * sympy.sin(sympy.pi * X)),
        ("x**(1/3)", X ** sympy.Rational(1, 3)),
        ("(1+x)*(1-x)", (1 + X) * (1 - X)),
        ("relu(x)", sympy.Max(0, X)),
    ],
)
def test_expressions_mean_what_they_look_like(text, expected):
    assert function_of(text) == expected


@pytest.mark.parametrize("value", [-1.3, 0.0, 0.7])
def test_functions_have_the_values_of_their_names(value):
    import math

    for text, expected in (
        ("sigmoid(x)", 1 / (1 + math.exp(-value))), ("softplus(x)", math.log1p(math.exp(value))),
        ("erf(x)", math.erf(value)), ("normal_cdf(x)", 0.5 * math.erfc(-value / math.sqrt(2))),
        ("atan(x)", math.atan(value)),
    ):  # fmt: skip
        found = function_of(text).subs(X, sympy.Float(value))
        found = found.replace(lambda node: hasattr(node, "definition"), lambda node: node.definition())
        assert float(found.evalf()) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected"),
        ("2*3", "no letter"),
        ("x + y", "two letters, x and y"),
        ("2x", "a product is written"),
        ("x x", "a product is written"),
        ("sin x", "without an argument"),
        ("sin()", "expected"),
        ("sin(x, x)", "takes 1"),
        ("max(x)", "takes 2 to 3"),
        ("foo(x)", "calls 'foo'"),
        ("x +", "expected"),
        ("(x", "expected"),
        ("x)", "cannot be read"),
        ("x ** ", "expected"),
        ("x/0", "divides by zero"),
        ("0^-1*x", "divides by zero"),
        ("x.real", "'.real'"),
        ("x[0]", "no expression is made of"),
        ("x if x else x", "cannot be read|two letters"),
        ("lambda: x", "no expression is made of"),
        ("__import__('os').system('true')", "calls|no expression is made of"),
        ("x;x", "no expression is made of"),
        ("9**9**9**9*x", "beyond"),
        ("10**400*x", "beyond"),
        ("x**41", "beyond 40"),
        ("((x^30+1)^30+1)^30", "degree above"),
        ("x" + "*x" * MAX_DEGREE, "degree above"),
        ("(" * 30 + "x" + ")" * 30, "inside each other"),
        ("x^" * 30 + "x", "inside each other"),
        ("+".join(["x"] * 100), "more than 160"),
        ("x+" * 300 + "x", "longer than 400"),
        ("tan(pi/2) + x", "infinite"),
        ("log(0)*x", "infinite"),
        ("a" * 30, "a letter of 30"),
    ],
)
def test_what_the_grammar_does_not_know_is_refused(text, says):
    with pytest.raises(NotANumber, match=says):
        function_of(text)


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("x123.*+-/^(),eabspinmqrt _[]{}'\"\\;:"), max_size=40))
def test_any_text_is_an_expression_or_refused_at_once(text):
    begin = time.process_time()
    try:
        found = function_of(text)
    except NotANumber:
        pass
    else:
        assert len(found.free_symbols) == 1
    assert time.process_time() - begin < 5


def test_text_and_its_own_print_are_the_same_expression():
    """What a page shows can be given again."""
    for text in ("x**3 - 3*x/7", "max(0, x) + abs(x)/2", "tanh(2*x)*exp(-x**2)", "softplus(x)", "sigmoid(x)"):
        assert function_of(str(function_of(text))) == function_of(text)


@pytest.mark.parametrize("text", ["x²", "1 + x³", "tanh(x₂)", "x½", "exp(x①)", "__import__", "_"])
def test_raised_digits_and_hidden_names_are_no_letters(text):
    """x² is not a letter of its own: whoever writes it means a square."""
    with pytest.raises(NotANumber, match="no letter"):
        function_of(text)


def test_functions_are_those_of_the_table_only():
    with pytest.raises(NotANumber, match="calls 'sin'"):
        read_expression("sin(x)", {})
    assert set(NAMES) >= {"exp", "tanh", "max", "erf"}


def test_activations_say_how_they_are_meant():
    assert activation_parts("normalised(1+x^2, extra=1/2)") == ("Normalised", 1 + X**2, "1/2")
    with pytest.raises(NotANumber, match="does not say how it is meant"):
        activation_parts("exp(x)")
