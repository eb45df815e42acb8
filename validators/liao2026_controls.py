"""Control variates: low moments of the tokens, whose means are known exactly at every size.

Linear combinations of them, less their means, are taken off the samples. That leaves the mean as it is, and most of
the spread that signal brings in goes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .liao2026_model import Array, Generator, Point, repeat

Run = Callable[[Generator], tuple[dict[str, Any], Array]]
#: Runs that the coefficients of the controls are fitted to, before the samples proper, and the largest size of these.
PILOT, FITTED = 256, 90


def controlled(
    make_run: Callable[[int, int], Run], name: tuple[str, int, int, Point], rng: Generator, count: int
) -> dict[str, Array]:
    """Independent runs at p and n, less the multiples of their controls that follow them best.

    The multiples have limits as the size grows; those of large sizes are fitted at a smaller one, once for all.
    """
    function, p, n, point = name
    run = make_run(p, n)
    share = min(1.0, FITTED / np.sqrt(p * n))
    small = max(4, round(share * p)), max(4, round(share * n))
    growing = ("p", "n", "size") if share < 1 else ()
    key = (function, small, *sorted((k, str(v)) for k, v in point.items() if k not in growing))
    if key not in _SLOPES:
        # random numbers of their own: the samples proper do not depend on the coefficients
        source, pilot_run = np.random.default_rng(20260218), run if share == 1 else make_run(*small)
        pilot = [pilot_run(source) for _ in range(PILOT)]
        table = np.array([controls for _, controls in pilot])
        table -= table.mean(axis=0)
        values = {output: np.array([found[output] for found, _ in pilot]) for output in pilot[0][0]}
        _SLOPES[key] = {output: _fit(table, column - column.mean()) for output, column in values.items()}
    slopes = _SLOPES[key]

    def corrected() -> dict[str, Any]:
        found, controls = run(rng)
        return {output: value - controls @ slopes[output] for output, value in found.items()}

    return repeat(corrected, count)


def _fit(controls: Array, values: Any) -> Any:
    """Coefficients of the controls; a little less for a combination of them, which would have no spread to judge by."""
    found = np.linalg.lstsq(controls, values, rcond=1e-6)[0]
    is_combination = np.var(values - controls @ found) < 1e-6 * np.var(values)
    return 0.97 * found if is_combination else found


#: Coefficients of the controls, by simulator and point.
_SLOPES: dict[Any, dict[str, Any]] = {}


def token_controls(tokens: Array, labels: Array, mu: Array, directions: tuple[Array, ...]) -> Array:
    """Low moments of the tokens less their exact means, which follow from X = mu y^T + Z alone."""
    p, n = tokens.shape
    image, snr = tokens @ labels, float(mu @ mu)
    twice = image @ tokens
    # X y is Gaussian with mean n mu and variance n, and independent of the part of Z orthogonal to y
    power = p + n * snr
    fourth = (power**2 + 2 * power + 2 * n * snr + (n - 1) * power) / p**2
    found = [
        twice @ twice / (n * p**2) - fourth,
        image @ image / (n * p) - power / p,
        np.sum(tokens**2) / (n * p) - snr / p - 1,
    ]
    for direction in directions:
        along = direction @ tokens
        product, norm2 = float(direction @ mu), float(direction @ direction)
        back = tokens @ along
        # sums over pairs of tokens: of different ones, and of each with itself
        pairs = norm2 + product**2 * (2 + snr)
        alone = (norm2 + product**2) * (snr + p) + 4 * product**2 + 2 * norm2
        found += [
            direction @ image / n - product,
            along @ along / n - norm2 - product**2,
            along @ twice / (n * p) - product * (n * snr + p + n + 1) / p,
            back @ back / (n * p) - ((n - 1) * pairs + alone) / p,
        ]
    return np.array(found)


def length_controls(tokens: Array, labels: Array, mu: Array) -> Array:
    """What the tokens' lengths and the vector of ones add to that, less means that are exact given the labels."""
    p, n = tokens.shape
    snr, total = float(mu @ mu), float(labels.sum())
    lengths = np.einsum("ij,ij->j", tokens, tokens) - p - snr
    alike, ones = tokens @ labels, tokens.sum(axis=1)
    found: Array = np.array([
        lengths @ labels / n,
        lengths @ lengths / (n * p) - 2 - 4 * snr / p,
        ones @ ones / (n * p) - 1 - snr * total**2 / (n * p),
        ones @ alike / (n * p) - total / n * (1 + snr * n / p),
    ])  # fmt: skip
    return found
