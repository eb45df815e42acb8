"""Numbers that carry their error, and the operators that make errors of their own."""

import itertools
import math
import operator
from fractions import Fraction

import numpy as np
import pytest
import sympy
from mpmath import mp
from scipy import special

import theorem_engine as te
from theorem_engine import Eigenvalues, Minimum, Root
from theorem_engine.backends import get_backend
from theorem_engine.backends.rounded import reported
from theorem_engine.backends.rounded.number import Rounded
from theorem_engine.base.reports import Note

x, y, a = sympy.symbols("x y a", real=True)


def _rounded(letters, expressions, *values):
    backend = get_backend("rounded")
    return backend.function(letters, expressions)(*[backend.number(v) for v in values])


def test_a_letter_is_off_by_what_its_double_leaves():
    """One tenth is not a double: the distance is known exactly, by fractions."""
    found = get_backend("rounded").number(Fraction(1, 10))
    assert found.error == pytest.approx(float(abs(Fraction(0.1) - Fraction(1, 10))), rel=1e-2)
    assert get_backend("rounded").number(Fraction(3, 4)).error == 0


def test_sums_know_what_they_round_away():
    """2^53 + 1 is no double; 1 + 2 is."""
    assert (Rounded(2.0**53) + Rounded(1.0)).error == 1
    assert (Rounded(1.0) + Rounded(2.0)).error == 0


@pytest.mark.parametrize("place", [5.0, 12.0, 20.0, 26.0])
def test_the_tail_of_erfc_is_as_good_as_claimed(place):
    """Against mpmath: the exponential of a rounded square loses digits with the square."""
    found = special.erfc(Rounded(place))
    with mp.workdps(30):
        distance = float(abs(mp.erfc(place) - mp.mpf(float(found.value))))
    assert distance <= found.error <= 1e-12 * found.value


def test_an_underflow_is_no_exact_zero_and_an_overflow_no_exact_infinity():
    assert 0 < np.exp(Rounded(-800.0)).error < 1e-300
    assert (Rounded(1e300) * Rounded(1e300)).error == math.inf
    assert (Rounded(math.inf) * Rounded(2.0, 1e-10)).error == 0


def test_what_is_made_of_an_overflow_is_no_exact_infinity_either():
    too_large = Rounded(1e300) * Rounded(1e300)
    assert (too_large * Rounded(1e300)).error == math.inf
    assert (too_large + Rounded(1.0)).error == math.inf
    assert (Rounded(math.inf) + too_large).error == 0


def test_a_function_that_chooses_between_two_forms_carries_errors():
    """log(softplus), against mpmath on both sides of the place where its form changes."""
    function = get_backend("float64").function([x], [te.log_softplus(x)])
    places = np.array([-300.0, -37.5, -36.5, -2.0, 3.0, 60.0])
    found = function(Rounded(places))[0]
    with mp.workdps(30):
        exact = [mp.log(mp.log1p(mp.exp(mp.mpf(float(u))))) for u in places]
        distances = np.array([float(abs(e - float(v))) for e, v in zip(exact, found.value, strict=True)])
    assert np.all(distances <= found.error + 1e-16 * np.abs(found.value))
    assert np.all(found.error <= 1e-12)


def test_a_parameter_of_which_nothing_is_known_leaves_nothing_known():
    """And is not tried at infinity, where the quadrature has no end."""
    weights = te.Tokens(2, (y,), {a: x * y})
    mean = weights.mean(each=(a * sympy.erf(x * y),))
    backend = get_backend("rounded")
    found = backend.function([x], [mean])(Rounded(0.5, math.inf))[0]
    assert np.isfinite(found.value)
    assert found.error == math.inf


def test_arrays_carry_an_error_for_each_place_through_functions_and_choices():
    """A square is off by twice its root's error, place by place; a choice takes the error of what it chose."""
    numbers = Rounded(np.array([1.0, 2.0]), np.array([1e-6, 1e-7]))
    assert (numbers * numbers).error == pytest.approx([2e-6, 4e-7], rel=1e-5)
    chosen = np.where(np.array([True, False]), numbers, 0.0)
    assert chosen.error.tolist() == [1e-6, 0.0]


