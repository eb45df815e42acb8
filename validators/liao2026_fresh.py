"""What regression on attention features says of tokens it was not fitted to, on drawn matrices: no theory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from .liao2026_controls import Run, controlled, length_controls
from .liao2026_model import SIZE, Array, Generator, Point, draw_labels, make_attention, sizes
from .liao2026_ranks import (
    ContextControls,
    Kernel,
    centred,
    correction_orders,
    draw_context,
    draw_noise,
    is_gaussian,
    make_model,
    series_begin,
)
from .simulator import simulator

#: Fresh tokens of one run; and labels that are averaged over on noise, whose tokens do not know them.
FRESH, LABELS = 800, 16
#: Nodes of an inner product with a fresh token, how many standard deviations they reach, and powers of the correlation
#: between two of them that are kept: correlations are of order 1/sqrt(p), so that what is left out is below 1e-6.
NODES, REACH, POWERS = 401, 9.0, 8


# M and M0 are parts of a prediction of +1 or -1, and may vanish
@simulator(
    size=SIZE, orders=correction_orders, cost=3.0, series_from=series_begin, scale={"M": 1.0, "M0": 1.0},
    covers=("error", "misclassified", "M", "M0", "V"),
)  # fmt: skip
def fresh_tokens(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Predictions for fresh tokens by what was fitted on a context: their error, signs, means and variance.

    Fresh Gaussian tokens make the logits Gaussian given the context, so that mean and variance of what is said are
    averaged over them as they are; only signs are drawn.
    """
    p, n = sizes(point)
    gamma, mean, f = float(point["gamma"]), float(point.get("imbalance", 0.0)), centred(point)

    def make_run(p: int, n: int) -> Run:
        mu, vectors, logits = make_model(point, p)
        controls_of = ContextControls(point, n, mu, vectors)

        def run(source: Generator) -> tuple[dict[str, float], Array]:
            tokens, labels = draw_context(point, source, n, mu, mean)
            fitted = _fit(tokens, labels, logits, f, gamma)
            fresh, theirs = _fresh(point, source, mu)
            said = fitted @ f(logits(tokens, fresh))
            found = _judged(said, theirs, mean)
            if not is_gaussian(point):
                return found, controls_of(tokens, labels)
            line = logits(tokens, np.eye(p))
            up, down = (LawOfLogits(line, sign * (line @ mu), f).of_said(fitted) for sign in (1, -1))
            seen = [_sign_controls(said[theirs == sign], law) for sign, law in ((1, up), (-1, down))]
            controls = [controls_of(tokens, labels), _line_controls(fitted @ line, fresh, theirs, mu), *seen]
            return {**found, **_from_laws(up, down, mean)}, np.concatenate(controls)

        def run_on_noise(source: Generator) -> tuple[dict[str, float], Array]:
            # tokens that do not know the labels: the mean over many labels has less spread
            tokens, columns = draw_noise(source, (p, n), point), draw_labels(source, n, mean, LABELS)
            fresh, theirs = _fresh(point, source, mu)
            line, seen = logits(tokens, np.eye(p)), f(logits(tokens, fresh))
            law, rows = LawOfLogits(line, np.zeros(n), f), _fit(tokens, columns, logits, f, gamma).T
            found, controls = [], []
            for fitted, labels in zip(rows, columns.T, strict=True):
                said, here = fitted @ seen, law.of_said(fitted)
                found.append({**_judged(said, theirs, mean), **_from_laws(here, here, mean)})
                controls.append(np.concatenate([length_controls(tokens, labels, mu), _sign_controls(said, here)]))
            return {x: float(np.mean([row[x] for row in found])) for x in found[0]}, np.mean(controls, axis=0)

        return run if np.any(mu) or not is_gaussian(point) else run_on_noise

    return controlled(make_run, ("fresh_tokens", p, n, point), rng, count)


def _fit(tokens: Array, labels: Array, logits: Kernel, f: Callable[[Array], Array], gamma: float) -> Array:
    """What ridge regression on a context makes of attention to its tokens: said = fitted . f(logits)."""
    p, n = tokens.shape
    features = tokens @ make_attention(logits(tokens, tokens), f, p, 0.0)
    gram = features @ features.T
    gram[np.diag_indices(p)] += n * gamma
    found: Array = tokens.T @ np.linalg.solve(gram, features @ labels) / np.sqrt(p)
    return found


class LawOfLogits:
    """Means and covariances of f(t) where t = centre + line z with a standard normal z in many dimensions.

    Covariances of functions of two normal numbers are a series in their correlation, with the functions' Hermite
    coefficients (Mehler).
    """

    def __init__(self, line: Array, centre: Array, f: Callable[[Array], Array]) -> None:
        covariance = line @ line.T
        width = np.sqrt(np.diag(covariance))
        x = np.linspace(-REACH, REACH, NODES)
        law = np.exp(-x * x / 2)
        law /= law.sum()
        # normalised polynomials He_k/sqrt(k!)
        hermite = [np.ones_like(x), x]
        for k in range(1, POWERS):
            hermite.append((x * hermite[k] - np.sqrt(k) * hermite[k - 1]) / np.sqrt(k + 1))
        values = f(centre[:, None] + width[:, None] * x)
        coefficients = values @ (np.array(hermite) * law).T
        correlation = covariance / np.outer(width, width)
        np.fill_diagonal(correlation, 0.0)
        found, power = np.zeros_like(correlation), np.ones_like(correlation)
        for column in coefficients.T[1:]:
            power *= correlation
            found += np.outer(column, column) * power
        self.means = coefficients[:, 0]
        found[np.diag_indices_from(found)] = (values * values) @ law - self.means**2
        self.covariances = found

    def of_said(self, fitted: Array) -> tuple[float, float]:
        """Mean and variance of fitted . f(t)."""
        return float(fitted @ self.means), float(fitted @ self.covariances @ fitted)


