"""Limits of strong signals and long sequences, fitted to risks by quadrature.

Rates and coefficients come from risks at growing signals or lengths; two fits of different degree, or to different
lengths, show how well they are known. No expansion of a risk is used.
"""

from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx

from .duranthon2026_model import lengths
from .duranthon2026_quadrature import (
    argmax_risk,
    feature_moments,
    hidden_mean,
    linear_gain,
    max_element_wise_gain,
    max_softmax,
    max_softmax_gain,
    normal,
    own_probability,
    softplus_gain,
    spiked_element_wise,
    spiked_element_wise_gain,
    spiked_erf,
    spiked_linear,
    spiked_softmax,
    spiked_softmax_gain,
)
from .simulator import simulator

#: Terms of the series in 1/nu that an entry states beyond the first.
TERMS = {("spiked", "softmax"): 3, ("spiked", "erf"): 1, ("spiked", "linear"): 1, ("spiked", "centred-linear"): 1,
         ("spiked", "element-wise-optimal"): 1, ("max", "softmax"): 2}  # fmt: skip
#: Where the signal at which the risk turns is computed.
TURNS = {
    *(("spiked", name) for name in ("linear", "centred-linear", "softplus", "element-wise-optimal", "softmax")),
    ("max", "softmax"),
}


def _nodes(low, high, count):
    """Signals whose inverses are Chebyshev's nodes."""
    turn = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    return 1 / ((1 / low + 1 / high) / 2 + (1 / low - 1 / high) / 2 * turn)


def _near(value, denominator, within):
    """The simple fraction a fitted number is, if it is one within its accuracy."""
    simple = float(Fraction(round(value * denominator), denominator))
    return simple if abs(value - simple) < within else value


def _fit_signal(signals, risks, degree):
    """Rate and power of nu, and the coefficients of the series in 1/nu that multiplies them."""
    powers = np.stack([(signals[0] / signals) ** i for i in range(degree + 1)], axis=1)
    terms = np.column_stack([-signals, -np.log(signals), powers])
    rate, power = np.linalg.lstsq(terms, np.log(risks), rcond=None)[0][:2]
    rate, power = _near(rate, 24, 2e-3), _near(power, 2, 0.1)
    scaled = np.exp(np.log(risks) + rate * signals + power * np.log(signals))
    coefficients = np.linalg.lstsq(powers, scaled, rcond=None)[0] * signals[0] ** np.arange(degree + 1)
    return rate, power, coefficients


@simulator(deterministic=True, tolerance=2e-5, covers=("leading", "series", "exponent"))
def strong_signal(point, rng, count=2):
    """Leading term, series and rate of the minimal risk as nu grows, at the nu of the point.

    In the max task all activations but softmax keep a risk at infinite nu, which is then all there is.
    """
    name, task, nu = point["activation"], point["task"], float(point["nu"])
    pairs = [(int(n), float(w)) for n, w in zip(*lengths(point), strict=True)]
    others = sum(n * w for n, w in pairs) - 1
    if not np.isfinite(nu) or nu <= 0:
        raise ValueError("a term of a series in 1/nu needs a finite positive signal")
    if others <= 0:
        raise ValueError("a single token is always right: there is no risk to expand")
    if task == "max" and name != "softmax":
        final = [argmax_risk(name, pairs, run) for run in range(2)]
        return {"leading": final, "series": final, "exponent": [0.0, 0.0]}

    def mean(risk):
        return sum(w * risk(n) for n, w in pairs if n > 1)

    if task == "max":
        signals, risk, degree = _nodes(12, 60, 12), (lambda a: mean(lambda n: max_softmax(a, n))), 8
    elif name == "softmax":
        # more than two tokens may tie, which costs a share exp(-nu/12): the signals must be beyond that
        signals, risk, degree = _nodes(380, 1600, 10), (lambda a: mean(lambda n: spiked_softmax(a, n))), 6
    elif name in ("linear", "centred-linear"):
        signals, risk, degree = _nodes(40 * (others + 1), 4000 * (others + 1), 9), (
            lambda a: spiked_linear(name, a, pairs)), 6  # fmt: skip
    elif name == "element-wise-optimal":
        signals, risk, degree = _nodes(120, 1500, 10), (lambda a: spiked_element_wise(a, others)), 7
    elif name == "erf":
        signals, risk, degree = _nodes(120, 1000, 9), (lambda a: spiked_erf(a, others)), 6
    elif name == "softplus":
        return _softplus_signal(nu, pairs)
    else:
        raise ValueError(f"the risk of {name} is not computed here")
    risks = np.array([risk(a) for a in signals])
    results = {"leading": [], "exponent": [], "series": []}
    for run in range(2):
        rate, power, coefficients = _fit_signal(signals, risks, degree - run)
        front = np.exp(-rate * nu) * nu**-power
        results["leading"].append(float(front * coefficients[0]))
        results["exponent"].append(float(rate))
        terms = TERMS.get((task, name), 0)
        results["series"].append(float(front * sum(coefficients[i] * nu**-i for i in range(terms + 1))))
    if (task, name) not in TERMS:
        del results["series"]
    return results


