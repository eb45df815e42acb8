"""Statistics of simulations: streaming moments, seeds by counter, batches by memory, samples by budget.

Nothing here knows what is simulated. Samples come in blocks; block b of a stream has a generator of its own that
depends on the seed, the stream's name and b alone, so that a result does not depend on how many workers share the
blocks or in which order they finish.
"""

from __future__ import annotations

import time
import tracemalloc
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Mapping[str, ArrayLike]]

#: Bytes a block of samples may take.
MEMORY = 2**27
#: Samples drawn to see what memory they take.
PROBE = 8
#: Most samples in a block; more would not run faster.
LARGEST_BLOCK = 2**16
#: Share of the seconds spent on the pilot sample, and its largest size.
PILOT_SHARE, PILOT = 0.1, 2**15
#: Share of the seconds that may go into more accuracy than is wanted.
WELCOME_SHARE = 0.1
#: A pilot plans samples of at most this many times its own size.
TRUSTED = 16
#: Samples are this many times as many as the pilot's spread asks for, against a spread it underestimated.
SAFETY = 1.5
#: Where other work takes the processor away, seconds on the wall count for at least one in so many.
BUSY = 10.0
#: Seconds from which on a single sample is dear.
DEAR = 0.1


def working_clock() -> Callable[[], float]:
    """A clock of the seconds that this thread has worked since now, and of a share of those on the wall.

    What a budget buys is then the same on a busy machine as on a quiet one, and still it ends: it takes at most so
    many times as long, even where nothing but waiting is done.

    >>> clock = working_clock()
    >>> 0 <= clock() <= clock()
    True
    """
    # some systems do not tell what a thread has worked
    worked = getattr(time, "thread_time", time.perf_counter)
    at_work, at_wall = worked(), time.perf_counter()
    return lambda: float(max(worked() - at_work, (time.perf_counter() - at_wall) / BUSY))


def generator(seed: int, stream: str, block: int) -> np.random.Generator:
    """The generator of one block of one stream.

    >>> first, again = (generator(7, "risk", 3).random() for _ in range(2))
    >>> first == again, first == generator(7, "risk", 4).random()
    (True, False)
    """
    key = (zlib.crc32(stream.encode()), block)
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=key)))


@dataclass
class Moments:
    """Count, mean and central moments up to the fourth of numbers that are seen once.

    Blocks are merged by the exact formulas for the union of two samples, which lose no digits where the
    mean is large against the spread.

    >>> merged = Moments.of([1.0, 2.0]).merge(Moments.of([4.0]))
    >>> merged.count, round(merged.mean, 12), round(merged.variance, 12)
    (3, 2.333333333333, 2.333333333333)
    """

    count: int = 0
    mean: float = 0.0
    second: float = 0.0
    third: float = 0.0
    fourth: float = 0.0

    @classmethod
    def of(cls, samples: ArrayLike) -> Moments:
        """Moments of one block."""
        values = np.asarray(samples, dtype=float).ravel()
        if values.size == 0:
            return cls()
        mean = float(values.mean())
        gaps = values - mean
        squares = gaps * gaps
        return cls(
            values.size, mean, float(squares.sum()), float((squares * gaps).sum()), float((squares * squares).sum())
        )

    def merge(self, other: Moments) -> Moments:
        """Moments of both samples together."""
        if not self.count or not other.count:
            return other if not self.count else self
        a, b, n = self.count, other.count, self.count + other.count
        gap = other.mean - self.mean
        second = self.second + other.second + gap**2 * a * b / n
        third = self.third + other.third + gap**3 * a * b * (a - b) / n**2
        third += 3 * gap * (a * other.second - b * self.second) / n
        fourth = self.fourth + other.fourth + gap**4 * a * b * (a * a - a * b + b * b) / n**3
        fourth += 6 * gap**2 * (a * a * other.second + b * b * self.second) / n**2
        fourth += 4 * gap * (a * other.third - b * self.third) / n
        return Moments(n, self.mean + gap * b / n, second, third, fourth)

    @property
    def variance(self) -> float:
        """Unbiased variance; nan for fewer than two samples."""
        return self.second / (self.count - 1) if self.count > 1 else float("nan")

    @property
    def spread(self) -> float:
        """Standard deviation of one sample."""
        return float(np.sqrt(self.variance))

    @property
    def standard_error(self) -> float:
        """Standard deviation of the mean."""
        return float(np.sqrt(self.variance / self.count)) if self.count > 1 else float("nan")

    @property
    def skewness(self) -> float:
        """Third standardised moment; zero where there is no spread."""
        return float(np.sqrt(self.count) * self.third / self.second**1.5) if self.second > 0 else 0.0

    @property
    def kurtosis(self) -> float:
        """Fourth standardised moment, three for a Gaussian; zero where there is no spread.

        A sample of n in which one value is all of the spread has kurtosis n.
        """
        return self.count * self.fourth / self.second**2 if self.second > 0 else 0.0


