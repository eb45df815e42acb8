"""Narrow peaks and steep steps at many digits, against closed forms and mpmath's quadrature with breaks of its own."""

import pytest
import sympy
from mpmath import mp

import theorem_engine as te
from theorem_engine.backends.float64 import BACKEND as FLOAT64
from theorem_engine.backends.float64.gaussian_mean import lower as float64_mean
from theorem_engine.backends.multiprecision import BACKEND
from theorem_engine.backends.multiprecision.gaussian_mean import lower
from theorem_engine.base.errors import NotAvailable

t = sympy.Symbol("t")


def test_a_peak_between_nodes_is_seen_at_thirty_digits():
    """A weight 1 + 5 exp(-(w (t - a))^2): without a signal S is its Gaussian mean, which is known in closed form."""
    width, at = 10**5, sympy.Rational(37, 100)
    weight = te.ElementWise(1 + 5 * sympy.exp(-((width * (t - at)) ** 2)))
    found = te.predict(
        "duranthon2026.manifold-risk", task="spiked", nu=0, L=2, activation=weight, m_kk=1, m_vv=1, digits=30
    )
    with mp.workdps(50):

        def peak(w):
            return mp.exp(-(w**2) * mp.mpf("0.37") ** 2 / (1 + 2 * w**2)) / mp.sqrt(1 + 2 * w**2)

        w = mp.mpf(width)
        first = 1 + 5 * peak(w)
        second = 2 * (1 + 10 * peak(w) + 25 * peak(mp.sqrt(2) * w))
        for output, truth in (("S", first), ("Q", second), ("risk", 1 - 2 * first + second)):
            assert abs(found.outputs[output] - truth) <= found.errors[output]


def test_a_steep_step_at_thirty_digits():
    """E[xi tanh(50 xi)] and E[tanh(50 xi)^2] by mpmath's quadrature on intervals that shrink towards the step."""
    found = te.predict("liao2026.hermite", nonlinearity=sympy.tanh(50 * t), digits=30)
    with mp.workdps(40):
        ends = [mp.mpf(2) ** k / 100 for k in range(11)]

        def mean(body):
            return 2 * mp.quad(lambda x: body(x) * mp.npdf(x), [0, *ends, 14])

        slope, square = mean(lambda x: x * mp.tanh(50 * x)), mean(lambda x: mp.tanh(50 * x) ** 2)
        assert abs(found.outputs["a1"] - slope) <= found.errors["a1"]
        assert abs(found.outputs["second_moment"] - square) <= found.errors["second_moment"]


def test_the_mirror_image_of_a_narrow_peak_is_compared_in_numbers():
    """Simplifying the difference took minutes; the mean is 5 times that of the peak, in closed form."""
    width, at = 200, 0.37
    function = sympy.tanh(t) + 5 * sympy.exp(-((width * (t - sympy.Rational(37, 100))) ** 2))
    found = te.predict("liao2026.hermite", nonlinearity=function)
    ratio = 1 + 2 * width**2
    truth = 5 * float(mp.exp(-(width**2) * at**2 / ratio) / mp.sqrt(ratio))
    assert abs(found.outputs["mean"] - truth) <= found.errors["mean"] + 1e-15


def test_a_peak_beside_a_wave_is_seen_at_thirty_digits():
    """E[cos(3 xi) + 5 exp(-(w (xi - a))^2)] in closed form: the wave's step alone passes over the peak."""
    width = 10**5
    function = sympy.cos(3 * t) + 5 * sympy.exp(-((width * (t - sympy.Rational(37, 100))) ** 2))
    with mp.workdps(45):
        mean = lower((te.GaussianMean(function, t),), (), BACKEND)()[0]
        ratio = 1 + 2 * mp.mpf(width) ** 2
        peak = 5 * mp.exp(-(width**2) * mp.mpf("0.37") ** 2 / ratio) / mp.sqrt(ratio)
        assert abs(mean - mp.exp(mp.mpf(-9) / 2) - peak) < mp.mpf(10) ** -35


def test_peaks_where_a_wave_passes_zero_are_seen():
    """exp(-(w sin xi)^2) has a peak at each multiple of pi; E is sqrt(pi)/w times their densities, up to 1/w^3."""
    width = 10**4
    body = sympy.exp(-((width * sympy.sin(t)) ** 2))
    mean = float64_mean((te.GaussianMean(body, t),), (), FLOAT64)()[0]
    density = mp.nsum(lambda k: mp.npdf(k * mp.pi), [-mp.inf, mp.inf])
    assert abs(mean - mp.sqrt(mp.pi) / width * density) < 1e-12


def test_double_means_and_token_means_refuse_peaks_that_their_nodes_may_miss():
    x, y = sympy.symbols("x y", real=True)
    narrow = sympy.exp(-((10**5 * (x - y)) ** 2))
    with mp.workdps(30), pytest.raises(NotAvailable, match="double Gaussian mean"):
        lower((te.GaussianMean(narrow, x, y),), (), BACKEND)()
    weight = te.ElementWise(1 + 5 * sympy.exp(-((10**5 * (t - sympy.Rational(37, 100))) ** 2)))
    with pytest.raises(NotAvailable, match="token mean"):
        te.predict("duranthon2026.manifold-risk", task="max", nu=1, L=2, activation=weight, m_kk=1, m_vv=1, digits=30)