def _from_laws(up: tuple[float, float], down: tuple[float, float], mean: float) -> dict[str, float]:
    """Error, means and variance from the mean and variance of what is said of tokens of either label."""
    chance = (1 + mean) / 2, (1 - mean) / 2
    return {
        "error": chance[0] * ((up[0] - 1) ** 2 + up[1]) + chance[1] * ((down[0] + 1) ** 2 + down[1]),
        "M": (up[0] - down[0]) / 2,
        "M0": (up[0] + down[0]) / 2,
        "V": (up[1] + down[1]) / 2,
    }


def _sign_controls(said: Array, law: tuple[float, float]) -> Array:
    """First and second moment of the predictions drawn, in units of their law, less what these are."""
    centre, spread = law[0], np.sqrt(law[1])
    if not spread > 0:
        return np.zeros(2)
    unit = (said - centre) / spread
    return np.array([np.mean(unit), np.mean(unit * unit) - 1])


def _line_controls(line: Array, fresh: Array, theirs: Array, mu: Array) -> Array:
    """What a linear prediction says of the same fresh tokens, less its means, which are those of a Gaussian number.

    The line is that of the context's own logits: what is said without the nonlinearity.
    """
    length = float(np.linalg.norm(line))
    line = line / length if length else np.eye(line.size)[0]
    said, centre = (line @ fresh) * theirs, float(line @ mu)
    found = []
    for here in (said[theirs > 0], said[theirs < 0]):
        found += [
            np.mean(here) - centre,
            np.mean(here**2) - 1 - centre**2,
            np.mean(here < 0) - special.ndtr(-centre),
        ]
    return np.array(found)


def _judged(said: Array, theirs: Array, mean: float) -> dict[str, float]:
    """Half of the fresh tokens have each label; the shares are those of the labels' mean."""
    up, down = said[theirs > 0], said[theirs < 0]
    chance = (1 + mean) / 2, (1 - mean) / 2
    centre = float(np.mean(up)), float(np.mean(down))
    return {
        "error": float(chance[0] * np.mean((up - 1) ** 2) + chance[1] * np.mean((down + 1) ** 2)),
        "misclassified": float(chance[0] * np.mean(up < 0) + chance[1] * np.mean(down > 0)),
        "M": (centre[0] - centre[1]) / 2,
        "M0": (centre[0] + centre[1]) / 2,
        "V": float(np.var(up, ddof=1) + np.var(down, ddof=1)) / 2,
    }


def _fresh(point: Point, rng: Generator, mu: Array) -> tuple[Array, Array]:
    """Tokens that no context holds, half of each label."""
    theirs = np.repeat([1.0, -1.0], FRESH // 2)
    return draw_noise(rng, (mu.size, FRESH), point) + np.outer(mu, theirs), theirs


#: Contexts that show how the error on fresh tokens bends at a penalty.
CONTEXTS = 24


@simulator(
    size=SIZE, orders=correction_orders, cost=3.0, series_from=series_begin, takes=("gamma",), covers=("gamma", "error")
)
def best_penalty(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """The error on fresh tokens at the penalty that is said to be best, and where a step of Newton's leads from there.

    The step is the slope of the error in log gamma over a curvature that a few other contexts show: it leads nowhere
    from the least error.
    """
    p, n = sizes(point)
    gamma, mean, f = float(point["gamma"]), float(point.get("imbalance", 0.0)), centred(point)

    def make_run(p: int, n: int) -> Run:
        mu, vectors, logits = make_model(point, p)
        controls_of = ContextControls(point, n, mu, vectors)

        def run(source: Generator) -> tuple[dict[str, float], Array]:
            tokens, labels = draw_context(point, source, n, mu, mean)
            features = tokens @ make_attention(logits(tokens, tokens), f, p, 0.0)
            fresh, theirs = _fresh(point, source, mu)
            seen = logits(tokens, fresh)
            values, vectors_of = np.linalg.eigh(features @ features.T / n)
            above = np.maximum(values, 0.0) + gamma
            image = vectors_of.T @ (features @ labels) / n
            # what is fitted, and its first two derivatives in log gamma
            share = gamma / above
            rows = (np.stack([image, -image * share, image * share * (2 * share - 1)]) / above) @ vectors_of.T
            rows = rows @ tokens / np.sqrt(p)
            said, first, second = rows @ f(seen)
            weights = np.where(theirs > 0, 1 + mean, 1 - mean) / FRESH
            found = {
                "error": float((said - theirs) ** 2 @ weights),
                "slope": float(2 * ((said - theirs) * first) @ weights),
                "bend": float(2 * (first**2 + (said - theirs) * second) @ weights),
            }
            lines = rows @ logits(tokens, np.eye(p))
            controls = [_line_controls(line, fresh, theirs, mu) for line in lines[:2]]
            return found, np.concatenate([controls_of(tokens, labels), *controls])

        return run

    place = ("best_penalty", p, n, *sorted((name, str(value)) for name, value in point.items()))
    if place not in _BENDS:
        source, run = np.random.default_rng(20260219), make_run(p, n)
        _BENDS[place] = float(np.mean([run(source)[0]["bend"] for _ in range(CONTEXTS)]))
    found = controlled(make_run, ("best_penalty", p, n, point), rng, count)
    return {"gamma": gamma * (1 - found["slope"] / _BENDS[place]), "error": found["error"]}


#: How the error bends, by point and size.
_BENDS: dict[Any, float] = {}