@dataclass
class PairMoments:
    """Means, variances and covariance of pairs seen once, for the ratio of the two means.

    >>> pair = PairMoments.of([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    >>> pair.ratio, pair.ratio_error
    (0.5, 0.0)
    """

    count: int = 0
    means: Array = field(default_factory=lambda: np.zeros(2))
    products: Array = field(default_factory=lambda: np.zeros((2, 2)))

    @classmethod
    def of(cls, first: ArrayLike, second: ArrayLike) -> PairMoments:
        """Moments of one block of pairs."""
        pairs = np.stack([np.asarray(first, dtype=float).ravel(), np.asarray(second, dtype=float).ravel()])
        means = pairs.mean(axis=1)
        gaps = pairs - means[:, None]
        return cls(pairs.shape[1], means, gaps @ gaps.T)

    def merge(self, other: PairMoments) -> PairMoments:
        """Moments of both samples together."""
        if not self.count or not other.count:
            return other if not self.count else self
        n = self.count + other.count
        gap = other.means - self.means
        products = self.products + other.products + np.outer(gap, gap) * (self.count * other.count / n)
        return PairMoments(n, self.means + gap * (other.count / n), products)

    @property
    def covariance(self) -> Array:
        """Unbiased covariance matrix of a pair."""
        return self.products / (self.count - 1)

    @property
    def ratio(self) -> float:
        """Mean of the first over mean of the second."""
        return float(self.means[0] / self.means[1])

    @property
    def ratio_error(self) -> float:
        """Standard error of the ratio, to first order in the errors of the two means."""
        slope = np.array([1.0, -self.ratio]) / self.means[1]
        return float(np.sqrt(max(0.0, slope @ self.covariance @ slope) / self.count))


def jackknife(statistic: Callable[[Array], float], samples: ArrayLike, groups: int = 20) -> tuple[float, float]:
    """A nonlinear statistic of rows, less its bias of order 1/n, and its standard error.

    Groups of rows are left out in turn. A statistic of means should read ``rows.mean(axis=0)``.

    >>> rows = np.random.default_rng(0).normal(3.0, 1.0, 10_000)
    >>> value, error = jackknife(lambda x: float(x.mean()) ** 2, rows)
    >>> abs(value - 9) < 3 * error, 0.03 < error < 0.1  # the error of a mean's square is 2 * 3 / sqrt(10000)
    (True, True)
    """
    rows = np.asarray(samples, dtype=float)
    if len(rows) < groups or groups < 2:
        raise ValueError(f"{len(rows)} rows cannot be split into {groups} groups of at least one, two at the least")
    # dealt out in turn, so that a drift along the sample enters no group alone
    place = np.arange(len(rows)) % groups
    without = np.array([statistic(rows[place != g]) for g in range(groups)])
    value = groups * statistic(rows) - (groups - 1) * float(without.mean())
    return value, float(np.sqrt((groups - 1) / groups * np.sum((without - without.mean()) ** 2)))


