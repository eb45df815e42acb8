"""Roots and minima of one scalar function, found by a scan and then polished."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from theorem_engine.base.errors import NotConverged
from theorem_engine.numerics.roughly import Function, Graded
from theorem_engine.numerics.solvers.torn import crossing

SCAN = 129


def scan_points(low: float, high: float, count: int = SCAN) -> Any:
    """Points of a range: geometric if it is positive, else uniform; infinite ends are tamed."""
    low = max(low, -1e6)
    if math.isinf(high):
        high = low * 1e12 if low > 0 else 1e6
    if low > 0:
        return np.geomspace(low, high, count)
    return np.linspace(low, high, count)


def find_root(
    function: Callable[[float], float], low: float, high: float, *, last: bool = False, count: int = SCAN
) -> float:
    """The first (or last) sign change in [low, high], to full precision; infinity if there is none."""
    points = [float(p) for p in scan_points(low, high, count)]
    # the scan begins at the end whose sign change is meant, and goes no farther than that
    if last:
        points.reverse()
    before, value = math.nan, math.nan
    values: dict[float, float] = {}
    for i, point in enumerate(points):
        before, value = value, function(point)
        values[point] = value
        if value == 0:
            return point
        if i and math.isfinite(before) and math.isfinite(value) and (before < 0) != (value < 0):
            return crossing(function, values, *sorted((points[i - 1], point)))
    return math.inf


def find_minimum(
    function: Callable[[float], float], slope: Callable[[float], float], low: float, high: float, count: int = SCAN
) -> float:
    """The global minimiser on a range: the best scanned valley, then the zero of the slope in it."""
    from scipy.optimize import brentq, minimize_scalar

    points = scan_points(low, high, count)
    values = np.array([function(float(p)) for p in points])
    if not np.any(np.isfinite(values)):
        raise NotConverged("minimum: the function is finite nowhere on its range")
    best = int(np.nanargmin(np.where(np.isfinite(values), values, np.inf)))
    left, right = float(points[max(best - 1, 0)]), float(points[min(best + 1, len(points) - 1)])
    if slope(left) < 0 < slope(right):
        return float(brentq(slope, left, right, xtol=1e-300, rtol=8.9e-16, maxiter=500))
    if best in (0, len(points) - 1):
        return float(points[best])
    return float(minimize_scalar(function, bounds=(left, right), method="bounded", options={"xatol": 1e-12}).x)


def follow_down(function: Callable[..., float], edges: list[float], count: int) -> list[float]:
    """The minimiser inside a box from values alone.

    One letter: a scan, narrowed; several: a simplex from the middle of the box. Letters with positive ranges are
    followed by their logarithms; a place without a value counts as infinitely high.
    """
    from scipy.optimize import minimize, minimize_scalar

    is_log = [low > 0 for low in edges[::2]]
    box = [(math.log(a), math.log(b)) if log else (a, b)
           for a, b, log in zip(edges[::2], edges[1::2], is_log, strict=True)]  # fmt: skip

    def place(u: Any) -> list[float]:
        inside = (min(max(float(x), a), b) for x, (a, b) in zip(u, box, strict=True))
        return [math.exp(x) if log else x for x, log in zip(inside, is_log, strict=True)]

    def height(u: Any) -> float:
        try:
            value = function(*place(u))
        except NotConverged:
            return math.inf
        return value if math.isfinite(value) else math.inf

    if len(box) == 1:
        points = np.linspace(*box[0], count)
        values = [height([u]) for u in points]
        best = int(np.argmin(values))
        around = (float(points[max(best - 1, 0)]), float(points[min(best + 1, count - 1)]))
        found = minimize_scalar(lambda u: height([u]), bounds=around, method="bounded", options={"xatol": 1e-5})
        if not min(values[best], float(found.fun)) < math.inf:
            raise NotConverged("minimum: no value was found on the given range")
        return place([found.x if found.fun <= values[best] else points[best]])
    middle = np.array([(a + b) / 2 for a, b in box])
    corners = [middle, *(middle + 0.8 * np.eye(len(box))[i] for i in range(len(box)))]
    options = {"initial_simplex": np.array(corners), "xatol": 0.05, "fatol": 1e-5, "maxfev": 48}
    found = minimize(height, middle, method="Nelder-Mead", bounds=box, options=options)
    if not math.isfinite(float(found.fun)):
        raise NotConverged("minimum: no value was found on the given ranges")
    return place(found.x)


def find_valley(
    height: Callable[[float], float], slope: Callable[[float], float], low: float, high: float, count: int = SCAN
) -> float:
    """The minimiser of a function known to fall and then rise: the one sign change of its slope.

    Looked for from the middle of the scanned points outwards by growing strides: the ends are often dear.
    """
    is_log = low > 0
    places = [math.log(p) if is_log else float(p) for p in scan_points(low, high, count)]

    @cache
    def along(t: float) -> float:
        where = math.exp(t) if is_log else t
        value = slope(where) * (where if is_log else 1.0)
        if not math.isfinite(value):
            raise NotConverged("minimum: the function has no finite slope where its valley should be")
        return value

    left = right = len(places) // 2
    strides = itertools.chain([1], (2**k for k in itertools.count()))
    while left > 0 and along(places[left]) >= 0:
        left, right = max(left - next(strides), 0), left
    if left == 0 and along(places[left]) >= 0:
        return low
    if right == left:
        while right < len(places) - 1 and along(places[right]) < 0:
            left, right = right, min(right + next(strides), len(places) - 1)
    if right == len(places) - 1 and along(places[right]) < 0:
        return high
    middle = math.exp(places[left]) if is_log else places[left]
    root = sign_change(along, places[left], places[right], abs(height(middle)))
    return math.exp(root) if is_log else root


def sign_change(slope: Function, left: float, right: float, scale: float, is_rough: bool = False) -> float:
    """Where a slope changes sign between two ends, to the accuracy that its function, of this size, can tell.

    Where the slope differs by orders of magnitude between the ends, an exponential factor makes them equal first.
    Seven digits of the minimiser are fourteen of the minimum. A rough search ends with three digits of the bracket.
    """
    from scipy.optimize import brentq

    width = right - left
    at_left, at_right = abs(slope(left)), abs(slope(right))
    ratio = at_right / at_left if at_left else 1.0
    bend = math.log(ratio) / width if ratio > 10 or 0 < ratio < 0.1 else 0.0
    last = left, slope(left)

    def levelled(t: float) -> float:
        nonlocal last
        value = slope(t)
        (place, before), last = last, (t, value)
        curvature = abs((value - before) / (t - place)) if t != place else 0.0
        # no step within the bracket, or as far as the curvature suggests, could lower the function visibly
        if not is_rough and (abs(value) * width <= 8e-16 * scale or value * value <= 2e-16 * scale * curvature):
            return 0.0
        return value * math.exp(-bend * (t - left))

    closest = (ROUGH_BRACKET if is_rough else 1e-7) * width
    return float(brentq(levelled, left, right, xtol=closest, rtol=8.9e-16, maxiter=500))


#: Share of a bracket to which rough slopes narrow it, and steps from where they are zero to where exact ones are.
ROUGH_BRACKET, POLISHING = 0.02, 8
#: A secant's next value is taken to be at most so many times the last one, times the last share that was left.
CAUTION = 4.0


def graded_sign_change(slope: Function, left: float, right: float, scale: float) -> float:
    """The same for a slope at two accuracies: the rough one is zero nearby, and few exact ones lead from there.

    If they do not, that is an error.
    """
    if not isinstance(slope, Graded):
        return sign_change(slope, left, right, scale)
    known: dict[float, float] = {}

    def rough(t: float) -> float:
        known[t] = slope.rough(t) if t not in known else known[t]
        return known[t]

    here = sign_change(rough, left, right, scale, is_rough=True)
    near = sorted(known, key=lambda t: abs(t - here))[:2]
    curvature = (known[near[1]] - known[near[0]]) / (near[1] - near[0])
    return polished_sign_change(slope, here, curvature, left, right, scale)


def polished_sign_change(
    slope: Function, here: float, curvature: float, left: float, right: float, scale: float
) -> float:
    """Where a slope changes sign, from a place nearby and about how fast it rises there; an error if that is untrue.

    Steps are secants, which leave less of the slope each time: when the next one will leave nothing visible, it is
    taken without another look.
    """
    width = right - left

    def is_invisible(value: float) -> bool:
        return abs(value) * width <= 8e-16 * scale or value * value <= 2e-16 * scale * curvature

    value = slope(here)
    for _ in range(POLISHING):
        if not curvature > 0:
            break
        if is_invisible(value):
            return here
        step = min(max(-value / curvature, left - here), right - here)
        if step == 0:
            break
        new = slope(here + step)
        if not (abs(new) <= abs(value) / 2 or (new < 0) != (value < 0)):
            # not as rough ones have it: either the change of sign lies before the end, or there is none
            step = (right if value < 0 else left) - here
            new = slope(here + step)
            if (new < 0) == (value < 0):
                break
        curvature = (new - value) / step
        share = abs(new / value)
        here, value = here + step, new
        if curvature > 0 and share <= 0.1 and is_invisible(CAUTION * share * value):
            return min(max(here - value / curvature, left), right)
    raise NotConverged("minimum: exact slopes do not confirm rough ones")


#: Least curvature that a step of a descent reckons with: flatter directions would send it too far.
FLAT = 1e-5


def descend(
    height: Callable[[Any], float], slope: Callable[[Any], Any], start: Any, tolerance: float,
    inside: Callable[[Any], bool],
) -> tuple[Any, float]:  # fmt: skip
    """The local minimum downhill of a start, and the largest slope left: Newton's steps, short and always down.

    The curvature comes from differences of the slopes; directions in which the surface bends down count as steep
    ones, so that a saddle is left. Short steps keep to the basin of the start; a step that leaves it is the last.
    """
    place, gradient = np.array(start, dtype=float), slope(start)
    level = height(place)
    for _ in range(200):
        steepest = float(np.max(np.abs(gradient)))
        if steepest <= tolerance or not inside(place):
            return place, steepest
        step = 1e-5
        columns = [(slope(place + step * unit) - gradient) / step for unit in np.eye(place.size)]
        curvature = np.array(columns)
        strengths, axes = np.linalg.eigh((curvature + curvature.T) / 2)
        move = -axes @ ((axes.T @ gradient) / np.maximum(np.abs(strengths), FLAT))
        move *= min(1.0, 0.25 / float(np.linalg.norm(move)))
        for _ in range(30):
            trial = place + move
            new = height(trial)
            if new <= level + 1e-4 * float(gradient @ move) or (new <= level + 4e-16 * abs(level)):
                break
            move /= 2
        else:
            # nothing lower within rounding
            return place, steepest
        place, level, gradient = trial, new, slope(trial)
    raise NotConverged(f"minimum: descent did not end; the slope is still {steepest:.1e}")
