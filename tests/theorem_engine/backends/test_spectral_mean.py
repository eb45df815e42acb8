"""Spectral means: residues, their quadrature twin, and the switch between them."""

import numpy as np
import pytest
import sympy
from mpmath import mp

from theorem_engine import MarchenkoPastur, SpectralMean
from theorem_engine.backends import get_backend
from theorem_engine.backends.float64 import spectral_mean as lowering
from theorem_engine.base.reports import listening
from theorem_engine.language.operators.spectral_bundle import take_apart
from theorem_engine.language.operators.spectral_law import FORMS

s, g, e, kap, eta, lam, theta, x = sympy.symbols("s g e kap eta lam theta x", real=True)
LETTERS = (g, e, kap, eta, lam, theta)
LINE = kap * s + eta
CUBIC = g * (1 + e * s) + s * LINE**2
BODIES = [(1 + e * s) / CUBIC, s / CUBIC, s * LINE / CUBIC]
MEANS = [SpectralMean(body, s, MarchenkoPastur(lam, theta, form)) for body in BODIES for form in FORMS]
GRADIENTS = [mean.diff(letter) for mean in MEANS for letter in (g, e, eta)]


@pytest.fixture(scope="module")
def run():
    return get_backend("float64").function(LETTERS, [*MEANS, *GRADIENTS])