def test_what_is_outside_the_domain_on_both_sides_is_unknown():
    assert np.sqrt(Rounded(0.0, 1e-12)).error == pytest.approx(1e-6)
    assert np.arccos(Rounded(2.0, 1e-3)).error == math.inf


def test_reports_of_an_operator_add_up_and_silence_is_infinite():
    assert reported([Note("rule", [1e-3, 2e-3]), Note("other", 1e-3)], 2) == pytest.approx([2e-3, 3e-3])
    assert reported([Note("rule", math.nan)], 1) == [math.inf]
    assert reported([Note("rule", None)], 1) == [math.inf]
    assert reported([], 1) == [math.inf]


def test_a_flat_root_is_known_as_well_as_its_noise_and_slope_allow():
    """(x - 1)^3 written out has noise 1e-15: its root is uncertain by the cube root of that, not by rounding."""
    cubic = x**3 - 3 * x**2 + 3 * x - 1
    (found,) = _rounded([a], [Root(cubic + 0 * a, x, sympy.Rational(1, 10), 10)], 1)
    assert abs(found.value - 1) <= found.error
    assert 1e-7 < found.error < 1e-3


def test_the_error_of_a_root_follows_the_errors_of_its_parameters():
    """x^2 = a: the root moves by da/(2 sqrt(a))."""
    backend = get_backend("rounded")
    root = backend.function([a], [Root(x**2 - a, x, sympy.Rational(1, 10), 10)])
    (found,) = root(Rounded(2.0, 1e-6))
    assert found.error == pytest.approx(1e-6 / (2 * math.sqrt(2)), rel=0.2)


def test_no_root_is_certain_only_beyond_the_noise():
    """x^2 + 1 has none; x^2 + 1e-30 - 1 + 1 might."""
    (none,) = _rounded([a], [Root(x**2 + a, x, -1, 1)], 1)
    assert (none.value, none.error) == (math.inf, 0)
    (unsure,) = get_backend("rounded").function([a], [Root(x**2 + a, x, -1, 1)])(Rounded(1e-3, 1e-2))
    assert unsure.error == math.inf


def test_a_minimiser_is_worse_known_than_its_minimum():
    """1 + (x^2 - 2)^2: the slope's noise over the curvature, against sqrt(2)."""
    body = 1 + (x**2 - 2) ** 2 + 0 * a
    minimum = Minimum(body, over={x: (sympy.Rational(1, 10), 10)})
    value, place = _rounded([a], [minimum, minimum.at(x)], 1)
    assert abs(place.value - math.sqrt(2)) <= place.error < 1e-14
    assert abs(value.value - 1) <= value.error < 1e-14


def test_several_minimisers_have_errors_that_cover_them():
    """A tilted bowl with its bottom at (1, 2); the search by descent stops some way off."""
    body = (x - 1) ** 2 + (x - 1) * (y - 2) + 3 * (y - 2) ** 2 + 5
    minimum = Minimum(body, over={x: (-4, 4), y: (-4, 4)})
    value, first, second = _rounded([a], [minimum + 0 * a, minimum.at(x), minimum.at(y)], 1)
    assert abs(value.value - 5) <= value.error < 1e-12
    assert abs(first.value - 1) <= first.error < 1e-4
    assert abs(second.value - 2) <= second.error < 1e-4


def test_a_nearly_defective_matrix_has_eigenvalues_known_to_the_root_of_rounding():
    """[[1, 1], [a, 1]] has 1 +- sqrt(a): an error of a is the square root of itself."""
    backend = get_backend("rounded")
    spectrum = Eigenvalues(sympy.Matrix([[1, 1], [a, 1]]))
    function = backend.function([a], [spectrum.real(0), spectrum.real(1)])
    high, low = function(Rounded(1e-14, 1e-14))
    for found, truth in ((high, 1 + math.sqrt(2e-14)), (low, 1 - math.sqrt(2e-14))):
        assert abs(found.value - truth) <= found.error < 1e-5


