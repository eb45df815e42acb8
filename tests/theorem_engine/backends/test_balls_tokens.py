"""Enclosed token means against reference balls and integrals written down here."""

import numpy as np
import pytest
import sympy
from flint import ctx
from mpmath import mp
from scipy import special

import theorem_engine as te
from theorem_engine import Tokens
from theorem_engine.backends.balls import BACKEND

BAYES = [
    ("spiked", "5", 10, "0.35980798355655207143878921470029353093065422722175"),
    ("spiked", "5", 10**6, "0.99985378595595878167324463502688403241451508732281"),
    ("spiked", "60", 10**12, "0.33780935869386421706686083044786170209258497742463"),
    ("spiked", "50", 3, "8.9145766454433529405973269083193059451422433897311e-7"),
    ("spiked", "0.1", 10, "0.89073609056695209679100678585005294377396738676779"),
    ("spiked", "0.01", 10, "0.89909730574198029202073852999664970696027240506956"),
    ("spiked", "1", 2, "0.32494329766243459283759852777842900192706389650175"),
    ("max", "2", 3, "0.35418082316520745532232546357981806985087179412337"),
    ("max", "5", 10, "0.29613510988879400139295746675348079889021160087474"),
    ("max", "0.2", 5, "0.79362786450559892905318265553465596302323693051587"),
    ("max", "5", 10**6, "0.86350681984369767716215844028582353119476745920730"),
    ("max", "3", 2, "0.17347707236220535079483194926128111253258302553937"),
    ("max", "100", 10, "0.015386248120117485086587753387172745362945656002260"),
]


def certified(id, digits=15, **point):
    return te.predict(id, certified=True, digits=digits, **point)


def check(prediction, reference, digits=49):
    with mp.workdps(70):
        reference = mp.mpf(reference)
        assert abs(prediction.value - reference) <= prediction.error + mp.mpf(10) ** -digits * abs(reference)
        assert prediction.error <= mp.mpf(10) ** (1 - prediction.digits) * abs(prediction.value)


@pytest.mark.parametrize(("task", "nu", "length", "reference"), BAYES)
def test_bayes_risks_hold_the_references(task, nu, length, reference):
    check(certified("duranthon2026.bayes-risk", 17, task=task, nu=nu, L=length), reference)


@pytest.mark.parametrize(("task", "nu", "length", "reference"), [BAYES[0], BAYES[8]])
def test_fifty_digits_of_bayes_risks_hold_the_references(task, nu, length, reference):
    check(certified("duranthon2026.bayes-risk", 49, task=task, nu=nu, L=length), reference, 48)


def test_the_tiny_bayes_risk_at_a_huge_signal_is_enclosed_relatively():
    found = certified("duranthon2026.bayes-risk", task="spiked", nu=400, L=2)
    check(found, "1.6384004958736642316682119503152358451537059824513e-45")


@pytest.mark.parametrize("length", [3, 400, 10**12])
def test_wide_scores_at_any_length_agree_with_sums_in_double_precision(length):
    """risk = n (n - 1) int K^2 B^(n - 2) du, K and B means over a normal score of exp(v - e^v) and exp(-e^v).

    Only a part of the scores is kept there at large lengths; here all are, on another grid.
    """
    nu = 40
    v, dv = np.linspace(-60, 6, 700, retstep=True)
    kernel = np.exp(v - np.exp(v)) * dv
    u, du = np.linspace(-15 * nu, 10 * nu, 2001, retstep=True)
    density = np.exp(-(((v - u[:, None]) / nu) ** 2) / 2) / (nu * np.sqrt(2 * np.pi))
    # by parts: the kernel is the slope of 1 - exp(-e^v)
    gone = special.ndtr((u[:, None] - v) / nu) @ kernel
    risk = np.sum(np.exp(2 * np.log(density @ kernel) + (length - 2) * np.log1p(-np.minimum(gone, 1 - 1e-15))))
    found = certified("duranthon2026.bayes-risk", 17, task="max", nu=nu, L=length)
    assert float(found.value) == pytest.approx(length * (length - 1) * risk * du, rel=1e-9)


