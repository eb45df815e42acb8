"""Sums over infinite spectra against zeta functions and closed forms."""

import pytest
import sympy
from mpmath import mp

from theorem_engine import SpectrumSum
from theorem_engine.backends import get_backend
from theorem_engine.base.errors import DeclarationError
from theorem_engine.base.reports import listening
from theorem_engine.planning.plan import Operate

i, k, a = sympy.symbols("i k a", positive=True)


def summed(body, backend, **values):
    """The sum by one backend, at numbers for its letters."""
    node = SpectrumSum(body, over=i)
    letters = tuple(sorted(node.free_symbols, key=str))
    make = float if backend == "float64" else mp.mpf
    run = get_backend(backend).operate(Operate((node,), ((None,),), letters))
    return run(*[make(values[x.name]) for x in letters])[0]


@pytest.mark.parametrize("power", ["1.05", "1.2", "1.5", "2", "3.7", "12"])
def test_sums_of_powers_are_zeta(power):
    with listening() as notes:
        found = summed(i ** (-a), "float64", a=power)
    error = sum(n.error for n in notes if n.error is not None)
    truth = float(mp.zeta(mp.mpf(power)))
    assert abs(found - truth) <= error
    assert error <= 1e-11 * truth


@pytest.mark.parametrize("kappa", ["1e-12", "1e-4", "0.3", "50", "1e8"])
def test_sums_of_smoothed_steps_are_hyperbolic(kappa):
    """Also where the step lies far beyond the terms that are added one by one."""
    truth = (mp.pi / mp.sqrt(kappa) * mp.coth(mp.pi / mp.sqrt(kappa)) - 1) / 2
    assert summed(1 / (1 + k * i**2), "float64", k=kappa) == pytest.approx(float(truth), rel=1e-13)


def test_many_digits_are_right():
    with mp.workdps(30):
        kappa = mp.mpf("0.013")
        truth = (mp.pi / mp.sqrt(kappa) * mp.coth(mp.pi / mp.sqrt(kappa)) - 1) / 2
        assert abs(summed(1 / (1 + k * i**2), "multiprecision", k=kappa) - truth) < mp.mpf(10) ** -28 * truth
        assert abs(summed(i ** (-a), "multiprecision", a=mp.mpf("1.5")) - mp.zeta(1.5)) < mp.mpf(10) ** -28


def test_the_derivative_is_taken_term_by_term():
    node = SpectrumSum(1 / (1 + k * i**2), over=i)
    assert node.diff(k).body == sympy.diff(1 / (1 + k * node.index**2), k)
    assert node.diff(a) == 0


def test_a_sum_of_equal_terms_is_refused():
    with pytest.raises(DeclarationError, match="infinite"):
        SpectrumSum(1 / k, over=i)