@pytest.mark.parametrize("seed", range(12))
def test_eigenvalues_have_one_order_in_every_backend(seed):
    """By falling real, then imaginary part; numpy's own eigenvalues, sorted here, are the reference."""
    size = 3 + seed % 3
    numbers = np.random.default_rng(seed).integers(-9, 10, (size, size))
    spectrum = Eigenvalues(sympy.Matrix(numbers.tolist()))
    parts = [*(spectrum.real(i) for i in range(size)), *(spectrum.imaginary(i) for i in range(size))]
    quick = [float(v) for v in get_backend("float64").function([a], [p + 0 * a for p in parts])(1.0)]
    with mp.workdps(30):
        precise = [float(v) for v in get_backend("multiprecision").function([a], parts)(mp.one)]
    reference = sorted(np.linalg.eigvals(numbers.astype(float)), key=lambda z: (-round(z.real, 9), -z.imag))
    assert quick == pytest.approx([z.real for z in reference] + [z.imag for z in reference], abs=1e-9)
    assert precise == pytest.approx(quick, abs=1e-9)


def test_single_numbers_cover_every_truth_within_the_errors_of_their_arguments():
    """In exact fractions: arguments at the ends of their errors, sizes from the smallest doubles to large ones."""
    rng = np.random.default_rng(11)
    operations = (operator.add, operator.sub, operator.mul, operator.truediv, lambda a, b: a**2, lambda a, b: a**-1)
    for turn in range(1200):
        sizes = 10.0 ** rng.choice([-310, -160, -8, 0, 3, 140], 2)
        a, b = (float(x) for x in rng.normal(size=2) * sizes)
        ea, eb = (float(abs(x) * rng.choice([0, 1e-16, 1e-9, 0.1])) for x in (a, b))
        operate = operations[turn % len(operations)]
        found = operate(Rounded(a, ea), Rounded(b, eb) if turn % 2 else b)
        if not np.isfinite(found.error):
            continue
        for first, second in itertools.product((-1, 1), repeat=2):
            truth = operate(Fraction(a) + first * Fraction(ea), Fraction(b) + second * Fraction(eb) * (turn % 2))
            assert abs(truth - Fraction(float(found.value))) <= Fraction(1.01) * Fraction(found.error), (a, b, turn)


@pytest.mark.parametrize("size", [1, 600])
def test_one_over_an_overflow_is_zero_and_what_is_not_told_stays_unknown(size):
    """exp(1000) lies beyond the largest double for certain; its logarithm, or a part of it, need not."""
    x = Rounded(np.full(size, 1000.0), np.full(size, 1e-12)) if size > 1 else Rounded(1000.0, 1e-12)
    for small in (1 / (1 + np.exp(x)), (1 + np.exp(x)) ** -1, 3 / (2 - 4 * np.exp(x))):
        assert np.all(small.value == 0)
        assert np.all((np.asarray(small.error) > 1e-309) & (np.asarray(small.error) < 1e-307))
    for unknown in (
        1 / np.log(1 + np.exp(x)),
        1 / (1 + 1e-3 * np.exp(x)),
        np.exp(x) * np.exp(-x),
        np.exp(x) - np.exp(x),
    ):
        assert np.all(np.isinf(unknown.error))
    assert np.isinf((1 / (1 + np.exp(Rounded(1000.0, 500.0)))).error)


FUNCTIONS = {
    np.exp: mp.exp, np.sqrt: mp.sqrt, np.log: mp.log, np.tanh: mp.tanh, np.arctan: mp.atan, np.sin: mp.sin,
    np.cos: mp.cos, np.cosh: mp.cosh, special.erf: mp.erf, special.erfc: mp.erfc, np.negative: lambda u: -u,
    np.absolute: abs,
}  # fmt: skip


