"""Token means at many digits, against sums over two tokens written here from the definition of the weights.

For two tokens all means are integrals over two standard normals, which the trapezoid rule of mpmath gives: the
integrands are analytic in a strip, and the rule's error falls like exp(-2 pi strip/step).
"""

import pytest
from mpmath import mp

import theorem_engine as te

#: Quick ones here; the campaign has more than double precision could tell.
FEW, MANY = 9, 18
BOTH = pytest.mark.parametrize("digits", [FEW, pytest.param(MANY, marks=pytest.mark.campaign)])


def _nodes(step, end=9):
    count = int(end / step)
    nodes = [k * step for k in range(-count, count + 1)]
    return nodes, [step * mp.npdf(x) for x in nodes]


def _sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def _softplus(x):
    return mp.log1p(mp.exp(x))


def _shares(kernel, slope, centre, step):
    """S = E h_1/(h_1 + h_2) and Q of the squares, the score of the first token shifted."""
    nodes, weights = _nodes(step)
    hidden, other = [kernel(slope * x + centre) for x in nodes], [kernel(slope * x) for x in nodes]
    S = Q = mp.zero
    for w, a in zip(weights, hidden, strict=True):
        for v, b in zip(weights, other, strict=True):
            share = a / (a + b)
            S += w * v * share
            Q += w * v * (share**2 + (1 - share) ** 2)
    return S, Q


def _assert_close(found, name, truth, digits):
    assert abs(found.outputs[name] - truth) <= mp.mpf(10) ** (1 - digits) * abs(truth), name


@pytest.mark.parametrize(
    ("activation", "slope", "digits"),
    [
        ("softplus", "1", FEW),
        ("softplus", "2.5", FEW),
        *(pytest.param(*case, marks=pytest.mark.campaign) for case in
          [("softplus", "1", MANY), ("softplus", "2.5", MANY), ("tanh", "0.8", MANY)]),
    ],
)  # fmt: skip
def test_weights_of_curved_kernels_have_the_digits_asked_for(activation, slope, digits):
    """Softplus and 1 + tanh of the score, one gently and one steeply: on nodes of the score, and along log h."""
    kernel = {"softplus": _softplus, "tanh": lambda x: 1 + mp.tanh(x)}[activation]
    point = {"task": "spiked", "nu": 2, "L": 2, "activation": activation, "m_kk": slope, "m_vv": 1}
    found = te.predict("duranthon2026.manifold-risk", digits=digits, **point)
    with mp.workdps(25):
        S, Q = _shares(kernel, mp.mpf(slope), mp.mpf(slope) * mp.sqrt(2), mp.mpf(1) / (7 if digits == MANY else 4))
        _assert_close(found, "S", S, digits)
        _assert_close(found, "Q", Q, digits)


@BOTH
def test_a_kernel_that_vanishes_at_its_kink_has_the_digits_asked_for(digits):
    """Positive parts, in polar coordinates: E a/(a + b) over a, b > 0, plus the probability that only a is."""
    point = {"task": "spiked", "nu": 2, "L": 2, "activation": "relu", "m_kk": 1, "m_vv": 1}
    found = te.predict("duranthon2026.manifold-risk", digits=digits, **point)
    with mp.workdps(25):
        centre = mp.sqrt(2)

        def radial(angle):
            """The integral over r of r phi(r cos - centre) phi(r sin)."""
            b = centre * mp.cos(angle)
            grown = b * mp.sqrt(2 * mp.pi) * mp.exp(b * b / 2) * mp.ncdf(b)
            return mp.exp(-(centre**2) / 2) * (1 + grown) / (2 * mp.pi)

        def mean(power):
            def part(angle):
                c, s = mp.cos(angle), mp.sin(angle)
                return radial(angle) * (c**power + (s**power if power == 2 else 0)) / (c + s) ** power

            return mp.quad(part, [0, mp.pi / 4, mp.pi / 2])

        alone, other = mp.ncdf(centre) / 2, mp.ncdf(-centre) / 2
        _assert_close(found, "S", mean(1) + alone, digits)
        _assert_close(found, "Q", mean(2) + alone + other, digits)


@BOTH
def test_two_weights_at_once_have_the_digits_asked_for(digits):
    """Softmax weights beside the posterior: both hang on the difference of two scores alone."""
    slope = "0.8"
    point = {"task": "max", "nu": "1.5", "L": 2, "activation": "softmax", "m_kk": slope, "m_vv": 1}
    found = te.predict("duranthon2026.manifold-risk", digits=digits, **point)
    with mp.workdps(25):
        nodes, weights = _nodes(mp.mpf(1) / 12)
        gaps = [mp.sqrt(2) * x for x in nodes]
        rows = list(zip(weights, gaps, strict=True))
        S = 2 * sum(w * _sigmoid(mp.mpf("1.5") * g) * _sigmoid(mp.mpf(slope) * g) for w, g in rows)
        _assert_close(found, "S", S, digits)


@pytest.mark.campaign
def test_two_weights_of_two_scores_have_the_digits_asked_for():
    """The weights see more than the posterior does: a second, independent difference."""
    point = {"task": "max", "nu": 1, "L": 2, "activation": "softmax", "m_kk": "0.5", "q_kk": "0.5", "m_vv": 1}
    found = te.predict("duranthon2026.manifold-risk", digits=MANY, **point)
    with mp.workdps(25):
        nodes, weights = _nodes(mp.mpf(1) / 9)
        seen = [mp.sqrt(2) * x for x in nodes]
        posterior = [_sigmoid(g) for g in seen]
        S = mp.zero
        for w, g, p in zip(weights, seen, posterior, strict=True):
            S += 2 * w * p * sum(v * _sigmoid(g / 2 + h / 2) for v, h in zip(weights, seen, strict=True))
        _assert_close(found, "S", S, MANY)


@BOTH
def test_a_mean_over_a_held_token_has_the_digits_asked_for(digits):
    """The best weight of a token alone: its posterior is the mean of a sigmoid over the other token's score."""
    found = te.predict("duranthon2026.element-wise-bound", digits=digits, task="max", nu=1, L=2)
    with mp.workdps(25):
        nodes, weights = _nodes(mp.mpf(1) / 9)
        own = [2 * sum(w * _sigmoid(x - y) for w, y in zip(weights, nodes, strict=True)) for x in nodes]
        overlap = sum(w * p**2 for w, p in zip(weights, own, strict=True))
        _assert_close(found, "risk", 1 - overlap / 2, digits)


@pytest.mark.campaign
def test_a_minimum_over_token_means_has_the_digits_asked_for():
    """Normalised softplus, two tokens: mpmath's zero of the slope of 1 - S^2/Q."""
    found = te.predict("duranthon2026.softplus-risk", digits=MANY, task="spiked", nu=2, L=2)
    with mp.workdps(22):

        def risk(m):
            S, Q = _shares(_softplus, m, m * mp.sqrt(2), mp.mpf(1) / 9)
            return 1 - S**2 / Q

        m = mp.mpf(found.outputs["m_kk"])
        _assert_close(found, "risk", risk(m), MANY)
        step = mp.mpf(1) / 1000
        # differences of fourth order: the slope at the minimiser is that of rounding, beside the curvature
        near = {k: risk(m + k * step) for k in (-2, -1, 1, 2)}
        slope = (near[-2] - 8 * near[-1] + 8 * near[1] - near[2]) / (12 * step)
        bend = (near[-1] + near[1] - 2 * risk(m)) / step**2
        assert bend > 0
        assert abs(slope) <= bend * mp.mpf("1e-11")
