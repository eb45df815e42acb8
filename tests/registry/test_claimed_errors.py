"""The error claimed for a double-precision output is never below its distance from the truth.

Truth is had by mpmath from the definition of the model, written here and sharing nothing with the entries; for every
output of every entry by proofs or many digits, in ``test_claims_over_domains``.
"""

from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp

import theorem_engine as te

#: Nodes of the trapezoid rule for a Gaussian mean of an analytic function: exact to far more digits than are compared.
STEP = mp.mpf(1) / 8
NODES = [k * STEP for k in range(-88, 89)]


class _Token:
    """Means of one token: a = X.k* is normal, b = X.v* independent of it with mean zero and the same width s."""

    def __init__(self, lam, centre, s, wanted):
        weights = [STEP * mp.npdf(g) for g in NODES]
        a = [centre + s * g for g in NODES]
        e = [mp.erf(lam * x) for x in a]
        slope = [2 / mp.sqrt(mp.pi) * mp.exp(-((lam * x) ** 2)) for x in a]
        rows = list(zip(weights, a, e, slope, strict=True))
        self.e = lam * s**2 * sum(w * f for w, _, _, f in rows)
        self.ee = 3 * lam**2 * s**4 * sum(w * f**2 for w, _, _, f in rows)
        self.aa = sum(w * y * x for w, x, y, _ in rows)
        self.square = sum(w * (y * x) ** 2 for w, x, y, _ in rows)
        self.mixed = lam * s**2 * sum(w * f * y * x for w, x, y, f in rows)
        # the loss F times its second derivatives in x (k towards v*) and y (v towards k*)
        self.xx = sum(-w * (y - wanted) * lam * x * f * (6 * lam**2 * s**4 + s**2) for w, x, y, f in rows)
        self.yy = -(s**2) * sum(w * (y - wanted) * y for w, _, y, _ in rows)
        self.slope = sum(w * (y - wanted) * x * f for w, x, y, f in rows)
        self.xy = lam * s**2 * self.slope


def _determinant(lam, gamma, d, L):
    """Determinant of the Hessian of E (sum_l erf(lam X_l.k) X_l.v - X_1.v*)^2 off the manifold at the oracle."""
    own = _Token(lam, mp.sqrt(mp.mpf(d) / 2), gamma, 1)
    other = _Token(lam, mp.zero, mp.one, 0)
    n = L - 1

    def pairs(p, q):
        """Sum over ordered pairs of different tokens of p of the one times q of the other."""
        a, b, c, e = getattr(own, p), getattr(own, q), getattr(other, p), getattr(other, q)
        return n * (a * e + c * b) + n * (n - 1) * c * e

    xx = own.ee + n * other.ee + pairs("e", "e") + own.xx + n * other.xx
    xy = own.mixed + n * other.mixed + pairs("e", "aa") + own.xy + n * other.xy
    yy = own.square + n * other.square + pairs("aa", "aa") + own.yy + n * other.yy
    return xx * yy - xy**2


@pytest.mark.parametrize(("gamma", "d", "L"), [("0.7", 40, 5), ("0.31", 400, 12), ("1.2", 120, 3)])
def test_the_critical_lambda_is_as_near_to_the_root_as_claimed(gamma, d, L):
    """Against mpmath's root of a determinant of one-dimensional Gaussian sums, derived here from the model itself."""
    found = te.predict("marion2025.critical-lambda", gamma=gamma, d=d, L=L)
    with mp.workdps(20):
        value = mp.mpf(found.value)
        truth = mp.findroot(
            lambda lam: _determinant(lam, mp.mpf(gamma), d, L), (value, value * (1 + mp.mpf(10) ** -6)), tol=1e-30
        )
        distance = float(abs(truth - value))
    assert distance <= found.error <= 1e-9 * found.value


@pytest.mark.parametrize(("gamma", "d", "L"), [("1.3", 50, 7), ("0.2", 900, 3), ("2.9", 5, 25)])
def test_the_optimal_lambda_is_as_near_to_the_minimiser_as_claimed(gamma, d, L):
    """Against mpmath's zero of the slope of gamma^2 E(erf(lam a) - 1)^2 + (L - 1) E erf(lam g)^2, by quadrature."""
    found = te.predict("marion2025.optimal-lambda", gamma=gamma, d=d, L=L)

    def slope(lam):
        g = mp.mpf(gamma)
        own = _Token(lam, mp.sqrt(mp.mpf(d) / 2), g, 1).slope
        return g**2 * own + (L - 1) * _Token(lam, mp.zero, mp.one, 0).slope

    with mp.workdps(22):
        value = mp.mpf(found.value)
        truth = mp.findroot(slope, (value, value * (1 + mp.mpf(10) ** -6)), tol=1e-36)
        distance = float(abs(truth - value))
    assert distance <= found.errors["lam_star"] <= 1e-8 * found.value


