"""Perceptrons filled with random patterns: until the margin is lost, or until the last of all binary ones is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.optimize import nnls

from .classics_controls import Array, Draw, controlled
from .simulator import simulator

Point = Mapping[str, Any]
#: Weights of perceptrons that are filled with patterns.
WEIGHTS = 14


def margin(patterns: Array) -> float:
    """The largest margin of a perceptron on patterns whose labels are absorbed; below zero where there is none.

    The shortest w with every pattern's score at least one is a least-distance problem, solved by non-negative least
    squares; one over its length is the margin.
    """
    p, n = patterns.shape
    system = np.vstack([patterns.T, np.ones(p)])
    wanted = np.zeros(n + 1)
    wanted[-1] = 1
    solution, length = nnls(system, wanted)
    if length < 1e-8:
        return -1.0
    residual = wanted - system @ solution
    return float(residual[-1] / np.linalg.norm(residual[:-1]))


def stored(patterns: Array, wanted: float, guess: int) -> int:
    """How many of the patterns, one after the other, are stored with a margin; the search begins at a guess."""
    # the margin falls with every pattern: the last number that fits is bracketed, then found by halving
    low, high, step = 0, len(patterns), 2
    while 0 < guess < len(patterns):
        if margin(patterns[:guess]) >= wanted:
            low, guess = guess, guess + step
        else:
            high, guess = guess, guess - step
        if low and high < len(patterns):
            break
        step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if margin(patterns[:middle]) >= wanted else (low, middle)
    return low


@simulator(size=WEIGHTS, orders=(1.0,), series_from=10, cost=2.5, covers=("alpha",))
def largest_load(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """Patterns that a perceptron stores with its margin, one after the other, until the first that it cannot."""
    wanted = float(point["kappa"])

    def draw_at(n: int) -> Draw:
        return lambda rng, count: draw(rng, count, n)

    def draw(rng: Generator, count: int, n: int) -> tuple[dict[str, Array], Array]:
        usual = usual_load(wanted, n)
        loads, controls = np.empty(count), []
        for run in range(count):
            patterns = rng.standard_normal((5 * n + 20, n))
            # between the last load that fits and the first that does not
            loads[run] = (stored(patterns, wanted, usual) + 0.5) / n
            controls.append(pattern_controls(patterns[:usual]))
        return {"alpha": loads}, np.array(controls)

    return controlled(draw_at, ("largest_load", int(point.get("size", WEIGHTS)), point), rng, count)


@cache
def usual_load(wanted: float, n: int) -> int:
    """The patterns that a perceptron of this size usually stores, from a few runs of their own."""
    rng = np.random.default_rng(20260218)
    return max(1, round(np.mean([stored(rng.standard_normal((5 * n + 20, n)), wanted, n) for _ in range(40)])))


def pattern_controls(patterns: Array) -> Array:
    """Statistics of p normal patterns less their means; among them the margin that all of them share."""
    p, n = patterns.shape
    total = patterns.sum(axis=0)
    gram = patterns @ patterns.T
    seen = gram.sum(axis=1)
    found = [total @ total / (p * n) - 1, np.trace(gram) / (p * n) - 1, seen @ seen / (p * n * (p + n + 1)) - 1]
    if p < n:
        # one over the sum of the inverse of a Wishart matrix has a chi-squared law
        found.append(p / np.sum(np.linalg.solve(gram, np.ones(p))) / (n - p + 1) - 1)
    return np.array(found)


#: Binary weights that are enumerated where they grow, and the most of them.
BITS, MOST = 10, 20


@cache
def all_signs(bits: int) -> Array:
    """Every vector of signs, one to a row."""
    return (1.0 - 2.0 * ((np.arange(2**bits)[:, None] >> np.arange(bits)) & 1)).astype(np.float32)


def kept_by(left: Array, pattern: Array) -> Array:
    """The vectors that a pattern leaves."""
    kept: Array = left[left @ pattern > 0]
    return kept


#: Weights whose vectors are all enumerated, and the largest load at which few systems are left without any.
ENUMERATED, HEAVIEST = 12, 0.65
#: Pairs of vectors from which the spread of a share is taken.
PAIRS = 256


def mean_logarithm(left: Array, kept: int, rng: Generator) -> float:
    """What a pattern and its opposite do to the logarithm of a number, in the mean, with little left of chance.

    The square of what is kept beyond a half follows the logarithm, and its mean is known: two vectors of cosine r are
    both kept with probability 1/4 + arcsin(r)/(2 pi). None left counts as half a one.
    """
    total = len(left)
    logs = [np.log(max(number, 0.5) / total) for number in (kept, total - kept)]
    first, second = rng.integers(total, size=(2, PAIRS))
    cosines = np.einsum("ij,ij->i", left[first], left[second]) / left.shape[1]
    expected = np.mean(np.arcsin(np.clip(cosines, -1, 1))) / (2 * np.pi)
    return float(np.mean(logs) + SLOPE * ((kept / total - 0.5) ** 2 - expected))


#: By how much the logarithm falls with that square: two, and more by the terms of higher order.
SLOPE = 3.0


# means at 8 to 20 weights, of up to 400 000 systems each, lie within half a percent of one another at loads of 0.1 to
# 0.6; systems without any solution make those of 8 too small: a line through two sizes is off by up to a percent
@simulator(exact=True, systematic=0.005, covers=("entropy",))
def binary_solutions(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """Logarithm of the number of binary perceptrons that store random patterns, all of them enumerated.

    The systematic part is what so few weights may be off by.
    """
    alpha = float(point["alpha"])
    if alpha > HEAVIEST:
        raise ValueError(f"above a load of {HEAVIEST} many systems that can be enumerated have no solution at all")

    def one() -> float:
        left, found = all_signs(ENUMERATED), ENUMERATED * np.log(2)
        # a whole number of patterns, right on the average
        for _ in range(int(alpha * ENUMERATED + rng.random())):
            kept = kept_by(left, rng.standard_normal(ENUMERATED, dtype=np.float32))
            found += mean_logarithm(left, len(kept), rng)
            left = kept
            if not len(left):
                break
        return float(found / ENUMERATED)

    return {"entropy": np.array([one() for _ in range(count)])}


@simulator(size=BITS, orders=((1.0, 2.0),), cost=10.0, covers=("alpha",))
def binary_threshold(point: Point, rng: Generator, count: int) -> dict[str, Any]:
    """The load at which the last binary perceptron is ruled out, patterns being added one at a time."""

    def draw_at(bits: int) -> Draw:
        def draw(rng: Generator, count: int) -> tuple[dict[str, Array], Array]:
            found = [one(rng, bits) for _ in range(count)]
            return {"alpha": np.array([load for load, _ in found])}, np.array([controls for _, controls in found])

        return draw

    def one(rng: Generator, bits: int) -> tuple[float, list[float]]:
        marks = [round(share * bits) for share in (0.3, 0.6, 0.8, 1.0)]
        left, beyond, controls, number = all_signs(bits), 0.0, [], 0
        while len(left):
            number += 1
            kept = kept_by(left, rng.standard_normal(bits, dtype=np.float32))
            # a pattern and its opposite are as likely: a half is kept in the mean
            beyond += len(kept) / len(left) - 0.5
            left = kept
            if number in marks:
                controls.append(beyond)
        # what is stopped early has the mean zero too
        return (number - 1) / bits, [*controls, *[beyond] * (len(marks) - len(controls)), beyond]

    return controlled(draw_at, ("binary_threshold", min(MOST, int(point.get("size", BITS))), point), rng, count)