@pytest.mark.parametrize("size", [1, 9])
def test_functions_cover_every_truth_within_the_error_of_their_argument_and_stay_of_use(size):
    """Alone and in arrays, by mpmath at both ends of the argument and at its centre."""
    rng = np.random.default_rng(3)
    with mp.workdps(40):
        for function, exact in FUNCTIONS.items():
            for width in (0.0, 1e-16, 1e-9, 1e-3):
                places = rng.uniform(0.1, 6, size) * (1 if function in (np.log, np.sqrt) else rng.choice([-1, 1], size))
                errors = width * np.abs(places)
                found = function(Rounded(*((places[0], float(errors[0])) if size == 1 else (places, errors))))
                for i, (place, error) in enumerate(zip(places, errors, strict=True)):
                    value, claim = (float(np.ravel(part)[i]) for part in (found.value, found.error))
                    truths = [exact(mp.mpf(place) + shift * mp.mpf(error)) for shift in (-1, 0, 1)]
                    far = max(float(abs(mp.mpf(value) - t)) for t in truths)
                    assert far <= claim <= 1.5 * far + 1e-15 * (1 + place**2) * abs(value) + width * error + 1e-300


def test_powers_cover_every_truth_within_the_error_of_their_base():
    rng = np.random.default_rng(4)
    with mp.workdps(40):
        for exponent in (2, 3, 4, -1, -2, -3, 0.5, 1.5, -0.5, 60):
            for width in (0.0, 1e-15, 1e-8, 1e-3):
                base = float(rng.uniform(0.3, 3))
                found = Rounded(base, width * base) ** exponent
                for shift in (-1, 0, 1):
                    truth = (mp.mpf(base) + shift * mp.mpf(width * base)) ** exponent
                    # errors are rounded themselves, and widened by so much where they leave the engine
                    assert abs(mp.mpf(float(found.value)) - truth) <= 1.01 * found.error, (exponent, width)


def test_the_larger_of_two_is_known_as_it_is_or_as_the_worse_of_them():
    assert np.maximum(Rounded(2.0, 0.1), Rounded(1.0, 0.5)).error == 0.1
    assert np.maximum(Rounded(2.0, 0.1), Rounded(1.7, 0.5)).error == 0.5
    assert np.minimum(Rounded(2.0, 0.1), Rounded(1.0, 0.5)).error == 0.5


def test_a_hyperbolic_cosine_beyond_the_largest_double_leaves_a_zero_that_is_known():
    """1/cosh(800)^4 is below every double."""
    found = (1 / np.cosh(Rounded(np.array([1.0, 800.0]), np.array([1e-16, 1e-13])))) ** 4
    assert found.value[1] == 0
    assert found.error[1] < 1e-300
    assert abs(found.value[0] - 1 / math.cosh(1) ** 4) <= found.error[0] < 1e-14


@pytest.mark.parametrize("place", ["0.5", "-3", "709.9", "800", "-1000", "1e5"])
def test_hyperbolic_functions_far_out_have_errors_that_hold(place):
    """Where a cosine overflows its reciprocal is zero to within the smallest doubles, and a cotangent is one."""
    functions = (sympy.sech, sympy.csch, sympy.coth, lambda u: sympy.sech(u) ** 2 * u, lambda u: u * sympy.csch(u))
    run = get_backend("rounded").function([x], [f(x) for f in functions])
    with np.errstate(all="ignore"):
        found = run(Rounded(float(place), 1e-13))
    with mp.workdps(40):
        sech, csch, coth = (getattr(mp, name)(mp.mpf(float(place))) for name in ("sech", "csch", "coth"))
        for number, exact in zip(found, (sech, csch, coth, sech**2 * float(place), csch * float(place)), strict=True):
            assert abs(mp.mpf(float(number.value)) - exact) <= number.error
            assert number.error <= 1e-12 * max(1.0, abs(float(place)) * 1e-2) * max(abs(exact), 1e-250)