def _softplus_signal(nu, pairs):
    """A power law that is approached in powers of 1/sqrt(nu)."""
    signals = np.geomspace(1e4, 1e8, 9)
    scaled = np.array([a * (1 - softplus_gain(a, pairs)) for a in signals])
    x = np.sqrt(signals[0] / signals)
    rate = np.linalg.lstsq(np.column_stack([-signals / signals[0], -np.log(signals), x**0, x, x**2]),
                           np.log(scaled / signals), rcond=None)[0][0] / signals[0]  # fmt: skip
    runs = [float(np.polynomial.polynomial.polyfit(x, scaled, degree)[0]) / nu for degree in (5, 4)]
    return {"leading": runs, "series": runs, "exponent": [_near(float(rate), 24, 2e-3)] * 2}


@simulator(deterministic=True, tolerance=2e-5, covers=("leading", "series", "exponent"))
def long_sequences(point, rng, count=2):
    """One minus the risk to first order as all lengths grow in proportion, taken at the lengths of the point.

    The lengths are multiplied by a factor that goes to infinity; the constant c is that of a single length.
    """
    name, task, nu = point["activation"], point["task"], float(point["nu"])
    pairs = [(float(n), float(w)) for n, w in zip(*lengths(point), strict=True)]
    square = nu if task == "spiked" else nu**2
    if not 0 < square < 100:
        raise ValueError(f"the square of the slope, {square:g}, is outside the range of the quadrature, 0 to 100")
    if name == "erf":
        # weights of one token at a time: the norm of the predictor sees the mean of the length
        constants = [(_erf_constant(task, nu, square, ends), 0.0) for ends in (4, 5)]
        runs = [(c / sum(n * w for n, w in pairs), 0.0) for c, _ in constants]
    else:
        constants = _gains(name, task, nu, square, [(1.0, 1.0)])
        runs = _gains(name, task, nu, square, pairs)
    results = {
        "leading": [1 - c for c, _ in runs],
        "series": [1 - c - d for c, d in runs],
        "exponent": [float(np.log(c)) for c, _ in constants],
    }
    if (task, name) != ("spiked", "linear"):
        results["series"] = results["leading"]
    return results


def _gains(name, task, nu, square, pairs):
    """c and d of s (1 - risk) = c + d/s + ... where all lengths are s times those given, beyond every other scale."""
    slow = name == "softplus"
    factors = (1e4 if slow else 1e4 * np.exp(3 * square)) * 2.0 ** np.arange(4)
    if task == "spiked" and name in ("linear", "centred-linear"):
        # near enough for the next order to be seen
        factors = 1e4 * (1 + square) * 2.0 ** np.arange(4)
    factors = factors / min(n for n, _ in pairs)

    def each(gain):
        return lambda law: sum(w * gain(nu, n) for n, w in law)

    gains = {
        # the best weights of every length are those of the posterior
        ("spiked", "softmax"): each(spiked_softmax_gain),
        ("max", "softmax"): each(max_softmax_gain),
        ("spiked", "element-wise-optimal"): lambda law: spiked_element_wise_gain(nu, sum(n * w for n, w in law)),
        ("max", "element-wise-optimal"): lambda law: max_element_wise_gain(nu, law),
        ("spiked", "softplus"): lambda law: softplus_gain(nu, law),
    }
    if name in ("linear", "centred-linear"):

        def gain(law):
            signal = sum(w * hidden_mean(task, nu, n) for n, w in law)
            return linear_gain(*feature_moments(name, task, signal, law))

    elif (task, name) in gains:
        gain = gains[task, name]
    else:
        raise ValueError(f"{name} in the {task} task is not computed here")
    values = np.array([s * gain([(s * n, w) for n, w in pairs]) for s in factors])
    runs = []
    for used in (slice(0, 4), slice(1, 4)):
        x = factors[0] / factors[used]
        found = np.polynomial.polynomial.polyfit(x, values[used], len(x) - 1)
        runs.append((float(found[0]), float(found[1] * factors[0])))
    return runs