def extrapolate(
    sizes: ArrayLike, values: ArrayLike, errors: ArrayLike, order: float | Sequence[float]
) -> tuple[float, float]:
    """The value at infinite size of ``a + b / size**order``, by weighted least squares, and its standard error.

    With several orders there is a term for each.

    >>> value, error = extrapolate([100, 200, 400], [1.01, 1.005, 1.0025], [1e-4] * 3, order=1)
    >>> round(value, 9)
    1.0
    """
    weights = np.asarray(errors, dtype=float) ** -2.0
    powers = [np.asarray(sizes, dtype=float) ** -o for o in np.atleast_1d(order)]
    # columns are scaled to one: sizes of thousands would make the matrix look singular
    design = np.stack([np.ones(len(weights)), *(x / x.max() for x in powers)], axis=1)
    covariance = np.linalg.inv(design.T @ (weights[:, None] * design))
    solution = covariance @ (design.T @ (weights * np.asarray(values, dtype=float)))
    return float(solution[0]), float(np.sqrt(covariance[0, 0]))


def extrapolate_series(
    sizes: ArrayLike, values: ArrayLike, errors: ArrayLike, order: float, ratio: float
) -> tuple[float, float, float]:
    """The value at infinite size of a series in ``size**-order``, its standard error, and chi-squared of the fit.

    The next terms, of one and a half and of twice the order, are taken to be normal shares of the first at the
    smallest size, of standard deviation ``ratio``: what the sizes do not tell about them is part of the error.

    >>> sizes = np.array([40, 80, 320])
    >>> value, error, misfit = extrapolate_series(sizes, 1 + 1 / sizes - 4 / sizes**2, [1e-4] * 3, 1, 0.3)
    >>> abs(value - 1) < 2 * error < 2e-3, misfit < 1
    (True, True)
    """
    shares = (np.min(sizes) / np.asarray(sizes, dtype=float)) ** order
    seen, weight = np.asarray(values, dtype=float), 1 / np.asarray(errors, dtype=float)
    table = np.stack([shares**power for power in (0.0, 1.0, 1.5, 2.0)], axis=1) * weight[:, None]
    right = np.concatenate([seen * weight, np.zeros(2)])
    first = abs(seen[0] - seen[-1])
    for _ in range(3):
        # the whole correction sets the scale of the later terms, and is known better once they are
        known = 1 / (ratio * max(first, 1 / weight[0]))
        rows = np.vstack([table, [[0, 0, known, 0], [0, 0, 0, known]]])
        covariance = np.linalg.inv(rows.T @ rows)
        solution = covariance @ (rows.T @ right)
        first = max(abs(solution[1]), abs(seen[0] - solution[0]))
    misfit = float(np.sum((rows @ solution - right) ** 2))
    return float(solution[0]), float(np.sqrt(covariance[0, 0])), misfit


def batch_size(draw: Draw, seed: int, stream: str, budget: int = MEMORY, hurried: bool = True) -> int:
    """Samples that fit the memory budget, from what a few of them take at their peak; a power of two.

    Where samples are dear and there is a clock to obey (``hurried``), one of them has to do, after a first one: what
    that fits and keeps is no part of the others. Without a clock, the answer is the same on every machine: samples
    depend on the blocks they are drawn in.

    >>> batch_size(lambda rng, count: {"x": rng.random((count, 1000)).sum(axis=1)}, 0, "x", budget=2**20)
    64
    """
    was_tracing = tracemalloc.is_tracing()
    if not was_tracing:
        tracemalloc.start()
    try:
        each, clock = 1.0, working_clock()
        # the first sample may import what it needs; what other threads take meanwhile is rarely there twice
        looks = [1, PROBE] if hurried else [1, PROBE, PROBE]
        for look, probe in enumerate(looks):
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            draw(generator(seed, stream + ":memory", probe), probe)
            found = max(1.0, (tracemalloc.get_traced_memory()[1] - before) / probe)
            each = min(each, found) if look == 2 else found
            if hurried and look == 0 and clock() > DEAR:
                looks[1] = 1
    finally:
        if not was_tracing:
            tracemalloc.stop()
    return int(2 ** np.floor(np.log2(np.clip(budget / each, 1, LARGEST_BLOCK))))


@dataclass
class Sample:
    """Moments of every output, and how they came about."""

    moments: dict[str, Moments]
    count: int
    seconds: float
    #: Outputs with a value that is not finite, by the block where it was met.
    broken: dict[str, int] = field(default_factory=dict)


