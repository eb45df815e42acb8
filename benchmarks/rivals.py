"""What a competent user would write in place of the engine: NumPy, SciPy and mpmath."""

import mpmath
import numpy as np
from scipy import integrate, optimize, special


def bayes_risk_sampled(nu, L, count, rng):
    """Posterior variance of each of many sequences with a planted token: its mean is the Bayes risk."""
    scores = rng.standard_normal((count, L))
    scores[:, 0] += np.sqrt(nu)
    weights = special.softmax(np.sqrt(nu) * scores, axis=1)
    return 1 - np.sum(weights**2, axis=1)


def bayes_risk_by_quad(nu, L):
    """The same for two tokens by nested quadrature of the definition."""
    if L != 2:
        raise ValueError("nested quadrature beyond two tokens is hopeless")
    root = np.sqrt(nu)

    def inside(b, a):
        weight = special.expit(root * (a + root - b))
        density = np.exp(-(a * a + b * b) / 2) / (2 * np.pi)
        return (1 - weight**2 - (1 - weight) ** 2) * density

    return integrate.dblquad(inside, -9, 9, -9, 9, epsabs=1e-12, epsrel=1e-12)[0]


def least_risk_sampled(activation, nu, L, count, rng):
    """Least risk of normalised weights over both scales on one sample, the spread of a loss, and how often it looked.

    By Nelder and Mead, on the same random numbers at every look: fresh ones would let the search chase their noise.
    """
    scores = rng.standard_normal((count, L))
    scores[:, 0] += np.sqrt(nu)

    def losses(scales):
        weights = activation(scales[0] * scores)
        weights /= weights.sum(axis=1, keepdims=True)
        return 1 - 2 * scales[1] * weights[:, 0] + scales[1] ** 2 * np.sum(weights**2, axis=1)

    found = optimize.minimize(lambda x: losses(x).mean(), [0.5, 0.5], method="Nelder-Mead",
                              options={"xatol": 1e-4, "fatol": 1e-6})  # fmt: skip
    return found.fun, losses(found.x).std(), found.nfev


def noise_trace_by_quad(c, gamma, a1, b2, tolerance=1e-10):
    """tr Q/n of attention on noise: a damped loop over three scalars, each mean a quadrature over the spectrum."""
    ratio = 1 / c
    root = np.sqrt(ratio)
    atom = max(0.0, 1 - 1 / ratio)

    def mean(function):
        def inside(angle):
            s = 1 + ratio + 2 * root * np.cos(angle)
            return function(s) * np.sin(angle) ** 2 / s

        return atom * function(0.0) + 2 / np.pi * integrate.quad(inside, 0, np.pi, epsabs=1e-12, epsrel=1e-12)[0]

    kap, eta0 = a1 / root, -a1 / root
    g, e, eta = gamma + 0.5 * b2, 0.5 * b2 / gamma, eta0
    for _ in range(2000):

        def cubic(s, g=g, e=e, eta=eta):
            return g * (1 + e * s) + s * (kap * s + eta) ** 2

        alpha = mean(lambda s, e=e, cubic=cubic: (1 + e * s) / cubic(s))
        new = (
            gamma + b2 * g * mean(lambda s, cubic=cubic: s / cubic(s)),
            b2 * alpha,
            eta0 - b2 * mean(lambda s, eta=eta, cubic=cubic: s * (kap * s + eta) / cubic(s)),
        )
        moved = max(abs(x - y) for x, y in zip(new, (g, e, eta), strict=True))
        g, e, eta = ((x + y) / 2 for x, y in zip(new, (g, e, eta), strict=True))
        if moved < tolerance:
            return alpha
    raise ArithmeticError("the damped loop has not settled")


def proximal_by_scipy(omega, w, y, width_k, width_v):
    """Minimisers of one sequence after the other, by SciPy's general method."""

    def solve(omega, w, y):
        size = len(omega)

        def height(x):
            chi, z = x[:size], x[size:]
            miss = y - special.softmax(chi) @ z
            return np.sum((chi - omega) ** 2) / (2 * width_k) + np.sum((z - w) ** 2) / (2 * width_v) + miss**2 / 2

        return optimize.minimize(height, np.concatenate([omega, w]), method="BFGS").x

    return np.array([solve(*each) for each in zip(omega, w, y, strict=True)])


def risk_by_quad(kappa, nu, lam, gamma, d, L, digits):
    """Risk of erf attention on the manifold from its definition: two means over a normal score."""
    with mpmath.workdps(digits + 5):
        kappa, nu, lam, gamma = map(mpmath.mpf, (kappa, nu, lam, gamma))
        shift = lam * mpmath.sqrt(mpmath.mpf(d) / 2) * kappa
        ends = [-mpmath.inf, -shift / (lam * gamma), mpmath.inf]

        def mean(function, ends):
            return mpmath.quad(lambda z: function(z) * mpmath.npdf(z), ends)

        def own(z):
            f = mpmath.erf(shift + lam * gamma * z)
            return 1 - 2 * nu * f + f * f

        return gamma**2 * mean(own, ends) + (L - 1) * mean(
            lambda z: mpmath.erf(lam * z) ** 2, [-mpmath.inf, 0, mpmath.inf]
        )
