"""Self-consistent equations x = F(x) by iteration of the map itself, for maps without symbolic derivative."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: A change of a positive unknown by more than this factor's logarithm in one step is cut; where the map has no
#: positive value the unknown grows by the other one.
LONGEST, OUTWARDS = 3.0, 1.5
#: Share of the map's step that other unknowns take meanwhile, and of that after a restart.
CAREFUL = 0.3
#: An accelerated step goes at most so many times as far as the map, and never farther than this.
REACH, FARTHEST = 20.0, 1.0
#: Steps that may pass without a smaller residual before an acceleration counts as stuck, and the largest residual
#: there that may be enough.
PATIENCE, STUCK = 12, 2e-3


def iterate(
    function: Callable[[Array], Array],
    start: Array,
    positive: Sequence[bool],
    *,
    memory: int,
    damping: float,
    steps: int,
    tolerance: float,
    is_enough: Callable[[Array, Array], bool] | None = None,
) -> tuple[Array, float, int]:
    """Damped iteration, accelerated by Anderson's method over ``memory`` steps (0: none).

    Positive unknowns are followed by their logarithm; where the map leaves their domain the step is a cut
    one outwards. Stops at the tolerance, at the budget, or where an acceleration is stuck at a point x with
    ``is_enough(x, F(x))``. Returns the best point, its residual and the number of evaluations.
    """
    logarithmic = np.asarray(positive, dtype=bool)
    u = np.where(logarithmic, np.log(np.maximum(np.where(logarithmic, start, 1.0), 1e-300)), start)
    points: list[Array] = []
    moves: list[Array] = []
    best, best_move, smallest, idle, taken = u, np.zeros_like(u), np.inf, 0, 0
    while taken < steps:
        taken += 1
        value = function(_plain(u, logarithmic))
        move = _move(value, u, logarithmic)
        size = float(np.max(np.abs(move) / np.where(logarithmic, 1.0, np.maximum(1.0, np.abs(u)))))
        if not np.all(np.isfinite(value)):
            size = np.inf
        # cut steps are all of one length: on the way from far off the latest point is the best
        idle = 0 if size < 0.9 * smallest or size >= LONGEST else idle + 1
        if size <= smallest:
            best, best_move, smallest = u, move, size
        if smallest <= tolerance:
            break
        if memory and idle and idle % PATIENCE == 0:
            here, there = _plain(best, logarithmic), _plain(best + best_move, logarithmic)
            if smallest <= STUCK and is_enough is not None and is_enough(here, there):
                break
            # a stuck acceleration forgets its past and starts again from the best point
            points, moves, u = [], [], best + CAREFUL * best_move
            continue
        if size >= LONGEST:
            # a cut step says nothing about slopes, nor, far off, the map about what has no scale of its own
            points, moves, u = [], [], u + np.where(logarithmic, 1.0, CAREFUL) * move
            continue
        points, moves = [*points[-memory:], u], [*moves[-memory:], move]
        u = _accelerated(points, moves, damping) if memory and len(points) > 1 else u + damping * move
    return _plain(best, logarithmic), smallest, taken


def _plain(u: Array, logarithmic: Any) -> Array:
    result: Array = np.where(logarithmic, np.exp(np.where(logarithmic, u, 0.0)), u)
    return result


def _move(value: Array, u: Array, logarithmic: Any) -> Array:
    usable = np.isfinite(value) & (~logarithmic | (value > 0))
    with np.errstate(all="ignore"):
        wanted = np.where(logarithmic, np.log(np.where(value > 0, value, 1.0)), value)
    # a width that would be negative is one that wants to grow without bound
    move = np.where(usable, wanted - u, np.where(logarithmic, OUTWARDS, 0.0))
    result: Array = np.where(logarithmic, np.clip(move, -LONGEST, LONGEST), move)
    return result


def _accelerated(points: list[Array], moves: list[Array], damping: float) -> Array:
    """The combination of past points whose moves nearly cancel, then a damped step from there."""
    du = np.stack([a - b for a, b in zip(points[1:], points[:-1], strict=True)], axis=1)
    dg = np.stack([a - b for a, b in zip(moves[1:], moves[:-1], strict=True)], axis=1)
    gamma = np.linalg.lstsq(dg, moves[-1], rcond=1e-10)[0]
    step = damping * moves[-1] - (du + damping * dg) @ gamma
    # far from the solution the secant model may point anywhere: its direction is kept, not its length
    limit = min(FARTHEST, REACH * float(np.max(np.abs(moves[-1])))) + 1e-300
    result: Array = points[-1] + step * min(1.0, limit / max(float(np.max(np.abs(step))), 1e-300))
    return result


#: Solutions found so far by each system: (parameters, unknowns). No argument: generated code stands between the search
#: that asks again and again and the system that remembers.
_found: ContextVar[dict[Any, list[tuple[Array, Array]]] | None] = ContextVar("found", default=None)


@contextmanager
def following() -> Iterator[None]:
    """Inside the block, what solves a system for some parameters is where it starts for the next ones.

    A search over parameters then follows one branch. Nothing outlives the block, so that its result does not
    depend on what was computed before.
    """
    token = _found.set({})
    try:
        yield
    finally:
        _found.reset(token)


def remember(system: Any, parameters: Array, solution: Array) -> None:
    """Keep a solution for the rest of the block, if there is one."""
    known = _found.get()
    if known is not None:
        known.setdefault(system, []).append((parameters, solution))


def nearest_solution(system: Any, parameters: Array) -> Array | None:
    """The solution of the same system at the parameters that are relatively nearest, or None."""
    known = (_found.get() or {}).get(system)
    if not known:
        return None

    def distance(other: Array) -> float:
        size = np.abs(other) + np.abs(parameters)
        with np.errstate(invalid="ignore"):
            return float(np.nansum(np.abs(other - parameters) / np.where(size > 0, size, 1.0)))

    return min(known, key=lambda pair: distance(pair[0]))[1]
