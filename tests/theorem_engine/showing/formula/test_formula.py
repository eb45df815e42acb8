"""Trees of signs: what is written reads back as the same mathematics, in lines that fit."""

import random
import re

import pytest
import sympy
from sympy.parsing.sympy_parser import (
    convert_xor,
    implicit_multiplication,
    parse_expr,
    standard_transformations,
)

import theorem_engine as te
from theorem_engine.showing.formula import operators  # noqa: F401 - registers how operators are written
from theorem_engine.showing.formula.abbreviations import LONGEST, Abbreviations
from theorem_engine.showing.formula.lines import latex, mathml, plain, text_lines
from theorem_engine.showing.formula.names import read_name
from theorem_engine.showing.formula.tree import Tree, sign
from theorem_engine.showing.formula.writing import Pen

x, y, z = sympy.symbols("x y z", positive=True)
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def read_back(text):
    """Text of elementary expressions as SymPy reads it."""
    plain_text, power = "", False
    for letter in text:
        is_raised = letter in "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
        plain_text += ("^" if is_raised and not power else "") + letter.translate(RAISED)
        power = is_raised
    for old, new in (("−", "-"), ("·", "*"), ("√", " sqrt "), ("e^", "E^"), ("π", "pi")):
        plain_text = plain_text.replace(old, new)
    # a root without brackets is that of the one letter or number behind it
    plain_text = re.sub(r"sqrt ([a-z0-9]+)", r"sqrt(\1)", plain_text).replace("sqrt (", "sqrt(")
    # what stands before a slash is all of its product, as in 2 x/y
    transformations = (*standard_transformations, implicit_multiplication, convert_xor)
    return parse_expr(plain_text, {"x": x, "y": y, "z": z}, transformations)


def random_expression(rng, depth):
    if depth == 0:
        return rng.choice([x, y, z, sympy.Integer(rng.randint(1, 4))])
    kind = rng.choice(["sum", "difference", "product", "ratio", "power", "root", "exp", "erf"])
    a, b = (random_expression(rng, depth - 1) for _ in range(2))
    return {
        "sum": lambda: a + b, "difference": lambda: a - b, "product": lambda: a * b, "ratio": lambda: a / (1 + b**2),
        "power": lambda: a ** rng.randint(2, 3), "root": lambda: sympy.sqrt(1 + a**2), "exp": lambda: sympy.exp(-a),
        "erf": lambda: sympy.erf(a),
    }[kind]()  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_text_reads_back_as_the_same_expression(seed):
    rng = random.Random(seed)
    expression = random_expression(rng, 3)
    text = plain(Pen().write(expression))
    back = read_back(text)
    at = {x: sympy.Rational(7, 10), y: sympy.Rational(13, 10), z: sympy.Rational(1, 2)}
    difference = sympy.N(expression.subs(at) - back.subs(at), 30)
    assert abs(difference) <= 1e-20 * (1 + abs(sympy.N(expression.subs(at), 30))), (text, expression)


@pytest.mark.parametrize("seed", range(20))
def test_lines_hold_the_whole_text_and_fit(seed):
    tree = Pen().write(sum(random_expression(random.Random(100 * seed + k), 3) ** 2 for k in range(6)))
    lines = text_lines(tree, 60, 50)
    assert "".join("".join(lines).split()) == "".join(plain(tree).split())
    assert len(lines[0]) <= 60
    assert all(len(line) <= 50 for line in lines[1:])


@pytest.mark.parametrize("seed", range(20))
def test_abbreviations_put_back_give_the_tree(seed):
    rng = random.Random(seed)
    part = random_expression(rng, 3)
    tree = Pen().write(sympy.Add(*(sympy.sin(k * x) * (part + k) ** k for k in range(2, 30)), evaluate=False))
    names = Abbreviations(sign("h"))
    names.survey([tree])
    short = names.shortened(tree)
    meant = dict(names.definitions)

    def opened(node):
        node = meant.get(node, node)
        return "".join(map(opened, node.parts)) if node.parts else plain(node)

    def whole(node):
        return "".join(map(whole, node.parts)) if node.parts else plain(node)

    assert all(right.width <= LONGEST for right in meant.values())
    assert short.width < tree.width or not meant
    # brackets around what has become a name are the printer's: signs inside are compared
    assert opened(short).replace("·", "").replace(" ", "") == whole(tree).replace("·", "").replace(" ", "")


@pytest.mark.parametrize(
    ("name", "text"),
    [(r"\hat m_{kk}", "m̂_kk"), (r"\mathcal{E}_{\mathrm{Bayes}}", "ℰ_Bayes"), (r"|\mu|^2", "|μ|²"), ("a_1", "a₁"),
     (r"r_k^\star", "r_k⋆"), (r"w_K^\top w_Q", "w_K⊤ w_Q"), (r"\overline{1/L}", "⟨1/L⟩"), ("1-q_k", "1 − q_k")],
)  # fmt: skip
def test_names_of_letters_are_read(name, text):
    assert plain(read_name(name)) == text