def sample(
    draw: Draw,
    *,
    seed: int,
    stream: str,
    seconds: float | None = None,
    samples: int | None = None,
    wanted: Callable[[Mapping[str, Moments]], float] | None = None,
    welcome: Callable[[Mapping[str, Moments]], float] | None = None,
    clock: Callable[[], float] | None = None,
) -> Sample:
    """Independent samples until a budget is spent, or as many as the wanted errors need.

    A pilot sample comes first and is thrown away; from its spread ``wanted`` works out how many samples are
    enough. Sampling ends there, or when the clock runs out, and both are independent of what the sample holds: its
    mean has no bias, and one look at it is all there is. With ``samples`` and no seconds nothing depends on the clock.
    What is ``welcome`` beyond what is wanted is drawn as far as a share of the seconds allows, by the pilot's rate.
    Seconds are those of work, unless another clock is given.
    """
    if samples is None and seconds is None and wanted is None:
        raise ValueError("a sample needs a budget: seconds, samples or the errors wanted")
    clock = clock or working_clock()
    begin = clock()
    # with a number of samples alone there is nothing to plan; a probe of the memory would cost as much as a few samples
    is_planned = seconds is not None or wanted is not None
    is_few = not is_planned and samples is not None and samples <= PROBE
    largest = PROBE if is_few else batch_size(draw, seed, stream, hurried=seconds is not None)
    most = PILOT if samples is None else max(2, min(PILOT, samples // 4))
    pilot, rate = Sample({}, 0, 0.0), 0.0
    if is_planned:
        pilot, rate = _pilot(draw, seed, stream + ":pilot", most, largest, seconds, clock)
    target = float("inf") if samples is None else float(samples)
    if wanted is not None and not pilot.broken:
        needed = SAFETY * wanted(pilot.moments)
        if needed > TRUSTED * pilot.count or pilot.count < 256:
            # too small a pilot to plan so large a sample from: a second one, which it plans
            more = int(min(max(256.0, needed / TRUSTED), target / 4))
            if more > pilot.count:
                pilot, faster = _pilot(draw, seed, stream + ":second", more, largest, seconds, clock)
                needed, rate = SAFETY * wanted(pilot.moments), max(rate, faster)
        if welcome is not None and seconds is not None:
            needed = max(needed, min(SAFETY * welcome(pilot.moments), WELCOME_SHARE * seconds * rate))
        # never fewer than the pilot itself, which cost little
        target = min(target, max(needed, float(pilot.count)))
    block = largest if seconds is None else int(np.clip(rate * seconds / 8, 1, largest))
    if not np.isfinite(target) and seconds is None:
        target = float(largest)
    result = Sample({}, 0, 0.0)
    while result.count < target:
        if seconds is not None and result.count >= 2 and clock() - begin > seconds:
            break
        count = int(max(1, min(block, np.ceil(target - result.count))))
        _add(result, draw, generator(seed, stream, result.count), count)
        if result.broken:
            break
    result.seconds = clock() - begin
    return result


def _pilot(
    draw: Draw, seed: int, stream: str, most: int, largest: int, seconds: float | None, clock: Callable[[], float]
) -> tuple[Sample, float]:
    """A sample in blocks of growing size, up to so many or a share of the seconds, and the fastest rate it ran at."""
    begin, size, pilot, rate = clock(), 2, Sample({}, 0, 0.0), 0.0
    while pilot.count < most and (seconds is None or clock() - begin <= PILOT_SHARE * seconds / 2):
        count, started = min(size, largest, most - pilot.count), clock()
        _add(pilot, draw, generator(seed, stream, pilot.count), count)
        # what a call costs apart from its samples makes small blocks look slow
        size, rate = 2 * size, max(rate, count / max(clock() - started, 1e-9))
    return pilot, rate


def _add(result: Sample, draw: Draw, rng: np.random.Generator, count: int) -> None:
    for name, values in draw(rng, count).items():
        block = np.asarray(values, dtype=float)
        if not np.all(np.isfinite(block)):
            result.broken[name] = result.count
        result.moments[name] = result.moments.get(name, Moments()).merge(Moments.of(block))
    result.count += count
