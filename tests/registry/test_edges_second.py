"""Narrow peaks and steep steps at many digits, against closed forms and mpmath's quadrature with breaks of its own."""

import sympy
from mpmath import mp

import theorem_engine as te

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