a, b = sympy.symbols("a b", real=True)


@pytest.mark.parametrize(
    ("node", "text", "form"),
    [
        (te.GaussianMean(sympy.erf(a * b), a), "E_a[erf(a b)]", r"\mathbf{E}_{a}[\operatorname{erf}(a\,b)]"),
        (te.Minimum(a**2 + b, {a: (0, 1)}), "min_a {a² + b}", r"\min_{a}\,\{a^{2}+b\}"),
        (te.Minimum(a**2 + b, {a: (0, 1)}).at(a), "argmin_a {a² + b}", r"\operatorname{argmin}_{a}\,\{a^{2}+b\}"),
        (te.Root(a**2 - b, a, 0, 3), "min{a : a² − b = 0}", r"\min \{a:a^{2}-b=0\}"),
        (te.Total(a * b, a), "d a b/da", None),
        (sympy.Piecewise((a, a < b), (b, True)), "{a if a < b; b otherwise}", None),
        (te.OwenT(a, b) ** 2, "T(a, b)²", None),
        (te.SpectralMean(1 / (1 + a), a, te.MarchenkoPastur(2)), "∫ 1/(1 + a) dμ₂(a)", None),
    ],
)  # fmt: skip
def test_operators_are_written_as_a_theorist_writes_them(node, text, form):
    tree = Pen().write(node)
    if isinstance(node, te.Total):
        assert plain(tree) in (text, "d(a b)/da", "d (a b)/da")
    else:
        assert plain(tree) == text
    assert form is None or latex(tree).replace(" ", "") == form.replace(" ", "")
    assert mathml(tree).startswith("<mrow>")


def test_a_mean_over_tokens_names_the_hidden_one_and_says_what_the_weights_are():
    L, s, w, t = sympy.symbols("L s w t", positive=True)
    pen = Pen()
    node = te.Tokens(L, (t,), {w: (s * t, s * t + 1)}).mean(hidden=1, each=(w,))
    assert plain(pen.write(node)) == "E[Σ_(j ≠ ε) w_j]"
    (aside,) = pen.asides.values()
    shown = [f"{plain(left)} = {plain(right)}" for left, right in aside.equations]
    assert shown == ["w_ℓ = K_ℓ/(Σ_m K_m)", "K_ℓ = {e^(t_ℓ s) if ℓ ≠ ε; e^(1 + t_ε s) if ℓ = ε}"]


class Odd(sympy.Expr):
    """A node that nobody registered, with a LaTeX form of its own."""

    def _latex(self, printer):
        return rf"\operatorname{{odd}}\left({printer._print(self.args[0])}\right)"


def test_a_node_of_a_pack_is_written_through_its_own_latex():
    tree = Pen().write(Odd(a + b))
    assert "odd" in plain(tree)
    assert "a + b" in plain(tree)


w = sympy.Symbol("w", real=True)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (sympy.sqrt(2) * sympy.erf(x) / (2 * y), "erf(x)/(√2 y)"),
        (sympy.sqrt(2 / sympy.pi) * sympy.exp(-x), "√(2/π) e^(−x)"),
        (sympy.sqrt(2 * x) / 2, "√(x/2)"),
        (x / sympy.sqrt(2 * sympy.pi), "x/√(2 π)"),
        (-sympy.sqrt(2) * x / 4, "−x/(2 √2)"),
        (sympy.sqrt(x) * sympy.sqrt(1 / (1 - w)), "√(x/(1 − w))"),
        (sympy.sqrt(w) * sympy.sqrt(b), "√w √b"),
        (sympy.sqrt(x) / sympy.sqrt(y), "√x/√y"),
        (sympy.Rational(2000000000001, 10**12) * x, "2.000000000001 x"),
        (sympy.Rational(3, 10**24) * x + sympy.Rational(1, 10**6), "10⁻⁶ + 3·10⁻²⁴ x"),
        (sympy.sqrt(te.positive_part(x - y)), "√((x − y)₊)"),
    ],
)
def test_roots_and_decimals_are_written_as_by_hand(expression, text):
    """Roots are joined only where that holds for every sign of the letters."""
    assert plain(Pen().write(expression)) == text


def test_a_line_does_not_end_between_a_number_and_its_factor_nor_inside_an_integral():
    body = sympy.Integral(8 * y**2 / ((1 + 2 * x * y) * (1 + 4 * x * y) ** 3), (y, 0, 1))
    for width in range(24, 60):
        lines = text_lines(Pen().write(x**3 * z * body), width, width)
        assert not any(line.endswith(("8", "∫₀¹")) or line.startswith("dy") for line in lines), (width, lines)


def test_trees_that_read_alike_are_equal():
    assert Pen().write(a + b) == Pen().write(b + a)
    assert isinstance(Pen().write(a), Tree)
