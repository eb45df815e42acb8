"""The same questions to this engine, to other software and to a plain script: values, right digits, processor seconds.

``python -m benchmarks.head_to_head`` prints the rows of ``docs/head-to-head.md``. Software that is not installed is
left out; none of it is needed by the engine. The plain scripts are what a competent user writes in ten lines of SciPy
with its default tolerances; they share no code with the engine.
"""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq, fsolve
from scipy.stats import norm

import theorem_engine as te


@dataclass(frozen=True)
class Question:
    """One number that is asked for, and the plain script for it."""

    id: str
    output: str
    point: dict[str, Any]
    plain: Callable[[], float]


def resolvent() -> float:
    """m(-1) of the Marchenko-Pastur law at g = 1/2, by its quadratic equation."""
    g, z = 0.5, -1.0
    b = 1 - g - z
    return (b - math.sqrt(b**2 - 4 * g * z)) / (2 * g * z)


def ridge() -> float:
    """Risk by the resolvent and its derivative from the quadratic equation, at a small penalty."""
    g, lam, r2, s2 = 2.0, 1e-6, 1.0, 0.25
    b = 1 - g + lam
    m = (b - math.sqrt(b**2 + 4 * g * lam)) / (-2 * g * lam)
    slope = -(g * m**2 + m) / (-2 * g * lam * m - lam + g - 1)
    return lam**2 * r2 * slope + s2 * g * (m - lam * slope)


def lasso() -> float:
    """Mean squared error by iterating state evolution."""
    delta, rho, s2, theta = 0.5, 0.1, 0.01, 1.5

    def shrunk(x: float, t: float) -> float:
        return math.copysign(max(abs(x) - t, 0), x)

    tau2 = s2 + rho / delta
    for _ in range(60):
        tau = math.sqrt(tau2)
        zero = quad(lambda z, t=tau: shrunk(t * z, theta * t) ** 2 * norm.pdf(z), -10, 10)[0]
        one = quad(lambda z, t=tau: (shrunk(1 + t * z, theta * t) - 1) ** 2 * norm.pdf(z), -10, 10)[0]
        mse = (1 - rho) * zero + rho * one
        tau2 = s2 + mse / delta
    return mse


def spiked() -> float:
    """Overlap just above the transition, by iterating the equation with Gauss-Hermite quadrature."""
    snr, q = 1.05, 0.5
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    for _ in range(200):
        q = float(weights @ np.tanh(snr * q + math.sqrt(snr * q) * nodes)) / math.sqrt(2 * math.pi)
    return q


def logistic() -> float:
    """Test error at a small penalty: damped iteration, proximal points by Newton's method."""
    alpha, lam = 2.0, 0.01
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / math.sqrt(2 * math.pi)
    m, q, V = 0.3, 0.5, 1.0
    for _ in range(400):
        omega = math.sqrt(q) * nodes
        x = omega.copy()
        for _ in range(60):
            f = 1 / (1 + np.exp(x))
            x = np.clip(x - (x - omega - V * f) / (1 + V * f * (1 - f)), omega, omega + V)
        f = 1 / (1 + np.exp(x))
        u = m * nodes / math.sqrt(q - m**2)
        m_hat = 2 * alpha * weights @ (norm.pdf(u) * f) / math.sqrt(1 - m**2 / q)
        q_hat = 2 * alpha * weights @ (norm.cdf(u) * f**2)
        V_hat = 2 * alpha * weights @ (norm.cdf(u) * f * (1 - f) / (1 + V * f * (1 - f)))
        new = 1 / (lam + V_hat)
        m, q, V = (m + m_hat * new) / 2, (q + (m_hat**2 + q_hat) * new**2) / 2, (V + new) / 2
    return math.acos(m / math.sqrt(q)) / math.pi


def binary() -> float:
    """Capacity by solving three equations with adaptive quadrature."""

    def mean(f: Callable[[float], float]) -> float:
        return float(quad(lambda z: f(z) * norm.pdf(z), -10, 10)[0])

    def equations(unknown: Any) -> list[float]:
        q, q_hat, alpha = unknown
        width = math.sqrt(q / (1 - q))
        ratio = mean(lambda z: math.exp(2 * (norm.logpdf(width * z) - norm.logcdf(width * z))))
        entropy = (
            -q_hat * (1 - q) / 2
            + mean(lambda z: math.log(2 * math.cosh(z * math.sqrt(q_hat))))
            + alpha * mean(lambda z: norm.logcdf(width * z))
        )
        return [q - mean(lambda z: math.tanh(z * math.sqrt(q_hat)) ** 2), q_hat - alpha / (1 - q) * ratio, entropy]

    return float(fsolve(equations, [0.56, 2.58, 0.83])[2])


