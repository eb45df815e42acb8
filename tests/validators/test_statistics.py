"""The statistics of simulations against NumPy on whole samples, and against cases known by hand."""

import doctest
import time

import numpy as np
import pytest

from theorem_engine.validators import statistics
from theorem_engine.validators.statistics import (
    Moments,
    PairMoments,
    batch_size,
    extrapolate,
    extrapolate_series,
    generator,
    jackknife,
    sample,
    working_clock,
)


def test_the_examples_in_the_docstrings_run():
    outcome = doctest.testmod(statistics)
    assert outcome.attempted > 0
    assert outcome.failed == 0


# Moments


@pytest.mark.parametrize("cuts", [(), (1,), (500,), (3, 4, 900)])
def test_merged_moments_are_those_of_the_whole_sample(cuts):
    values = np.random.default_rng(0).exponential(size=1000)
    merged = Moments()
    for part in np.split(values, cuts):
        merged = merged.merge(Moments.of(part))
    gaps = values - values.mean()
    assert merged.count == 1000
    assert merged.mean == pytest.approx(values.mean(), rel=1e-13)
    assert merged.variance == pytest.approx(values.var(ddof=1), rel=1e-12)
    assert merged.skewness == pytest.approx((gaps**3).mean() / values.std() ** 3, rel=1e-11)
    assert merged.kurtosis == pytest.approx((gaps**4).mean() / values.std() ** 4, rel=1e-11)


def test_a_large_mean_costs_the_variance_no_digits():
    values = 1e9 + np.array([-1.0, 0.0, 1.0])
    merged = Moments.of(values[:1]).merge(Moments.of(values[1:]))
    assert merged.variance == pytest.approx(1.0, rel=1e-6)


def test_one_value_among_many_is_all_of_the_kurtosis():
    values = np.zeros(10_000)
    values[7] = 1.0
    assert Moments.of(values).kurtosis == pytest.approx(10_000, rel=1e-3)


def test_too_few_samples_have_no_error():
    assert np.isnan(Moments.of([1.0]).standard_error)
    assert Moments.of([]).count == 0


# Ratios and nonlinear statistics


def test_the_error_of_a_ratio_is_its_spread_over_repetitions():
    rng = np.random.default_rng(1)
    ratios, errors = [], []
    for _ in range(400):
        below = rng.normal(2.0, 0.5, 200)
        above = 3 * below + rng.normal(0, 0.2, 200)
        pair = PairMoments.of(above[:70], below[:70]).merge(PairMoments.of(above[70:], below[70:]))
        ratios.append(pair.ratio)
        errors.append(pair.ratio_error)
    # the standard deviation of 400 values is known to 3.5 percent
    assert np.std(ratios) == pytest.approx(np.mean(errors), rel=0.15)
    assert np.mean(ratios) == pytest.approx(3, abs=4 * np.mean(errors) / 20)


def test_the_jackknife_takes_away_the_bias_of_a_square():
    rng = np.random.default_rng(2)
    runs = [jackknife(lambda x: float(x.mean()) ** 2, rng.normal(1.0, 3.0, 60), groups=20) for _ in range(3000)]
    values, errors = np.array(runs).T
    # the plain square is biased by 9/60 = 0.15; the standard error of this mean is 0.015
    assert abs(values.mean() - 1) < 4 * values.std() / np.sqrt(3000)
    assert np.sqrt((errors**2).mean()) == pytest.approx(values.std(), rel=0.15)


def test_a_jackknife_needs_rows_to_leave_out():
    with pytest.raises(ValueError, match="groups"):
        jackknife(lambda x: 0.0, [1.0, 2.0], groups=5)


def test_an_extrapolation_recovers_a_limit_and_its_error():
    rng = np.random.default_rng(3)
    sizes, errors = np.array([100, 200, 400]), np.array([0.01, 0.02, 0.03])
    found = np.array(
        [extrapolate(sizes, 2 + 5 / sizes**0.5 + errors * rng.normal(size=3), errors, 0.5) for _ in range(2000)]
    )
    assert found[:, 0].mean() == pytest.approx(2, abs=4 * found[0, 1] / np.sqrt(2000))
    assert found[:, 0].std() == pytest.approx(found[0, 1], rel=0.1)


# Seeds, batches, budgets


def test_streams_and_blocks_are_independent_and_reproducible():
    draws = {(seed, stream, block): generator(seed, stream, block).random(4).tobytes()
             for seed in (0, 1) for stream in ("a", "b") for block in (0, 1)}  # fmt: skip
    assert len(set(draws.values())) == 8
    assert generator(1, "b", 1).random(4).tobytes() == draws[1, "b", 1]


def test_blocks_shrink_with_the_memory_budget():
    def draw(rng, count):
        return {"x": rng.random((count, 10_000)).mean(axis=1)}

    large, small = (batch_size(draw, 0, "x", budget) for budget in (2**26, 2**20))
    assert small < large
    assert small * 80_000 <= 2**20


