"""Kernels that a user writes: only known functions pass, and no name of a user is ever run."""

import pytest
import sympy
from mpmath import mpf

import theorem_engine as te
from theorem_engine.backends import get_backend
from theorem_engine.backends.base import straight_line
from theorem_engine.base.errors import BadNumber, MissingDefinition, NotAvailable
from theorem_engine.language.activation import FUNCTIONS

CHI = sympy.Symbol("chi", real=True)


def crafted(path):
    """A name that writes a file if a backend prints and runs it."""
    return f"(lambda v: __import__('pathlib').Path({str(path)!r}).write_text('run') * 0 + v)"


@pytest.mark.parametrize("make", [te.ElementWise, te.Normalised], ids=["element-wise", "normalised"])
def test_a_crafted_function_name_is_refused_and_not_run(make, tmp_path):
    """The name of an undefined function would stand in generated code as it is."""
    trap = tmp_path / "trap"
    function = sympy.Function(crafted(trap))
    for kernel in (function(CHI), sympy.exp(CHI) + function(CHI) ** 2, sympy.Piecewise((function(CHI), CHI > 0))):
        with pytest.raises(BadNumber, match="no backend evaluates"):
            te.predict("duranthon2026.manifold-risk", task="max", nu=1, L=2, activation=make(kernel), m_kk=1, m_vv=1)
    assert not trap.exists()


def test_a_crafted_letter_is_a_letter_like_any_other(tmp_path):
    """The only letter of a kernel is renamed, whatever it is called."""
    trap = tmp_path / "trap"
    letter = sympy.Symbol(crafted(trap))
    point = {"task": "max", "nu": 1, "L": 2, "m_kk": 1, "m_vv": 1}
    mine = te.predict("duranthon2026.manifold-risk", activation=te.ElementWise(1 + sympy.erf(letter)), **point)
    named = te.predict("duranthon2026.manifold-risk", activation="erf", **point)
    assert float(mine) == pytest.approx(float(named), abs=1e-13)
    assert not trap.exists()


@pytest.mark.parametrize("name", ["float64", "multiprecision", "rounded"])
def test_no_backend_prints_the_name_of_an_undefined_function(name, tmp_path):
    """The guard stands in every backend, for expressions that come by another way."""
    trap = tmp_path / "trap"
    call = sympy.Function(crafted(trap))(CHI)
    with pytest.raises(NotAvailable, match="no definition"):
        get_backend(name).function([CHI], [call])(1.0)
    assert not trap.exists()


def test_letters_that_are_not_given_never_reach_the_code():
    """A letter without a definition is named in an error, not in code."""
    with pytest.raises(MissingDefinition, match="neither given nor defined"):
        straight_line([CHI], [(sympy.Symbol("a"), CHI + sympy.Symbol("stranger"))], [sympy.Symbol("a")])


@pytest.mark.parametrize(
    "kernel",
    [
        sympy.Integral(sympy.exp(CHI * sympy.Symbol("t")), (sympy.Symbol("t"), 0, 1)),
        sympy.Sum(CHI ** sympy.Symbol("n"), (sympy.Symbol("n"), 0, 3)),
        sympy.Subs(sympy.exp(sympy.Symbol("t")), sympy.Symbol("t"), CHI),
        sympy.Derivative(sympy.Function("f")(CHI), CHI),
        sympy.besselj(0, CHI),
        sympy.floor(CHI),
        sympy.DiracDelta(CHI),
        te.GaussianMean(sympy.exp(CHI * sympy.Symbol("t")), sympy.Symbol("t")),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_nodes_that_are_no_elementary_functions_are_refused(kernel):
    """A kernel is a formula of listed functions; containers and unknown functions are not."""
    with pytest.raises(BadNumber, match=r"no backend evaluates|one letter"):
        te.ElementWise(kernel)


def test_every_listed_function_is_evaluated_by_every_backend():
    """What passes the list must have a value in all backends: float64 against mpmath."""
    for function in FUNCTIONS:
        arguments = (CHI, sympy.Rational(1, 3)) if function.__name__ in ("OwenT", "Max", "Min") else (CHI,)
        call = function(*((CHI + 1, *arguments[1:]) if function is sympy.acosh else arguments))
        for body in (call, call.diff(CHI)):
            quick = get_backend("float64").function([CHI], [body])(0.4)[0]
            sharp = get_backend("multiprecision").function([CHI], [body])(mpf("0.4"))
            assert float(quick) == pytest.approx(float(sharp[0]), rel=1e-13), function
