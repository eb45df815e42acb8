"""How many samples training needs for a given risk: whole training sets of several sizes, and a line between them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .duranthon2026_finite import SIZE, Array, Generator, Point, _attend, fresh_risk, train
from .simulator import simulator

#: Numbers of samples per dimension that a pilot looks at, root of N D of its training sets, and how many of them.
FIRST, FACTOR, PILOT_SIZE, SETS = 0.5, 2.0, 200, 6
#: Most doublings.
DOUBLINGS = 9
LETTERS = ("task", "nu", "L", "delta", "activation", "r_k", "r_v", "target")


def trained_risk(point: Point, rng: Generator) -> float:
    """Squared error on fresh sequences of the minimiser of one training set."""
    vectors, _, _ = train(point, rng)
    name = str(point["activation"])
    return fresh_risk(point, rng, vectors[:, 0], vectors[:, 1], lambda s, z: _attend(name, s, z)[1])


@lru_cache(maxsize=32)
def _near(items: tuple[tuple[str, Any], ...]) -> tuple[float, float]:
    """A number of samples near the one sought, and by how much the risk falls with the inverse of it, from a pilot."""
    point = dict(items)
    rng = np.random.default_rng([2509, 21942])

    def risk(alpha: float) -> float:
        return float(np.mean([trained_risk({**point, "alpha": alpha, "size": PILOT_SIZE}, rng) for _ in range(SETS)]))

    alpha, target = FIRST, float(point["target"])
    before = risk(alpha)
    if before < target:
        raise ValueError(f"{FIRST} samples per dimension are more than enough, and fewer are not trained here")
    for _ in range(DOUBLINGS):
        after = risk(FACTOR * alpha)
        if after < target:
            break
        alpha, before = FACTOR * alpha, after
    else:
        raise ValueError(f"the risk is not reached with {alpha:g} samples per dimension")
    # a line in one over their number
    slope = (before - after) / (1 / alpha - 1 / (FACTOR * alpha))
    return 1 / (1 / alpha - (before - target) / slope), slope


# systematic: between the pilot's numbers the risk is a line in their inverse but for its bend, over a short distance
@simulator(size=SIZE // 2, own_size=True, orders=(1.0,), cost=2.5, series_from=100, covers=("alpha",), systematic=0.005)
def samples_needed(point: Point, rng: Generator, count: int) -> dict[str, Array]:
    """Samples per dimension at which trained minimisers have the risk asked for, one training set for each number.

    Sets are trained near the number that a pilot of small sets finds; what their risk is off by is turned into samples
    by the pilot's slope.
    """
    if any(isinstance(point[name], str) for name in ("r_k", "r_v")):
        raise ValueError("training needs ridge strengths that are numbers")
    near, slope = _near(tuple((name, point[name]) for name in LETTERS if name in point))
    here = {**point, "alpha": near}
    risks = np.array([trained_risk(here, rng) for _ in range(count)])
    return {"alpha": near + (risks - float(point["target"])) * near**2 / slope}