def memory() -> float:
    """Overlap of the Hopfield model by a bracketed root."""
    from scipy.special import erf

    def load(y: float) -> float:
        return erf(y) / y - 2 / math.sqrt(math.pi) * math.exp(-(y**2)) - math.sqrt(2 * 0.137)

    return float(erf(brentq(load, 1.5113, 5)))


def online() -> float:
    """Risk of online learning by SciPy's integrator as it comes."""
    eta, T = 1.0, 1.0

    def slope(_: float, state: Any) -> list[float]:
        R, Q = state
        B, S = math.sqrt((1 + Q) * (1 + T) - R**2), math.sqrt(1 + 2 * Q)
        U = (1 + 2 * Q) * (1 + T) - 2 * R**2
        spread = math.asin((U - 1 - 2 * Q) / U) - 2 * math.asin(R / math.sqrt((1 + 3 * Q) * U))
        spread += math.asin(Q / (1 + 3 * Q))
        return [
            2 * eta / math.pi * ((T * (1 + Q) - R**2) / B - R / S) / (1 + Q),
            4 * eta / math.pi * (R / B - Q / S) / (1 + Q) + 4 * eta**2 / (math.pi**2 * S) * spread,
        ]

    R, Q = solve_ivp(slope, (0, 2), [0, 0.25]).y[:, -1]
    cross = math.asin(R / math.sqrt((1 + Q) * (1 + T)))
    return (math.asin(Q / (1 + Q)) + math.asin(T / (1 + T)) - 2 * cross) / math.pi


QUESTIONS = (
    Question("classics.marchenko-pastur", "m", {"g": "1/2", "z": -1}, resolvent),
    Question("classics.ridge-risk", "risk", {"g": 2, "lam": "1/1000000", "r2": 1, "s2": "1/4"}, ridge),
    Question("classics.lasso", "mse", {"delta": "0.5", "rho": "0.1", "s2": "0.01", "theta": "1.5"}, lasso),
    Question("classics.spiked-wigner", "q", {"snr": "1.05"}, spiked),
    Question("classics.logistic-ridge", "test_error", {"alpha": 2, "lam": "0.01"}, logistic),
    Question("classics.binary-capacity", "alpha", {}, binary),
    Question("classics.hopfield", "m", {"alpha": "0.137"}, memory),
    Question("classics.saad-solla", "risk", {"R": 0, "Q": "1/4", "eta": 1, "time": 2}, online),
)
#: Values to 16 digits where many digits of the engine take long, computed by other means (tests/data).
KNOWN = {
    "classics.logistic-ridge": 0.1747810538773404,
    "classics.binary-capacity": 0.8330785997395792,
    "classics.saad-solla": 0.05872638711868276,
}


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """What a function returns and the processor seconds it takes."""
    begin = time.process_time()
    return function(), time.process_time() - begin


def digits(value: float, truth: float) -> str:
    """How many digits are right."""
    off = abs(value - truth) / abs(truth)
    return "16" if off < 2e-16 else f"{max(0.0, -math.log10(off)):.0f}"


def main() -> None:
    """One row for each answer."""
    for question in QUESTIONS:
        first, cold = timed(lambda q=question: te.predict(q.id, **q.point))
        _, warm = timed(lambda q=question: te.predict(q.id, **q.point))
        value, error = float(first.outputs[question.output]), float(first.errors[question.output])
        truth = KNOWN.get(question.id)
        if truth is None:
            truth = float(te.predict(question.id, digits=25, **question.point).outputs[question.output])
        point = " ".join(f"{k}={v}" for k, v in question.point.items())
        right = digits(value, truth)
        print(f"| {question.id} {question.output} at {point} | theorem-engine | {value:.16g} | {right} | {error:.0e} | "
              f"{cold:.3f}, then {warm:.4f} |")  # fmt: skip
        found, seconds = timed(question.plain)
        print(f"| | plain script | {found:.16g} | {digits(found, truth)} | none | {seconds:.4f} |")
    if importlib.util.find_spec("skrmt"):
        from skrmt.ensemble.spectral_law import MarchenkoPasturDistribution

        law = MarchenkoPasturDistribution(ratio=0.5)
        truth = float(te.predict("classics.marchenko-pastur", g="1/2", z=-1, digits=25).outputs["m"])
        for words, ends in (("", {}), (", ends given", {"lb": law.lambda_minus, "ub": law.lambda_plus})):
            found, seconds = timed(lambda e=ends: law.expect(lambda x: 1 / (x + 1), **e))
            print(f"| m | scikit-rmt{words} | {found:.16g} | {digits(found, truth)} | none | {seconds:.4f} |")


if __name__ == "__main__":
    main()