def _matrix_form(form, body, ratio, spike, rng, p=600):
    """The same mean on a drawn matrix X = spike sqrt(p) mh yh^T + noise, by its eigenvalues."""
    n = round(p * ratio)
    y, m = np.ones(n) / np.sqrt(n), np.ones(p) / np.sqrt(p)
    side = np.zeros(p)
    side[:2] = np.sqrt(0.5), -np.sqrt(0.5)
    tokens = rng.standard_normal((p, n)) / np.sqrt(p) + (spike * np.outer(m, y) if form != "bulk" else 0)
    values, vectors = np.linalg.eigh(tokens.T @ tokens)
    weights = {
        "bulk": np.full(n, 1 / n),
        "right-right": (vectors.T @ y) ** 2,
        "right-left": (vectors.T @ y) * (vectors.T @ (tokens.T @ m)),
        "left-left": (vectors.T @ (tokens.T @ m)) ** 2,
        "across": (vectors.T @ (tokens.T @ side)) ** 2,
    }[form]
    return float(weights @ body(np.maximum(values, 0)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ratio", [0.5, 2.0])
def test_a_mean_is_the_limit_of_a_form_of_a_random_matrix(form, ratio):
    """Twelve matrices of fixed seed; 6 standard errors and the O(1/n) shift leave a false alarm below 1e-7."""
    rng = np.random.default_rng(5)
    drawn = [_matrix_form(form, lambda v: 1 / (v + 0.7), ratio, 1.3, rng, p=200) for _ in range(12)]
    mean = SpectralMean(1 / (s + sympy.Rational(7, 10)), s, MarchenkoPastur(lam, theta, form))
    (value,) = get_backend("float64").function([lam, theta], [mean])(ratio, 1.3)
    assert abs(np.mean(drawn) - value) < 6 * np.std(drawn) / np.sqrt(12) + 0.02


@pytest.mark.parametrize("form", FORMS)
def test_moments_are_those_of_the_quadrature(form):
    """The polynomial part is exact; a mean of s^k (s + x)/(s + x) goes through poles instead."""
    law = MarchenkoPastur(lam, theta, form)
    bodies = [SpectralMean(s**k, s, law) for k in range(5)]
    values = get_backend("float64").function([lam, theta], bodies)(1.7, 0.8)
    nodes = get_backend("float64").function([x, lam, theta], [SpectralMean(1 / (s - x), s, law)])
    # R(z) = -sum moment_k / z^(k+1) far from the spectrum
    place = -2000.0
    series = -sum(m / place ** (k + 1) for k, m in enumerate(values))
    assert nodes(place, 1.7, 0.8)[0] == pytest.approx(series, rel=1e-11)


def test_the_stated_resolvent_is_the_mean_of_the_pole():
    for form in FORMS:
        law = MarchenkoPastur(lam, theta, form)
        both = get_backend("float64").function([x, lam, theta], [SpectralMean(1 / (s - x), s, law), law.resolvent(x)])
        for point in [(-0.3, 0.5, 0.7), (-1e-7, 2.0, 0.7), (-40.0, 2.0, 2.0), (9.0, 1.0, 0.4), (0.05, 0.25, 0.2)]:
            mean, closed = both(*point)
            assert mean == pytest.approx(closed, rel=2e-13), (form, point)


def test_residues_and_quadrature_agree_at_random_points(run, monkeypatch):
    """Away from near roots, to 1e-10 of the mean of the absolute value."""
    rng = np.random.default_rng(11)
    count = 200
    values = [
        10 ** rng.uniform(-1, 2, count), 10 ** rng.uniform(-2, 1, count), rng.uniform(0.1, 1.5, count),
        rng.uniform(-1.5, 0.3, count), 10 ** rng.uniform(-1, 1, count), rng.uniform(0, 2, count),
    ]  # fmt: skip
    monkeypatch.setattr(lowering, "DOUBT", np.inf)
    residues = np.array(run(*values))
    monkeypatch.setattr(lowering, "DOUBT", -1.0)
    monkeypatch.setattr(lowering, "NEAR", -1.0)
    with listening() as notes:
        quadrature = np.array(run(*values))
    settled = np.array(notes[-1].error) < 1e-12 * np.maximum(np.abs(quadrature), 1e-3)
    gap = np.abs(residues - quadrature) / np.maximum(np.abs(quadrature), 1e-3)
    assert settled.mean() > 0.95
    assert np.max(gap[settled]) < 1e-10


def test_scalars_and_arrays_run_the_same_method(run):
    point = (0.7, 1.3, 0.6, -0.8, 2.0, 0.9)
    scalars = np.array(run(*point))
    arrays = np.array(run(*[np.full((2, 3), v) for v in point]))
    assert arrays.shape == (60, 2, 3)
    assert np.max(np.abs(arrays[:, 1, 2] / scalars - 1)) < 1e-12


# (kap s + eta)^2 s + g has a double root at s = -eta/(3 kap) if g = 4 eta^3/(27 kap), here off the spectrum
DOUBLE = (4 * 0.6**3 / (27 * 0.5), 0.0, 0.5, 0.6, 1.0, 0.4)


@pytest.mark.parametrize("shift", [0.0, 1e-12, 1e-7, 1e-4, 1e-2])
def test_near_a_double_root_quadrature_takes_over_by_itself(run, shift):
    """Residues alone would lose every digit there; the error estimate stays small and true."""
    point = (DOUBLE[0] * (1 + shift), *DOUBLE[1:])
    with listening() as notes:
        values = np.array(run(*point))
    errors = np.array([float(error) for error in notes[-1].error])
    multi = get_backend("multiprecision").function(LETTERS, [*MEANS, *GRADIENTS])
    with mp.workdps(30):
        exact = np.array([float(v) for v in multi(*[mp.mpf(v) for v in point])])
    size = np.maximum(np.abs(exact), 1e-300)
    assert np.max(np.abs(values - exact) / size) < 1e-11
    assert np.all(np.abs(values - exact) <= 4 * errors + 1e-14 * size)


def test_a_vanishing_leading_coefficient_needs_no_special_case(run):
    """kap -> 0 sends two roots to infinity; the means stay smooth."""
    at_zero = np.array(run(0.7, 1.3, 0.0, -0.3, 2.0, 0.9))
    close = np.array(run(0.7, 1.3, 1e-13, -0.3, 2.0, 0.9))
    assert np.max(np.abs(close - at_zero) / np.maximum(np.abs(at_zero), 1e-9)) < 1e-11


def test_a_critical_ratio_and_a_critical_spike_keep_their_digits():
    """lam = 1 brings the bulk to zero, spike^2 = sqrt(lam) the outlier to the bulk's edge."""
    bodies = [SpectralMean(1 / (s + x), s, MarchenkoPastur(lam, theta, form)) for form in FORMS]
    run = get_backend("float64").function([x, lam, theta], bodies)
    multi = get_backend("multiprecision").function([x, lam, theta], bodies)
    for point in [(1e-6, 1.0, 1.0), (1e-6, 1.0 + 1e-9, 1.0 + 1e-9), (1e-3, 4.0, 2.0**0.5)]:
        with mp.workdps(40):
            exact = [float(v) for v in multi(*[mp.mpf(v) for v in point])]
        assert run(*point) == pytest.approx(exact, rel=1e-13)


def test_bundles_share_bodies_between_forms():
    bundle = take_apart(tuple(MEANS))
    assert len(bundle.bodies) == 3
    assert len(bundle.members) == 15
    assert len(bundle.denominators) == 1


def test_numerators_of_derivatives_come_factored():
    """s P - (1 + e s) g s is s^2 B^2: written so, it does not cancel."""
    (body,) = take_apart((SpectralMean(BODIES[0], s, MarchenkoPastur(lam)).diff(e),)).bodies
    variable = MEANS[0].variable
    assert body.numerator == variable**2 * (kap * variable + eta) ** 2
    assert body.powers == (2,)


@pytest.mark.parametrize("form", FORMS)
def test_letters_of_the_law_are_differentiated(form):
    """In ratio and spike, at critical values too, against differences at 40 digits."""
    mean = SpectralMean(s**2 + BODIES[0], s, MarchenkoPastur(lam, theta, form))
    run = get_backend("float64").function(LETTERS, [mean.diff(lam), mean.diff(theta)])
    multi = get_backend("multiprecision").function(LETTERS, [mean])
    for point in [(0.7, 1.3, 0.6, -0.8, 2.0, 0.9), (0.3, 0.3, 0.6, -0.8, 1.0, 1.0), (0.01, 30.0, 0.6, -0.8, 0.99, 0.3)]:
        expected = []
        with mp.workdps(40):
            step = mp.mpf(10) ** -12
            for place in (4, 5):
                ends = [[mp.mpf(v) + sign * step * (k == place) for k, v in enumerate(point)] for sign in (1, -1)]
                up, down = (multi(*end)[0] for end in ends)
                expected.append(float((up - down) / (2 * step)))
        assert run(*point) == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_without_spike_the_forms_have_the_derivatives_of_the_plain_ones():
    for form, plain in (("right-right", "bulk"), ("left-left", "across")):
        first, second = (SpectralMean(1 / (s + x), s, MarchenkoPastur(lam, 0, f)).diff(lam) for f in (form, plain))
        run = get_backend("float64").function([x, lam], [first, second])
        one, other = run(0.7, 2.0)
        assert one == pytest.approx(other, rel=1e-13)
    assert SpectralMean(1 / (s + x), s, MarchenkoPastur(lam, 0, "right-left")).diff(lam) == 0


def test_a_mean_of_a_constant_is_the_mass():
    assert SpectralMean(x, s, MarchenkoPastur(lam)) == x
    assert SpectralMean(x, s, MarchenkoPastur(lam, theta, "across")) == x * lam


def test_two_denominators_are_taken_apart():
    body = s / ((s + 1) * (s + 2) ** 2)
    run = get_backend("float64").function([lam], [SpectralMean(body, s, MarchenkoPastur(lam))])
    split = [SpectralMean(b, s, MarchenkoPastur(lam)) for b in (1 / (s + 1), 1 / (s + 2), 1 / (s + 2) ** 2)]
    one, two, square = get_backend("float64").function([lam], split)(1.5)
    # s/((s+1)(s+2)^2) = -1/(s+1) + 1/(s+2) + 2/(s+2)^2
    assert run(1.5)[0] == pytest.approx(-one + two + 2 * square, rel=1e-12)
