"""Following a solution from easy equations to those that are meant."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from theorem_engine.base.errors import NotConverged
from theorem_engine.numerics.solvers.newton import FLOOR, TOLERANCE, PointSystem, newton_step, scaled_gap, solve_point

#: A residual above this is no solution.
ACCEPT = 1e-9
#: The first step and the smallest.
FIRST, SMALLEST = 0.25, 1e-7
#: How far a solution may lie from where the last one pointed, relative to itself or to the way there.
OF_ITSELF, OF_THE_WAY = 0.1, 0.5
#: The change of the share by which the direction is found.
NUDGE = 1e-6


def follow(
    system: Callable[[float], PointSystem], start: Sequence[float], positive: Sequence[bool], names: str
) -> tuple[list[float], int]:
    """The solution at share 1, followed from that at share 0, and how many steps it took.

    A step is taken again at half its size where Newton's method fails, or leads away from where the last solution
    pointed: another branch is no continuation of this one.
    """
    here, residual, _ = solve_point(system(0.0), list(start), positive)
    if residual > ACCEPT:
        raise NotConverged(f"the easy equations of {names} were not solved: residual {residual:.1e}")
    share, step, taken = 0.0, FIRST, 0
    direction = _direction(system, here, share)
    while share < 1:
        ahead = min(1.0, share + step)
        guess = [x + (ahead - share) * d for x, d in zip(here, direction, strict=True)]
        kept = [g if g > 0 or not is_log else x for g, x, is_log in zip(guess, here, positive, strict=True)]
        found = _corrected(system(ahead), kept, positive)
        taken += 1
        if found is not None and _is_near(found, kept, here):
            share, here = ahead, found
            direction = _direction(system, here, share)
            step *= 2
            continue
        step = (ahead - share) / 2
        if step < SMALLEST:
            raise NotConverged(
                f"the solution for {names} ends on the way from the easy equations, at {share:.6g} of it"
            )
    return solve_point(system(1.0), here, positive)[0], taken


def _corrected(system: PointSystem, x: list[float], positive: Sequence[bool]) -> list[float] | None:
    """The solution near a guess, by Newton's steps each of which halves the residual; None where one does not.

    A guess from which they do not is too far: to go on from there is dear, and leads to another branch.
    """
    flat = system(x)
    residual = scaled_gap(x, flat)
    while residual > TOLERANCE:
        candidate = newton_step(x, flat, positive)
        new = system(candidate) if candidate else flat
        left = scaled_gap(candidate, new) if candidate else math.inf
        if not left < residual / 2:
            return x if residual <= FLOOR else None
        x, flat, residual = candidate, new, left
    return x


def _direction(system: Callable[[float], PointSystem], here: list[float], share: float) -> list[float]:
    """How the solution moves with the share; not at all where that is not known."""
    size = len(here)
    flat = np.array(system(share)(here), dtype=float)
    nudged = np.array(system(share + NUDGE)(here), dtype=float)[:size]
    matrix = np.eye(size) - flat[size:].reshape(size, size)
    try:
        found = np.linalg.solve(matrix, (nudged - flat[:size]) / NUDGE)
    except np.linalg.LinAlgError:
        return [0.0] * size
    return [float(d) if math.isfinite(d) else 0.0 for d in found]


def _is_near(found: Sequence[float], guess: Sequence[float], here: Sequence[float]) -> bool:
    return all(
        abs(f - g) <= max(OF_ITSELF * abs(f), OF_THE_WAY * abs(g - h), 1e-12)
        for f, g, h in zip(found, guess, here, strict=True)
    )