def _erf_constant(task, nu, square, ends):
    """Slope times shift held at the posterior's slope while the shift goes down, extrapolated in its inverse square."""
    x = np.arange(-12.0, 14.0 + 2 * np.sqrt(square), 0.01)
    hidden = normal(x, np.sqrt(nu))
    if task == "max":
        x, own = own_probability(nu, 1e8 * np.exp(3 * square))
        hidden = own * normal(x)
    shifts = (20 + 5 * square) * np.sqrt(2.0) ** np.arange(ends)
    values = []
    for shift in shifts:
        m = np.sqrt(square) / (2 * shift)
        weight = erfcx(shift - m * x) * np.exp(2 * shift * m * x - (m * x) ** 2)
        values.append((hidden @ weight) ** 2 / (normal(x) @ weight**2) * (x[1] - x[0]))
    return float(np.polynomial.polynomial.polyfit((shifts[0] / shifts) ** 2, values, ends - 1)[0])


@lru_cache(maxsize=8)
def _turn(task, name, law):
    """Signal at which the risk turns over the size it grows with, at infinite length; twice, by different fits.

    ``law`` holds lengths relative to their mean and their probabilities.
    """
    if name in ("linear", "centred-linear", "softplus"):
        sizes = 1e3 * 4.0 ** np.arange(2 if name == "softplus" else 4)
        variable = sizes[0] / sizes

        def risk(a, size):
            pairs = [(size * n, w) for n, w in law]
            return 1 - softplus_gain(a, pairs) if name == "softplus" else spiked_linear(name, a, pairs)

        # each value of softplus is a minimum of its own
        low, high, precision = (0.3, 0.8, 1e-4) if name == "softplus" else (0.2, 5.0, 1e-12)
        found = [brentq(lambda a, n=n: risk(a, n) - 0.5, low * n, high * n, rtol=precision) / n for n in sizes]
    else:
        logs = np.array([40.0, 80.0, 160.0, 320.0])
        variable = logs[0] / logs if task == "max" else np.sqrt(logs[0] / logs)
        gain = {
            ("spiked", "softmax"): spiked_softmax_gain,
            ("max", "softmax"): max_softmax_gain,
            ("spiked", "element-wise-optimal"): lambda a, n: 1 - spiked_element_wise(a, n - 1),
        }[task, name]
        ends = (lambda n: (1.5 * n, 2.5 * n)) if task == "spiked" else (lambda n: (2.2 * n**0.5, 4 * n**0.5))
        found = [
            brentq(lambda a, n=n: gain(a, np.exp(n)) - 0.5, *ends(n), rtol=1e-5)
            / (n if task == "spiked" else 2 * np.sqrt(n))
            for n in logs
        ]
    return [float(np.polynomial.polynomial.polyfit(variable[i:], found[i:], len(found) - 1 - i)[0]) for i in (0, 1)]


@simulator(deterministic=True, tolerance=5e-3, covers=("threshold",))
def risk_threshold(point, rng, count=2):
    """The signal at which the risk turns, from where it is one half in ever longer sequences.

    Over its claimed size, log L, sqrt(log L) or L, that signal is extrapolated to infinite length; the result is
    taken to the lengths of the point. In the max task the risk of softmax falls like one over the signal beyond
    the turn, so it is one half at twice the signal. Softmax turns for each length by itself: the mean is returned.
    """
    name, task = point["activation"], point["task"]
    pairs = [(float(n), float(w)) for n, w in zip(*lengths(point), strict=True)]
    mean = sum(n * w for n, w in pairs)
    if (task, name) not in TURNS:
        raise ValueError(f"the turn of {name} in the {task} task is not computed here")
    if name in ("linear", "centred-linear", "softplus"):
        return {"threshold": [turn * mean for turn in _turn(task, name, tuple((n / mean, w) for n, w in pairs))]}
    if name == "softmax":
        unit = sum(w * (np.log(n) if task == "spiked" else np.sqrt(np.log(n))) for n, w in pairs)
    else:
        unit = np.log(mean)
    return {"threshold": [turn * float(unit) for turn in _turn(task, name, ((1.0, 1.0),))]}
