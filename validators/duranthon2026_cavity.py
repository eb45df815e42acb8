"""One more sequence in the limit of many: cross-checks of predicted order parameters by plain random draws.

In the limit a sequence that was not used in learning is seen through Gaussian fields whose covariances are the order
parameters. These checks are told the predicted order parameters, draw such fields with pseudo-random numbers, solve
the problem of one sequence by a method of their own, and return what the order parameters must be equal to in the mean.
They test the solution and what is derived from it, not the limit itself, which only whole training sets can test.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc, expit, softmax

from .simulator import simulator

Array = NDArray[Any]
Point = Mapping[str, Any]
Generator = np.random.Generator
#: Sequences handled at a time.
CHUNK = 20_000
#: Gauss-Newton steps of the proximal point, and the length of a step that ends them.
STEPS, SHORT = 200, 1e-7
#: Error of v below which it counts as recovered.
RECOVERED = 1e-6


def hidden_first(point: Point, rng: Generator, count: int) -> Array:
    """Scores along k*, (count, L), the hidden token first."""
    length, nu = int(point["L"]), float(point["nu"])
    scores = rng.standard_normal((count, length))
    if point["task"] == "spiked":
        scores[:, 0] += np.sqrt(nu)
        return scores
    chosen = scores if np.isinf(nu) else nu * scores + rng.gumbel(size=scores.shape)
    place = np.argmax(chosen, axis=1)
    every = np.arange(count)
    scores[every, place], scores[every, 0] = scores[every, 0], scores[every, place].copy()
    return scores


def _weigh(name: str, scores: Array, values: Array, shift: float = 0.0) -> tuple[Array, Array]:
    """Weights, and the derivative of sum(weights * values) in the scores."""
    if name == "linear":
        return 1 + scores, values
    if name == "erf":
        return erfc(-(shift + scores)), 2 / np.sqrt(np.pi) * np.exp(-((shift + scores) ** 2)) * values
    if name == "softplus":
        kernel = np.logaddexp(0, scores)
        total = np.sum(kernel, axis=1, keepdims=True)
        answer = np.sum(kernel * values, axis=1, keepdims=True) / total
        return kernel / total, expit(scores) / total * (values - answer)
    weights = softmax(scores, axis=1)
    return weights, weights * (values - np.sum(weights * values, axis=1, keepdims=True))


def _proximal(
    name: str, omega: Array, w: Array, y: Array, widths: tuple[float, float], shift: float = 0.0
) -> tuple[Array, Array, Array]:
    """Minimiser (chi, z) of |chi-omega|^2/(2 V_k) + |z-w|^2/(2 V_v) + (y - sigma.z)^2/2, and the residual y - sigma.z.

    Gauss-Newton in all 2 L unknowns at once: the normal matrix is diagonal plus a matrix of rank one. Steps are
    halved until the objective falls.
    """
    width_k, width_v = widths
    chi, z = omega.copy(), w.copy()

    def height(chi: Array, z: Array, here: Array) -> tuple[Array, Array]:
        miss = y[here] - np.sum(_weigh(name, chi, z, shift)[0] * z, axis=1)
        near = np.sum((chi - omega[here]) ** 2, axis=1) / width_k + np.sum((z - w[here]) ** 2, axis=1) / width_v
        return (near + miss**2) / 2, miss

    here = np.arange(len(y))
    value, miss = height(chi, z, here)
    for _ in range(STEPS):
        x, u = chi[here], z[here]
        weights, slope = _weigh(name, x, u, shift)
        lack_k, lack_v = omega[here] - x, w[here] - u
        stiff = 1 + width_k * np.sum(slope**2, axis=1) + width_v * np.sum(weights**2, axis=1)
        along = miss[here] - np.sum(slope * lack_k, axis=1) - np.sum(weights * lack_v, axis=1)
        gain = (along / stiff)[:, None]
        step_k, step_v = lack_k + width_k * gain * slope, lack_v + width_v * gain * weights
        scale = np.ones((len(here), 1))
        for _ in range(30):
            new, left = height(x + scale * step_k, u + scale * step_v, here)
            high = new > value[here] + 1e-14
            if not high.any():
                break
            scale[high] /= 2
        chi[here], z[here] = x + scale * step_k, u + scale * step_v
        value[here], miss[here] = new, left
        size = np.maximum(np.max(np.abs(step_k), axis=1), np.max(np.abs(step_v), axis=1))
        here = here[size > SHORT]
        if not here.size:
            break
    return chi, z, miss


@simulator(
    exact=True,
    takes=("m_k", "q_k", "V_k", "m_v", "q_v", "V_v", "r_k", "r_v"),
    covers=("risk", "train_error", "m_k", "q_k", "m_v", "q_v"),
)
def minimiser_of_one(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """What penalised minimisers are equal to in the mean, from sequences seen through the predicted order parameters.

    Stationarity of the objective along k*, k, v* and v, whatever the size, is r m = alpha E f.(chi* or z*) and
    r q = alpha E f.(proximal point), f being the pull of a sequence; the residual at the proximal point is that of
    training, the one at the fields that of fresh data.
    """
    blocks = [_one_block(point, rng, min(CHUNK, count - begin)) for begin in range(0, count, CHUNK)]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def _one_block(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    name, alpha, delta = str(point["activation"]), float(point["alpha"]), float(point.get("delta", 0.0))
    m_k, q_k, m_v, q_v = (float(point[x]) for x in ("m_k", "q_k", "m_v", "q_v"))
    widths = float(point["V_k"]), float(point["V_v"])
    chi_star = hidden_first(point, rng, count)
    z_star = rng.standard_normal(chi_star.shape)
    y = z_star[:, 0] + delta * rng.standard_normal(count)
    omega = m_k * chi_star + np.sqrt(max(q_k - m_k**2, 0.0)) * rng.standard_normal(chi_star.shape)
    w = m_v * z_star + np.sqrt(max(q_v - m_v**2, 0.0)) * rng.standard_normal(chi_star.shape)
    shift = float(point.get("shift") or 0.0)
    chi, z, miss = _proximal(name, omega, w, y, widths, shift)
    pull_k, pull_v = (chi - omega) / widths[0], (z - w) / widths[1]
    share_k, share_v = alpha / float(point["r_k"]), alpha / float(point["r_v"])
    fresh = y - np.sum(_weigh(name, omega, w, shift)[0] * w, axis=1)
    return {
        "risk": fresh**2,
        "train_error": miss**2,
        "m_k": share_k * np.sum(pull_k * chi_star, axis=1),
        "q_k": share_k * np.sum(pull_k * chi, axis=1),
        "m_v": share_v * np.sum(pull_v * z_star, axis=1),
        "q_v": share_v * np.sum(pull_v * z, axis=1),
    }


@simulator(exact=True, takes=("m_v", "q_v", "V_v"), covers=("risk", "train_error", "m_v", "q_v"))
def ridge_of_one(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The same with k = 0: all tokens have one weight, and the proximal point of the values is that of a square."""
    length, alpha, delta = int(point["L"]), float(point["alpha"]), float(point.get("delta", 0.0))
    m_v, q_v, width = (float(point[x]) for x in ("m_v", "q_v", "V_v"))
    weight = 1 / length if point["activation"] == "softmax" else 1.0
    z_star = rng.standard_normal((count, length))
    y = z_star[:, 0] + delta * rng.standard_normal(count)
    w = m_v * z_star + np.sqrt(q_v - m_v**2) * rng.standard_normal(z_star.shape)
    fresh = y - weight * np.sum(w, axis=1)
    miss = fresh / (1 + width * length * weight**2)
    share = alpha / float(point["r_v"]) * miss * weight
    return {
        "risk": fresh**2,
        "train_error": miss**2,
        "m_v": share * np.sum(z_star, axis=1),
        "q_v": share * np.sum(w + width * weight * miss[:, None], axis=1),
    }