def test_the_bayes_risk_of_strong_spikes_covers_the_rounding_of_its_letters():
    """Two tokens: the risk is E 1/(1 + exp(nu + sqrt(2 nu) G)), by mpmath; nu is a rounded decimal."""
    rng = np.random.default_rng(7)
    for nu in rng.uniform(20, 200, 40).round(3):
        found = te.predict("duranthon2026.bayes-risk", task="spiked", nu=float(nu), L=2)
        with mp.workdps(22):
            exact = mp.mpf(str(nu))
            width = mp.sqrt(2 * exact)
            # over z = nu + sqrt(2 nu) g the integrand falls like exp(-|z|/2), analytic in a strip of width pi
            nodes = (mp.mpf(k) / 3 for k in range(-360, 361))
            truth = sum(mp.npdf((z - exact) / width) / (1 + mp.exp(z)) for z in nodes) / (3 * width)
            distance = float(abs(truth - mp.mpf(found.value)))
        assert distance <= found.error <= 1e-11 * found.value, nu


def test_three_minimisers_at_once_are_as_near_as_claimed():
    """Max task, two tokens, weights 1 + erf(c + k x): mpmath's zero of the slopes of 1 - S^2/Q, by the trapezoid rule.

    S = 2 E p(x - y) f(x) with p = 1/(1 + exp(-nu x)), and Q = 2 E f(x)^2; the best m_vv is S/Q.
    """
    nu = 8
    found = te.predict("duranthon2026.minimal-risk", task="max", nu=nu, L=2, activation="erf")
    with mp.workdps(20):
        step, half = mp.mpf(1) / 18, 18 * 8
        nodes = [k * step for k in range(-half, half + 1)]
        weights = [step * mp.npdf(x) for x in nodes]
        p = [1 / (1 + mp.exp(-nu * k * step)) for k in range(-2 * half, 2 * half + 1)]
        chosen = [mp.fsum(w * p[2 * half + i - j] for j, w in enumerate(weights)) for i, _ in enumerate(nodes)]

        def moments(k, c):
            f = [1 + mp.erf(c + k * x) for x in nodes]
            slope = [2 / mp.sqrt(mp.pi) * mp.exp(-((c + k * x) ** 2)) for x in nodes]
            rows = list(zip(weights, chosen, nodes, f, slope, strict=True))
            hit = [mp.fsum(2 * w * q * u for w, q, _, u, _ in rows)]
            hit += [mp.fsum(2 * w * q * v for w, q, _, _, v in rows)]
            hit += [mp.fsum(2 * w * q * v * x for w, q, x, _, v in rows)]
            size = [mp.fsum(2 * w * u * u for w, _, _, u, _ in rows)]
            size += [mp.fsum(4 * w * u * v for w, _, _, u, v in rows)]
            size += [mp.fsum(4 * w * u * v * x for w, _, x, u, v in rows)]
            return hit, size

        def slopes(k, c):
            (S, S_c, S_k), (Q, Q_c, Q_k) = moments(k, c)
            return [S / Q * Q_k - 2 * S_k, S / Q * Q_c - 2 * S_c]

        start = [mp.mpf(found.outputs[name]) for name in ("m_kk", "shift")]
        k, c = mp.findroot(slopes, start, tol=1e-32)
        (S, *_), (Q, *_) = moments(k, c)
        truths = {"m_kk": k, "shift": c, "m_vv": S / Q, "risk": 1 - S**2 / Q}
        for name, truth in truths.items():
            distance = float(abs(truth - mp.mpf(found.outputs[name])))
            assert distance <= found.errors[name] <= 1e-10, name


def test_the_times_of_a_trajectory_are_off_by_less_than_they_claim():
    """Parts of a decimal, in exact fractions."""
    point = {"kappa": "0.46", "nu": "0.3", "theta": "0.36", "eta": "0.28", "rho": "-0.1", "lam": "0.5", "gamma": "0.3"}
    found = te.predict("marion2025.gradient-flow", d=8, L=2, time="0.00308", trajectory=49, **point)
    times, errors = (getattr(found, part)["trajectory"]["time"] for part in ("outputs", "errors"))
    for k, (time, error) in enumerate(zip(times, errors, strict=True)):
        distance = abs(Fraction(float(time)) - Fraction("0.00308") * k / 49)
        assert distance <= Fraction(float(error)) <= Fraction(1, 10**15) * Fraction(float(time)), k
