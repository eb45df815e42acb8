"""What regression on attention features says of tokens it was not fitted to, on drawn matrices: no theory."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .liao2026_controls import Run, controlled
from .liao2026_model import SIZE, Array, Generator, Point, make_attention, sizes
from .liao2026_ranks import (
    ContextControls,
    centred,
    correction_orders,
    draw_context,
    draw_noise,
    make_model,
    series_begin,
)
from .simulator import simulator

#: Fresh tokens of one run.
FRESH = 800


# M and M0 are parts of a prediction of +1 or -1, and may vanish
@simulator(
    size=SIZE, orders=correction_orders, cost=3.0, series_from=series_begin, scale={"M": 1.0, "M0": 1.0},
    covers=("error", "misclassified", "M", "M0", "V"),
)  # fmt: skip
def fresh_tokens(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Predictions for fresh tokens by what was fitted on a context: their error, signs, means and variance."""
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
            gram = features @ features.T
            gram[np.diag_indices(p)] += n * gamma
            fitted = np.linalg.solve(gram, features @ labels) @ tokens / np.sqrt(p)
            said = fitted @ f(seen)
            line = fitted @ logits(tokens, np.eye(p))
            controls = [controls_of(tokens, labels), _line_controls(line, fresh, theirs, mu)]
            return _judged(said, theirs, mean), np.concatenate(controls)

        return run

    return controlled(make_run, ("fresh_tokens", p, n, point), rng, count)


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