@simulator(exact=True, takes=("q_k", "q_v"), covers=("risk",))
def two_answers(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Half the squared distance of two labels drawn independently given the same fields: the least mean squared error.

    The fields omega and w are what the posterior means of k and v, with overlaps q_k and q_v, see of a sequence. A
    label is w at the hidden position plus what is unknown of v and the noise.
    """
    q_k, q_v, delta = float(point["q_k"]), float(point["q_v"]), float(point.get("delta", 0.0))
    length, nu = int(point["L"]), float(point["nu"])
    omega = q_k * hidden_first(point, rng, count) + np.sqrt(q_k * (1 - q_k)) * rng.standard_normal((count, length))
    w = np.sqrt(q_v) * rng.standard_normal((count, length))
    every = np.arange(count)
    if point["task"] == "spiked":
        # by Bayes' rule position l has odds exp(sqrt(nu) omega_l) given omega
        again = np.argmax(np.sqrt(nu) * omega + rng.gumbel(size=omega.shape), axis=1)
    else:
        scores = omega + np.sqrt(1 - q_k) * rng.standard_normal(omega.shape)
        again = np.argmax(scores if np.isinf(nu) else nu * scores + rng.gumbel(size=scores.shape), axis=1)
    unknown = np.sqrt(1 - q_v + delta**2) * rng.standard_normal((2, count))
    gap = w[:, 0] + unknown[0] - w[every, again] - unknown[1]
    return {"risk": gap**2 / 2}


def _noise(point: Point, rng: Generator, count: int) -> tuple[Array, Array, Array, Array]:
    """Scores along k*, and standard normal numbers for the fields of scores, of values, and for the label."""
    if point["task"] != "spiked":
        raise ValueError("the posterior given the label is written down for the spiked task only")
    shape = count, int(point["L"])
    scores = hidden_first(point, rng, count)
    return scores, rng.standard_normal(shape), rng.standard_normal(shape), rng.standard_normal((count, 1))


def _posterior(point: Point, noise: tuple[Array, ...], q_k: float, q_v: float) -> tuple[Array, Array]:
    """Posterior weights of the positions given fields and label, and (y - w)/tau."""
    scores, key, value, label = noise
    tau = 1 - q_v + float(point.get("delta", 0.0)) ** 2
    omega = q_k * scores + np.sqrt(q_k * (1 - q_k)) * key
    w = np.sqrt(q_v) * value
    miss = w[:, :1] + np.sqrt(tau) * label - w
    return softmax(np.sqrt(float(point["nu"])) * omega - miss**2 / (2 * tau), axis=1), miss / tau


@simulator(exact=True, takes=("alpha", "q_k", "q_v"), covers=("q_k", "q_v", "alpha"))
def posterior_of_one(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """What the overlaps of posterior means are equal to in the mean: q = (1 - q) alpha E |g|^2.

    g is the derivative of the log evidence of one sequence in its fields; all positions enter, not the hidden one only.
    """
    alpha, nu, q_k, q_v = (float(point[x]) for x in ("alpha", "nu", "q_k", "q_v"))
    if 1 - q_v < RECOVERED:
        raise ValueError("where v is recovered the posterior given the label is a certainty")
    weights, pull = _posterior(point, _noise(point, rng, count), q_k, q_v)
    found_v = (1 - q_v) * alpha * np.sum((weights * pull) ** 2, axis=1)
    return {
        "q_k": (1 - q_k) * alpha * nu * np.sum(weights**2, axis=1),
        "q_v": found_v,
        "alpha": alpha * found_v / q_v,
    }


#: Draws of one search for the threshold, its halvings, and steps after which a slow evolution counts as stuck.
DRAWS, HALVINGS, PATIENCE = 2**12, 8, 300


# systematic: the interval left after the halvings, and runs too slow to tell from stuck ones
@simulator(exact=True, systematic=0.004, covers=("alpha_alg",))
def recovery_threshold(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Smallest alpha from which state evolution recovers v without noise from no knowledge, by halving an interval."""
    return {"alpha_alg": np.array([_threshold(point, rng) for _ in range(count)])}


#: Error of v at which the map of state evolution near recovery is looked at.
NEARLY = 1e-8


# systematic: what is left of the wrong positions at that error of v
@simulator(exact=True, systematic=0.0005, covers=("alpha_it",))
def recovery_stability(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The alpha at which one step of state evolution keeps a tiny error of v: above it, recovery is stable.

    It is one over a mean; the inverse is taken to first order about a mean over other draws, so that it has no bias.
    """
    nu = float(point["nu"])

    def gains(draws: int) -> Array:
        weights, pull = _posterior(point, _noise(point, rng, draws), nu / (1 + nu), 1 - NEARLY)
        found: Array = NEARLY * np.sum((weights * pull) ** 2, axis=1)
        return found

    middle = float(np.mean(gains(max(16 * DRAWS, count))))
    return {"alpha_it": 1 / middle - (gains(count) - middle) / middle**2}


@simulator(exact=True, takes=("alpha_alg",), covers=("risk_after",))
def recovered_answers(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Half the squared distance of two labels given the fields where v is known and k as alpha sequences show it."""
    if point["task"] != "spiked":
        raise ValueError("what is known of k once v is recovered is written down for the spiked task only")
    seen = float(point["alpha_alg"]) * float(point["nu"])
    return {"risk_after": two_answers({**point, "q_v": 1.0, "q_k": seen / (1 + seen)}, rng, count)["risk"]}


def _threshold(point: Point, rng: Generator) -> float:
    noise, nu = _noise(point, rng, DRAWS), float(point["nu"])

    def recovers(alpha: float) -> bool:
        q_k, d_v = 0.0, 1.0
        for _ in range(PATIENCE):
            weights, pull = _posterior(point, noise, q_k, 1 - d_v)
            gain_k = alpha * nu * np.mean(np.sum(weights**2, axis=1))
            gain_v = alpha * np.mean(np.sum((weights * pull) ** 2, axis=1))
            q_k, before, d_v = gain_k / (1 + gain_k), d_v, 1 / (1 + gain_v)
            if d_v < 1e-2 or abs(d_v - before) < 1e-6:
                break
        return d_v < 1e-2

    low, high = 1.0, 3.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if recovers(middle) else (middle, high)
    return (low + high) / 2
