"""The error of a minimum: the noise of its function; of a minimiser: where the sign of the slope is not certain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric, get_backend
from theorem_engine.backends.rounded import solved_errors
from theorem_engine.backends.rounded.number import UNIT, Rounded, each_place, error_of, value_of
from theorem_engine.backends.rounded.root import certain_bracket
from theorem_engine.base.reports import own_notes

#: A minimiser so near an end of its range is the end.
AT_END = 1e-9
#: Widths at which a valley known by its values alone is looked at, relative to its place: the first, and how many,
#: each four times the one before, up to about a half.
CLOSEST, STEPS = 2e-9, 15
#: A search by values that ends so near an end of its range, relative to its place, may mean the end.
BESIDE = 1e-4


def lower(minima: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend, plain: Numeric) -> Numeric:
    """Value and minimisers as float64 finds them, judged by body and slopes evaluated there with their noise."""
    (minimum,) = minima
    letters = minimum.letters
    body = backend.function([*letters, *parameters], [minimum.body])
    derivatives = [minimum.body.diff(x) for x in letters] if minimum.slopes else []
    slopes = backend.function([*letters, *parameters], derivatives)
    bare = get_backend("float64").function([*letters, *parameters], derivatives)
    # a local minimum is followed from a start and has no ends
    has_ends = minimum.lowering == "minimum"
    ends = backend.function(parameters, [end for pair in minimum.ranges for end in pair] if has_ends else [])

    def evaluate(*values: Any) -> list[Any]:
        centre = [value_of(v) for v in values]
        with own_notes() as notes:
            best, *where, attained = (float(r) for r in plain(*centre))
        if not np.all(np.isfinite(where)):
            return _unknown((best, *where, attained))
        if not minimum.slopes and len(where) > 1:
            # a search by values alone does not know how far it is from the bottom
            return _unknown((best, *where, attained))
        here = [Rounded(x) for x in where]
        edges = ends(*values) if has_ends else []
        if not attained:
            # the infimum is a limit: the search says how far below the last place it may lie
            left = max((float(np.max(n.error[0])) for n in notes if isinstance(n.error, list)), default=np.inf)
            noise = error_of(body(*here, *values)[0])
            return [Rounded(best, noise + left), *(Rounded(x, np.inf) for x in where), Rounded(attained)]

        def height(u: float) -> tuple[float, float]:
            level = body(Rounded(u), *values)[0]
            return float(value_of(level)), float(error_of(level))

        if not minimum.slopes:
            below, within = _by_values(height, where[0], [float(value_of(end)) for end in edges])
            return [Rounded(best, below), Rounded(where[0], within), Rounded(attained)]
        found = slopes(*here, *values)
        uncertain = np.array([abs(value_of(s)) + error_of(s) for s in found], dtype=float)
        at_end = [_end_error(x, edges[2 * i : 2 * i + 2]) for i, x in enumerate(where)]
        free = [i for i, e in enumerate(at_end) if e is None]
        errors = [0.0 if e is None else e for e in at_end]
        if len(where) == 1 and free:

            def noisy(u: float) -> tuple[float, float]:
                slope = slopes(Rounded(u), *values)[0]
                return float(value_of(slope)), float(error_of(slope))

            def plain_slope(u: float) -> float:
                return float(bare(u, *centre)[0])

            known = float(value_of(found[0])), float(error_of(found[0]))
            errors[0] = certain_bracket(noisy, where[0], plain_slope, known)
        elif free:
            curvature = _curvature(bare, where, centre)[np.ix_(free, free)]
            for i, e in zip(free, 2 * solved_errors(curvature, uncertain[free]), strict=True):
                errors[i] = e
        noise = error_of(body(*here, *values)[0])
        # how much lower the bottom can lie than the place that was found
        below = sum(u * e for u, e in zip(uncertain, errors, strict=True) if e > 0)
        if not np.isfinite(below):
            # nothing is told by slopes, as where the scale of a letter does not matter
            below = (
                _by_values(height, where[0], [float(value_of(end)) for end in edges])[0] if len(where) == 1 else np.inf
            )
        placed = (Rounded(x, e) for x, e in zip(where, errors, strict=True))
        return [Rounded(best, noise + below), *placed, Rounded(attained)]

    return lambda *values: each_place(evaluate, values)


def _by_values(height: Callable[[float], tuple[float, float]], x: float, edges: list[float]) -> tuple[float, float]:
    """How much lower than at x a function may be at the bottom of its valley, noise included, and how far that may lie.

    Beyond places on both sides where it is certainly higher it does not fall below again. Between them it is convex,
    thus above the chords continued from the other side: lower by no more than it rises. Where it is nowhere certainly
    higher, it is flat on the scale of x, and all that is told is how far it varies. Beyond the ends of the range
    nothing is looked at.
    """
    value, noise = height(x)
    room = min((abs(x - end) for end in edges), default=np.inf)
    if room < BESIDE * abs(x):
        end, other = sorted(edges, key=lambda e: abs(x - e))
        return _by_values_at_end(height, value, noise, abs(x - end), end, other)
    rise = doubt = 0.0
    all_widths = abs(x) * CLOSEST * 4.0 ** np.arange(STEPS)
    widths = all_widths[all_widths <= room]
    is_bottom = True
    # the widest first, since nothing is to be found nearer where it is flat that far
    for look, width in enumerate((widths[-1], *widths)):
        sides = [height(x + sign * width) for sign in (-1, 1)]
        doubt = noise + max(error for _, error in sides)
        if not np.isfinite(doubt):
            return np.inf, np.inf
        rises = [level - value for level, _ in sides]
        # a search by values ends beside the bottom; farther off both sides are higher
        is_bottom = is_bottom and min(rises) >= -doubt
        spread = max(map(abs, rises))
        if look and min(rises) > doubt:
            return spread + doubt, float(width)
        rise = max(rise, spread)
        if not look and rise <= doubt:
            break
    # how far it varies tells nothing of what was not looked at
    return (rise + doubt if is_bottom and len(widths) == STEPS else np.inf), np.inf


def _by_values_at_end(
    height: Callable[[float], tuple[float, float]], value: float, noise: float, gap: float, end: float, other: float
) -> tuple[float, float]:
    """The same at an end of the range, ``gap`` away from it: where the function rises from there, the bottom is before.

    It is convex there, thus above the chord of the two places behind continued to the end.
    """
    inward = 1.0 if other > end else -1.0
    first, doubt = height(end)
    for width in max(4 * gap, CLOSEST * abs(end)) * 4.0 ** np.arange(STEPS):
        if not 2 * width <= abs(other - end):
            break
        levels = [height(end + inward * k * width) for k in (1, 2)]
        doubts = [doubt, *(error for _, error in levels)]
        (near, _), (far, _) = levels
        if near - first > doubts[0] + doubts[1] and far - near > doubts[1] + doubts[2]:
            return max(value - (2 * near - far), 0.0) + noise + 3 * sum(doubts), float(width)
    return np.inf, np.inf


def _unknown(found: Any) -> list[Any]:
    """Value and minimisers of which nothing is known beside them; whether they are attained is no number."""
    *numbers, attained = found
    return [*(Rounded(float(r), np.inf) for r in numbers), Rounded(float(attained))]


def _end_error(x: float, ends: Any) -> float | None:
    """The error of a minimiser at an end of its range, which is that of the end; None inside the range."""
    for end in ends:
        place = float(value_of(end))
        if np.isfinite(place) and abs(x - place) <= AT_END * abs(place):
            return float(error_of(end)) + abs(x - place) + UNIT * abs(x)
    return None


def _curvature(slopes: Numeric, where: list[float], parameters: list[Any]) -> Any:
    """Second derivatives by central differences of the slopes."""
    columns = []
    for k, x in enumerate(where):
        step = 1e-5 * max(abs(x), 1e-3)
        up, down = (
            np.array([float(s) for s in slopes(*where[:k], x + sign * step, *where[k + 1 :], *parameters)])
            for sign in (1, -1)
        )
        columns.append((up - down) / (2 * step))
    return np.array(columns)
