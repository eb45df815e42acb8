"""Control variates: statistics of the data drawn whose means are known exactly at every size.

Multiples of them are taken off the samples. That leaves the means of these as they are, and takes much of their spread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: Samples of each output and rows of controls, one for each of so many independent runs.
Draw = Callable[[Generator, int], tuple[dict[str, Array], Array]]
#: Runs for each control that its multiple is fitted to, before the samples proper, and the largest size of these.
PILOT, FITTED = 40, 48
#: Multiples of the controls, by simulator and point.
_SLOPES: dict[Any, dict[str, Array]] = {}


def controlled(
    draw_at: Callable[[int], Draw],
    name: tuple[str, int, Mapping[str, Any]],
    rng: Generator,
    count: int,
    fitted: int = FITTED,
) -> dict[str, Array]:
    """Independent runs at a size, less the multiples of their controls that follow them best.

    The name is that of the simulator, with size and point. The multiples have limits as the size grows; those of large
    sizes are fitted at a smaller one. They are fitted once, to runs with random numbers of their own: whatever they
    are, the means of the samples proper do not depend on them.
    """
    function, size, point = name
    small = min(size, fitted)
    key = (function, small, *sorted((k, str(v)) for k, v in point.items() if k != "size"))
    if key not in _SLOPES:
        source, draw = np.random.default_rng(20260218), draw_at(small)
        few = draw(source, 2)[1].shape[1]
        values, controls = draw(source, PILOT * (few + 1))
        centred = controls - controls.mean(axis=0)
        _SLOPES[key] = {k: np.linalg.lstsq(centred, v - v.mean(), rcond=1e-9)[0] for k, v in values.items()}
    values, controls = draw_at(size)(rng, count)
    return {output: v - controls @ _SLOPES[key][output] for output, v in values.items()}


def in_blocks(draw: Draw, most: int) -> Draw:
    """The same runs, at most so many at a time, so that memory stays bounded."""

    def all_of_them(rng: Generator, count: int) -> tuple[dict[str, Array], Array]:
        parts = [draw(rng, min(most, count - begin)) for begin in range(0, count, most)]
        values = {output: np.concatenate([part[0][output] for part in parts]) for output in parts[0][0]}
        return values, np.concatenate([part[1] for part in parts])

    return all_of_them


def teacher_controls(data: Array, teacher: Array) -> Array:
    """Statistics of samples whose labels are absorbed: positive scores along a teacher, normal off it.

    ``data`` is runs x n x d with standard normal entries but for the sign along the teacher, which has length one.
    """
    _, n, d = data.shape
    scores = np.einsum("snd,sd->sn", data, teacher)
    hebb = data.sum(axis=1)
    along = scores.sum(axis=1)
    seen2 = np.einsum("snd,sd->sn", data, hebb)
    first, off = np.sqrt(2 / np.pi), d - 1
    # moments of |N(0, 1)| are first, 1, 2 first, 3; the part off the teacher is a Wishart matrix of its own
    squares = 3 * n + n * (n - 1) + 2 * n * (n - 1) * 2 * first**2 + n * (n - 1) * (n - 2) * first**2
    both = 2 * off * (n + n * (n - 1) * first**2)
    return np.stack(
        [
            along / n - first,
            np.sum(scores**2, axis=1) / n - 1,
            (np.sum(hebb**2, axis=1) - along**2) / (n * off) - 1,
            np.sum(seen2**2, axis=1) / (squares + both + n * off * (n + off + 1)) - 1,
            np.sum(data**2, axis=(1, 2)) / (n * d) - 1,
            along**2 / (n + n * (n - 1) * first**2) - 1,
        ],
        axis=1,
    )