def _normal(rng, count):
    return {"x": rng.standard_normal(count)}


def test_what_a_first_sample_fits_and_keeps_is_no_part_of_the_memory_of_the_others(monkeypatch):
    """A simulator that fits controls when first called is drawn in blocks as large as its samples allow."""
    import numpy as np

    kept, counts = [], []

    def draw(rng, count):
        counts.append(count)
        if not kept:
            kept.append(np.ones(2**22))
            until = statistics.working_clock()
            while until() < 1.5 * statistics.DEAR:
                pass
        return {"x": rng.random((count, 1000)).sum(axis=1)}

    assert batch_size(draw, 0, "x", budget=2**24) >= 512
    assert counts == [1, 1]


def test_a_sample_of_fixed_size_does_not_look_at_the_clock():
    def clock():
        return next(ticks)

    ticks = iter(range(10**6))
    first = sample(_normal, seed=1, stream="s", samples=100_000, clock=clock)
    second = sample(_normal, seed=1, stream="s", samples=100_000)
    assert first.count == second.count == 100_000
    assert first.moments["x"] == second.moments["x"]


def test_a_sample_ends_with_its_seconds():
    now = [0.0]

    def draw(rng, count):
        now[0] += 0.01 * count
        return _normal(rng, count)

    found = sample(draw, seed=0, stream="s", seconds=10.0, clock=lambda: now[0])
    # 100 samples a second, less the pilot, and at most one block too many
    assert 600 <= found.count <= 1200
    assert now[0] < 12


def test_seconds_that_others_work_count_little():
    """What a check gets for its seconds is the same on a busy machine; a wait counts for a part."""
    clock, begin = working_clock(), time.perf_counter()
    time.sleep(0.4)
    waited = time.perf_counter() - begin
    assert waited / statistics.BUSY <= clock() < 0.6 * waited


def test_a_draw_that_only_waits_ends_too():
    def draw(rng, count):
        time.sleep(0.002 * count)
        return _normal(rng, count)

    begin = time.perf_counter()
    found = sample(draw, seed=0, stream="s", seconds=0.05)
    assert found.count >= 2
    assert time.perf_counter() - begin < 5


def test_a_sample_ends_when_the_wanted_error_is_reached():
    found = sample(_normal, seed=0, stream="s", wanted=lambda moments: 20_000 * moments["x"].variance, seconds=100.0)
    assert 25_000 < found.count < 36_000


def test_the_size_of_a_sample_does_not_bias_its_mean():
    """Skewed samples that stop when their own spread is small would be too low; the pilot decides instead."""

    def draw(rng, count):
        return {"x": rng.exponential(size=count) ** 2}

    means = []
    for seed in range(600):
        found = sample(draw, seed=seed, stream="s", samples=400, wanted=lambda m: 15 * m["x"].variance)
        means.append(found.moments["x"].mean)
    # E x = 2; false alarm of four standard errors 6e-5
    assert abs(np.mean(means) - 2) < 4 * np.std(means) / np.sqrt(600)


def test_values_that_are_not_finite_are_named_and_end_the_sampling():
    def draw(rng, count):
        return {"good": rng.random(count), "bad": np.full(count, np.nan)}

    found = sample(draw, seed=0, stream="s", samples=10**9)
    assert set(found.broken) == {"bad"}
    assert found.count < 10**6


def test_a_sample_without_a_budget_is_refused():
    with pytest.raises(ValueError, match="budget"):
        sample(_normal, seed=0, stream="s")


def test_the_error_of_a_series_covers_what_its_later_terms_do():
    """Later terms of a third of the first: 600 series, of which few that fit well are beyond 4 standard errors."""
    rng = np.random.default_rng(5)
    sizes, errors = np.array([40, 80, 320]), np.array([4e-4, 3e-4, 2e-4])
    scores = []
    for _ in range(600):
        first, later = rng.normal(0, 0.05), rng.normal(0, 0.3, 2)
        shares = 40 / sizes
        truth = first * (shares + later[0] * shares**1.5 + later[1] * shares**2)
        value, error, misfit = extrapolate_series(sizes, 2 + truth + errors * rng.standard_normal(3), errors, 1.0, 0.4)
        scores += [(value - 2) / error] if misfit < 6.6 else []
    assert len(scores) > 570
    assert 0.7 < np.std(scores) < 1.2
    assert np.mean(np.abs(scores) > 4) < 0.005


def test_a_correction_that_is_no_such_series_is_a_poor_fit():
    sizes, errors = np.array([40, 80, 320]), np.full(3, 1e-4)
    misfit = extrapolate_series(sizes, 1 + 0.05 * np.array([1.0, -1.0, -1.0]), errors, 1.0, 0.4)[2]
    assert misfit > 6.6