@pytest.mark.parametrize("nu", ["0.001", "0.3", "2.5", "17"])
def test_two_tokens_agree_with_one_integral(nu):
    """The posterior of two tokens is a logistic function of one normal variable."""
    found = certified("duranthon2026.bayes-risk", 25, task="spiked", nu=nu, L=2)
    with mp.workdps(40):
        signal = mp.mpf(nu)
        # the difference of the log kernels is normal with the mean nu and the variance 2 nu
        number = mp.quad(
            lambda t: mp.npdf(t) / (1 + mp.exp(signal + mp.sqrt(2 * signal) * t)), [-16, -8, -4, -2, 0, 2, 4, 8, 16]
        )
        check(found, number, 28)


def test_random_lengths_are_averaged():
    parts = [certified("duranthon2026.bayes-risk", 20, task="max", nu=2, L=n) for n in (2, 5)]
    mixed = certified("duranthon2026.bayes-risk", 20, task="max", nu=2, L={2: "0.25", 5: "0.75"})
    with mp.workdps(40):
        assert abs(mixed.value - (parts[0].value + 3 * parts[1].value) / 4) <= mixed.error + parts[1].error


def test_softmax_moments_hold_the_references():
    found = certified("duranthon2026.manifold-risk", 25, task="spiked", nu=5, L=10, activation="softmax", m_kk=1,
                      q_kk="1.5", m_vv="0.8", q_vv="0.7")  # fmt: skip
    check(found, "0.599103808053010689104326121118", 28)
    with mp.workdps(40):
        assert abs(found.outputs["S"] - mp.mpf("0.394933472193934920776982700791")) <= found.errors["S"] + 1e-29
        assert abs(found.outputs["Q"] - mp.mpf("0.329996233661866517639283489120")) <= found.errors["Q"] + 1e-29


def test_an_error_function_beside_the_weights_is_enclosed():
    """S = E (1 + erf(shift + chi*)) at the hidden of two tokens, p = softmax(nu chi*), as a double integral."""
    found = certified("duranthon2026.manifold-risk", task="max", nu=2, L=2, activation="erf", m_kk=1, m_vv=1,
                      shift="-0.5")  # fmt: skip
    with mp.workdps(20):
        # a sum and a difference of the two scores are independent; only the difference enters the posterior
        def inner(t):
            # the hidden score is s + t, s normal with variance 1/2, t with variance 1/2 tilted by the logistic
            return (1 + mp.erf((t - mp.mpf("0.5")) / mp.sqrt(2))) * 2 / (1 + mp.exp(-4 * t)) * mp.exp(-t * t)

        # averaging erf over a normal of variance 1/2 divides its argument by sqrt(1 + 2/2)
        number = mp.quad(inner, [-8, -4, -2, -1, 0, 1, 2, 4, 8]) / mp.sqrt(mp.pi)
        assert abs(found.outputs["S"] - number) <= found.errors["S"] + mp.mpf(10) ** -15


def test_the_argmax_is_enclosed_by_the_law_of_the_maximum():
    found = certified("duranthon2026.linear-risk", 20, task="max", nu="inf", L=3)
    with mp.workdps(40):
        largest = 3 / (2 * mp.sqrt(mp.pi))  # mean of the largest of three normals
        check(found, (2 - largest**2) / 3, 35)


@pytest.mark.parametrize("slope", ["2", "-2"])
def test_a_score_beside_the_weights_obeys_steins_identity(slope):
    """E sum p x = s E sum p (1 - p) for p = softmax(s x), whatever the sign of s."""
    x, p = sympy.symbols("x p")
    s = sympy.Integer(slope)
    tokens = Tokens(sympy.Integer(3), (x,), {p: s * x})
    with ctx.workprec(90):
        left, right = BACKEND.function([], [tokens.mean(each=(p * x,)), s * tokens.mean(each=(p, p))])()
        assert left.overlaps(right)
        assert left.rel_accuracy_bits() > 50


def test_the_best_element_wise_weight_of_two_tokens_agrees_with_a_double_integral():
    """1 - E pi(x)^2 2 for pi(x) the mean of the logistic function of nu (x - y)."""
    found = certified("duranthon2026.element-wise-bound", task="max", nu=1, L=2)
    with mp.workdps(15):
        nodes = [mp.mpf(k) / 4 for k in range(-36, 37)]  # the trapezoid rule is exact to rounding here
        weights = [mp.npdf(t) / 4 for t in nodes]

        def own(x):
            return sum(w / (1 + mp.exp(y - x)) for y, w in zip(nodes, weights, strict=True))

        number = 1 - 2 * sum(w * own(x) ** 2 for x, w in zip(nodes, weights, strict=True))
        assert abs(found.value - number) < mp.mpf(10) ** -13
