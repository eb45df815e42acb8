"""Channel averages in double precision, on scrambled Sobol points."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np

from theorem_engine.backends.base import Backend, Numeric
from theorem_engine.backends.float64.each_point import each_point
from theorem_engine.backends.float64.proximal import has_one_multiplier
from theorem_engine.base.random_sets import COUNT, chosen
from theorem_engine.base.reports import note
from theorem_engine.language.functions import OpenFunction
from theorem_engine.language.operators.proximal import Proximal

SEED = 20260117
#: Fewest points of one scramble.
LEAST = 32
#: Sets of random numbers up to this many bytes are kept.
KEPT = 2**27
#: Numbers of the largest array that a block of samples makes; methods hold about a dozen of them, in each thread.
AT_ONCE = 2**21
#: Below this many numbers of one scramble all are computed at once, above each by itself, in threads if there are any.
WORTH_THREADS = 2**12


def lower(means: tuple[Any, ...], parameters: tuple[Any, ...], backend: Backend) -> Numeric:
    """All bodies on the same samples, scramble by scramble."""
    (mean,) = means
    channel = _Channel(mean, parameters, backend)
    return lambda *values: each_point(channel.evaluate, values)


class _Channel:
    """A compiled channel."""

    def __init__(self, mean: Any, parameters: tuple[Any, ...], backend: Backend) -> None:
        self.mean = mean
        self.sizes = backend.function(parameters, list(mean.sizes))
        self.bodies = backend.function([*mean.noise, *parameters], list(mean.bodies), mean.definitions)
        self.has_matrices = any(not has_one_multiplier(point) for point in mean.atoms(Proximal))
        self.outside = {type(call) for call in mean.atoms(OpenFunction)}

    def per_token(self, tokens: int) -> int:
        """Numbers for each token in the largest array made on the way: one for each other token, or more."""
        return max(tokens if self.has_matrices else 1, *(kind.numbers_per_token(tokens) for kind in self.outside), 1)

    def evaluate(self, *values: Any) -> list[float]:
        """Means over the scrambles in use; their spread is the reported error."""
        tokens, samples = (int(x) for x in self.sizes(*values))
        size = max(LEAST, 1 << max(0, (samples // COUNT) - 1).bit_length())
        scrambles = chosen()

        def some(indices: tuple[int, ...]) -> Any:
            with np.errstate(all="ignore"):
                return self._scrambles(indices, size, tokens, values)

        if size * tokens < WORTH_THREADS:
            rows = some(scrambles)
        elif len(scrambles) > 1 and _threads() > 1:
            with ThreadPoolExecutor(_threads()) as pool:
                rows = np.concatenate(list(pool.map(some, ((i,) for i in scrambles))))
        else:
            rows = np.concatenate([some((i,)) for i in scrambles])
        found = rows.mean(axis=0)
        spread = rows.std(axis=0, ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else np.full(rows.shape[1], np.nan)
        detail = f"{len(rows)} scrambles of {size} Sobol points"
        note("channel mean", [float(e) for e in spread], detail, draws=len(rows) * size)
        return [float(x) for x in found]

    def _scrambles(self, indices: tuple[int, ...], size: int, tokens: int, values: tuple[Any, ...]) -> Any:
        """Means of all bodies over each of some scrambles."""
        per_token, per_sample = self.mean.noise_counts
        width = per_sample + per_token * tokens
        rows = 1 << max(0, (AT_ONCE // (tokens * self.per_token(tokens) + width)).bit_length() - 1)
        if size * len(indices) <= rows:
            numbers = normals(indices[0], size, width) if len(indices) == 1 else _together(indices, size, width)
            return self._bodies(numbers, tokens, values).reshape(len(indices), size, -1).mean(axis=1)
        # memory is bounded whatever the number of samples: they are drawn and averaged block by block
        return np.stack([
            sum(self._bodies(part, tokens, values).sum(axis=0) for part in blocks(index, size, width, rows)) / size
            for index in indices
        ])  # fmt: skip

    def _bodies(self, numbers: Any, tokens: int, values: tuple[Any, ...]) -> Any:
        """All bodies at each sample, (samples, bodies)."""
        per_token, per_sample = self.mean.noise_counts
        count = len(numbers)
        single = [numbers[:, i : i + 1] for i in range(per_sample)]
        each = [numbers[:, per_sample + i * tokens : per_sample + (i + 1) * tokens] for i in range(per_token)]
        first = (np.arange(tokens) == 0).astype(float)
        letters = [*each, *single, first, *values]
        columns = [np.broadcast_to(body, (count, 1)) for body in self.bodies(*letters)]
        return np.concatenate(columns, axis=1)


def _threads() -> int:
    """One thread where the environment asks for it, as worker processes do."""
    return 1 if os.environ.get("OMP_NUM_THREADS") == "1" else min(4, os.cpu_count() or 1)


def normals(index: int, size: int, width: int) -> Any:
    """Standard normal numbers of one scramble, (size, width); the same at every call."""
    return _kept(index, size, width) if 8 * size * width * COUNT <= KEPT else _drawn(index, size, width)


@lru_cache(maxsize=8)
def _together(indices: tuple[int, ...], size: int, width: int) -> Any:
    return np.concatenate([_drawn(i, size, width) for i in indices])


@lru_cache(maxsize=4 * COUNT)
def _kept(index: int, size: int, width: int) -> Any:
    return _drawn(index, size, width)


def _drawn(index: int, size: int, width: int) -> Any:
    drawn = next(_fresh(index, size, width, size))
    drawn.setflags(write=False)
    return drawn


def blocks(index: int, size: int, width: int, rows: int) -> Iterator[Any]:
    """The numbers of one scramble, so many rows (a power of two) at a time."""
    if 8 * size * width * COUNT <= KEPT:
        whole = _kept(index, size, width)
        return (whole[begin : begin + rows] for begin in range(0, size, rows))
    return _fresh(index, size, width, rows)


def _fresh(index: int, size: int, width: int, rows: int) -> Iterator[Any]:
    from scipy.special import ndtri
    from scipy.stats import qmc

    # another number of samples is another set of points, not a part of the same one
    seed = np.random.default_rng([SEED, index, size])
    engine = qmc.Sobol(width, scramble=True, bits=32, rng=seed)
    for begin in range(0, size, rows):
        # points are multiples of 2^-32: the middle of their cells is never 0 or 1
        yield ndtri(engine.random(min(rows, size - begin)) + 2.0**-33)
