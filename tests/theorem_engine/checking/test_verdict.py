"""Verdicts: calibrated, able to fail, and never an exception from a simulator."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import theorem_engine as te
from theorem_engine.base.errors import BadRequest, MissingParameter, NotAvailable, OutOfDomain, UnknownParameter
from theorem_engine.checking.comparison import judge
from theorem_engine.checking.evidence import Effort, Row, flat_outputs, stated_orders
from theorem_engine.checking.extrapolation import extrapolated_row
from theorem_engine.checking.simulation import gather, scaled
from theorem_engine.checking.verdict import AGREES, CANNOT_TELL, DISAGREES, FALSE_ALARM, check_point
from theorem_engine.language.regime import Limit
from theorem_engine.validators.simulator import as_simulator, simulator

ERF = {"t": "0.3", "g": "0.7"}


def _entry_with(monkeypatch, function, **changes):
    """The mean of erf, simulated by something else."""
    entry = te.entry("gaussian.erf-mean")
    monkeypatch.setattr(
        "theorem_engine.checking.simulation.named_simulators", lambda _: [("stub.function", as_simulator(function))]
    )
    for name, value in changes.items():
        monkeypatch.setitem(entry.__dict__, name, value)
    return entry


def _check(entry, samples=100_000, **settings):
    return check_point(entry, ERF, Effort(None, samples, **settings), FALSE_ALARM)


# What a verdict says


def test_a_true_theorem_agrees_and_says_how_it_was_measured():
    verdict = te.check("gaussian.erf-mean", samples=400_000, **ERF)
    (row,) = verdict.rows
    assert verdict.verdict == AGREES
    assert verdict.seed == 0
    assert row.samples == verdict.samples == 400_000
    assert row.prediction == pytest.approx(math.erf(0.3 / math.sqrt(1.98)), rel=1e-12)
    assert row.z == pytest.approx((row.estimate - row.prediction) / row.standard_error)
    assert row.visible < 0.01
    assert "exact at this size" in str(verdict)
    assert json.loads(json.dumps(verdict.to_json(), allow_nan=False))["verdict"] == AGREES


def test_equal_seeds_give_equal_verdicts_and_other_seeds_other_samples():
    first, again, other = (te.check("gaussian.erf-mean", samples=5000, seed=s, **ERF) for s in (3, 3, 4))
    assert first.rows == again.rows
    assert first.rows[0].estimate != other.rows[0].estimate


def test_a_verdict_has_three_values_and_is_no_truth_value():
    with pytest.raises(TypeError, match="three values"):
        bool(te.check("gaussian.erf-mean", samples=100, **ERF))


def test_few_samples_confirm_nothing():
    verdict = te.check("gaussian.erf-mean", samples=1000, **ERF)
    assert verdict.verdict == CANNOT_TELL
    assert "1000 samples show deviations above" in verdict.reason
    # and what it would take
    assert "1 % takes about" in verdict.reason


def test_an_exact_cross_check_is_compared_within_its_accuracy():
    verdict = te.check("marion2025.fixed-points", lam="0.3", gamma="0.7", d=40, L=5)
    assert verdict.verdict == AGREES
    assert {row.output for row in verdict.rows} >= {"rate_k", "saddle_low", "points.4.kind"}
    assert all(row.z is None for row in verdict.rows)


def test_a_random_prediction_is_compared_in_law():
    start = {"kappa": 0.3, "nu": 0.4, "theta": 0.2, "eta": -0.1, "rho": 0.15}
    verdict = te.check(
        "marion2025.stochastic-pgd", **start, lam="0.3", gamma="0.7", d=12, L=3, alpha="0.01", batch=2, steps=4,
        samples=20_000,
    )  # fmt: skip
    assert verdict.verdict == AGREES
    assert "random paths" in verdict.rows[0].treatment


# Bad input


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"seconds": 0}, BadRequest),
        ({"seconds": "20"}, BadRequest),
        ({"samples": 1}, BadRequest),
        ({"samples": 2.5}, BadRequest),
        ({"seed": -1}, BadRequest),
        ({"tokens": "laplace"}, UnknownParameter),
        ({"g": -1}, OutOfDomain),
    ],
)
def test_bad_requests_are_errors_with_a_sentence(words, error):
    with pytest.raises(error):
        te.check("gaussian.erf-mean", **{"t": 1, "g": 1, **words})


def test_a_choice_that_no_simulator_knows_is_refused_with_those_they_know():
    with pytest.raises(BadRequest, match="tokens='cauchy' is none of gaussian, rademacher, laplace"):
        te.check("marion2025.linear-risk", gamma="0.7", L=4, tokens="cauchy")


def test_a_missing_letter_is_an_error():
    with pytest.raises(MissingParameter):
        te.check("gaussian.erf-mean", t=1)


# What simulators may do


def test_a_simulator_that_raises_is_a_reason(monkeypatch):
    def broken(point, rng, count):
        raise ZeroDivisionError("by design")

    verdict = _check(_entry_with(monkeypatch, broken))
    assert verdict.verdict == CANNOT_TELL
    assert "ZeroDivisionError: by design" in verdict.reason


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_simulator_that_returns_no_number_is_a_reason(monkeypatch, bad):
    verdict = _check(_entry_with(monkeypatch, lambda point, rng, count: {"value": np.full(count, bad)}))
    assert verdict.verdict == CANNOT_TELL
    assert "not finite" in verdict.reason


def test_a_simulator_of_something_else_is_a_reason(monkeypatch):
    verdict = _check(_entry_with(monkeypatch, lambda point, rng, count: {"other": np.zeros(count)}))
    assert verdict.verdict == CANNOT_TELL
    assert "none of the outputs" in verdict.reason


def test_rare_huge_samples_refute_nothing(monkeypatch):
    """Nearly all of this mean is in events that a sample hardly ever meets."""

    def rare(point, rng, count):
        return {"value": np.exp(6 * rng.standard_normal(count) - 18)}

    verdict = _check(_entry_with(monkeypatch, rare))
    assert verdict.verdict == CANNOT_TELL
    assert "a few of" in verdict.reason


def test_a_simulation_that_is_two_percent_off_refutes(monkeypatch):
    def wrong(point, rng, count):
        return {"value": 1.02 * math.erf(0.3 / math.sqrt(1.98)) + 0.1 * rng.standard_normal(count)}

    verdict = _check(_entry_with(monkeypatch, wrong))
    assert verdict.verdict == DISAGREES
    assert "standard errors" in verdict.reason


def test_a_computation_that_differs_refutes_and_one_that_is_unsure_does_not(monkeypatch):
    value = math.erf(0.3 / math.sqrt(1.98))

    def computed(gap, apart):
        @simulator(deterministic=True)
        def function(point, rng, count):
            return {"value": [value + gap, value + gap + apart]}

        return function

    for gap, apart, wanted in ((1e-9, 0, AGREES), (1e-3, 0, DISAGREES), (1e-3, 1e-3, CANNOT_TELL)):
        assert _check(_entry_with(monkeypatch, computed(gap, apart))).verdict == wanted


# Limits


def _at_sizes(values, error=1e-4, sizes=(150, 300, 600)):
    return [(n, {"error": Row("error", "stub", v, error, 0.01, samples=100, degrees=99)})
            for n, v in zip(sizes, values, strict=True)]  # fmt: skip


def test_a_finite_size_correction_is_extrapolated_and_both_gaps_are_reported():
    row = extrapolated_row("error", "stub", _at_sizes([0.5 + 3 / n for n in (150, 300, 600)]), (1.0,))
    (comparison,) = judge([row], {"error": 0.5}, 1e-3)
    assert comparison.verdict == AGREES
    assert comparison.raw_gap == pytest.approx(0.005)
    assert abs(comparison.gap) < 1e-6
    assert "150, 300, 600" in comparison.treatment


def test_a_wrong_limit_is_refuted_by_its_extrapolation():
    row = extrapolated_row("error", "stub", _at_sizes([0.52 + 3 / n for n in (150, 300, 600)]), (1.0,))
    assert judge([row], {"error": 0.5}, 1e-3)[0].verdict == DISAGREES


def test_sizes_that_follow_no_stated_order_leave_a_limit_open():
    row = extrapolated_row("error", "stub", _at_sizes([0.5, 0.58, 0.51]), (0.5, 1.0))
    assert judge([row], {"error": 0.5}, 1e-3)[0].verdict == CANNOT_TELL


def test_one_size_neither_refutes_nor_confirms_a_limit():
    row = extrapolated_row("error", "stub", _at_sizes([0.9], sizes=(100,)), (1.0,))
    assert judge([row], {"error": 0.5}, 1e-3)[0].verdict == CANNOT_TELL


def test_a_simulator_without_a_size_does_not_refute_a_limit(monkeypatch):
    def off(point, rng, count):
        return {"value": 0.5 + 0.1 * rng.standard_normal(count)}

    entry = _entry_with(monkeypatch, off, regime=Limit(grows=("p",), orders=(1,)))
    verdict = _check(entry)
    assert verdict.verdict == CANNOT_TELL
    assert "does not refute a limit" in verdict.reason
    entry = _entry_with(monkeypatch, simulator(exact=True)(off))
    assert _check(entry).verdict == DISAGREES


def test_sizes_keep_their_ratio():
    for letters in ({"p": 2489, "n": 107}, {"p": 128, "n": 102}, {"p": 7}):
        for size in (150, 300, 600):
            found = scaled(letters, size)
            ratios = [found[name] / value for name, value in letters.items()]
            assert max(ratios) / min(ratios) < 1.001
            assert 0.8 * size < math.prod(found.values()) ** (1 / len(found)) < 1.2 * size


def test_the_order_of_a_correction_is_read_from_the_entry_or_the_simulator(monkeypatch):
    def plain(point, rng, count):
        return {}

    entry = te.entry("gaussian.erf-mean")
    half = Fraction(1, 2)
    for given, orders in (((1,), (1.0,)), ((half,), (0.5,)), (((half, 1),), ((0.5, 1.0),)), ((), (0.5, 1.0))):
        for words in ("", "of order 1/p", "of order 1/sqrt(p)"):
            monkeypatch.setitem(entry.__dict__, "regime", Limit(grows=("p",), orders=given, correction=words))
            assert stated_orders(entry, as_simulator(plain), {}) == orders
    assert stated_orders(entry, simulator(orders=(2.0,))(plain), {}) == (2.0,)
    assert stated_orders(entry, simulator(orders=lambda point: (point["t"], 3.0))(plain), {"t": 0.5}) == (0.5, 3.0)


# Simulators outside the assumptions


def _laws(values):
    """A simulator with a choice of its own, under a name that the engine has never heard of."""

    @simulator(variants={"weather": values})
    def function(point, rng, count):
        middle = {"fair": math.erf(0.3 / math.sqrt(1.98)), "foul": 0.0}[point.get("weather", "fair")]
        return {"value": middle + 0.1 * rng.standard_normal(count)}

    return function


def test_choices_of_a_simulator_have_any_name_and_their_first_value_is_what_the_theorem_assumes(monkeypatch):
    entry = _entry_with(monkeypatch, _laws(("fair", "foul")))
    monkeypatch.setitem(entry.__dict__, "checks", (_laws(("fair", "foul")),))
    fair, foul = (te.check(entry.id, **ERF, weather=word, samples=100_000) for word in ("fair", "foul"))
    assert (fair.verdict, fair.outside, fair.variants) == (AGREES, False, {})
    assert (foul.verdict, foul.outside, foul.variants) == (DISAGREES, True, {"weather": "foul"})
    assert foul.to_json()["variants"] == {"weather": "foul"}
    assert "simulated with weather=foul" in str(foul)


def test_two_choices_that_no_simulator_has_together_are_not_available(monkeypatch):
    entry = _entry_with(monkeypatch, _laws(("fair", "foul")))
    with pytest.raises(NotAvailable, match="tide=low"):
        check_point(entry, ERF, Effort(None, 100, variants={"weather": "foul", "tide": "low"}), FALSE_ALARM)


def test_other_tokens_are_labelled_and_can_refute():
    point = {"lam": "0.3", "gamma": "0.7", "d": 12, "L": 5}
    verdict = te.check("marion2025.oracle-risk", tokens="correlated", samples=50_000, **point)
    assert verdict.verdict == DISAGREES
    assert verdict.outside
    assert "outside the theorem's assumptions" in str(verdict)
    assert verdict.to_json()["outside_assumptions"]


@pytest.mark.parametrize("law", ["rademacher", "laplace", "student5", "correlated"])
def test_every_law_of_tokens_has_mean_zero_and_variance_one(law):
    from theorem_engine.validators.marion2025 import draw_noise

    noise = draw_noise(np.random.default_rng(1), 40_000, 5, law, 4)
    assert np.abs(noise.mean(axis=0)).max() < 5 * np.sqrt(4 / 40_000)
    assert noise.var() == pytest.approx(1, abs=0.05)


def test_a_linear_predictor_does_not_see_the_law_of_independent_tokens():
    """Its risk depends on second moments alone, so the theorem holds outside its assumption."""
    verdict = te.check("marion2025.linear-risk", gamma="0.7", L=4, tokens="laplace", samples=400_000)
    assert verdict.verdict != DISAGREES
    assert abs(verdict.z) < 4.5


# Calibration


FAST = (
    ("gaussian.erf-mean", {"t": "0.3", "g": "0.7"}),
    ("gaussian.erf-square", {"t": "-0.5", "g": "1.1"}),
    ("marion2025.linear-risk", {"gamma": "0.8", "L": 4, "eps": "0.3"}),
    ("marion2025.oracle-risk", {"lam": "0.4", "gamma": "0.7", "d": 8, "L": 3}),
)


def test_under_true_theorems_z_exceeds_two_as_often_as_it_should():
    """200 independent seeded checks: the share of |z| > 2 is 4.55 % up to chance (bounds of probability 1e-4 each)."""
    scores = []
    for id, point in FAST:
        entry = te.entry(id)
        predicted = flat_outputs(te.predict(id, **point).outputs)
        from theorem_engine.asking.evaluation import named_point
        from theorem_engine.asking.point import read_point

        named = named_point(entry, read_point(entry, point))
        for seed in range(50):
            rows = gather(entry, named, predicted, Effort(None, 4000, seed=1000 + seed)).rows
            # the outputs of one check share their draws; the first stands for all
            scores.append(judge(rows[:1], predicted, FALSE_ALARM)[0].z)
    outside = sum(abs(z) > 2 for z in scores)
    low, high = binom.ppf([1e-4, 1 - 1e-4], 200, 0.0455)
    assert len(scores) == 200
    assert low <= outside <= high
    assert abs(np.mean(scores)) < 4 / np.sqrt(200)
    assert np.std(scores) == pytest.approx(1, abs=4 / np.sqrt(400))


def test_a_prediction_that_is_nothing_but_rounding_is_not_refuted():
    """The gap of an identity is 1e-16 in double precision here, and so is the mean of the simulated ones."""
    point = {"c": "0.5", "nonlinearity": "cos", "gamma": "0.3"}
    assert 0 < abs(te.predict("liao2026.error-identity", **point)["gap"]) < 1e-15
    verdict = te.check("liao2026.error-identity", samples=20, **point)
    assert verdict.verdict == AGREES
    assert verdict.rows[0].prediction == 0


def test_zero_against_samples_that_are_all_the_same_is_refuted():
    """Sizes extrapolated leave an error of rounding and no spread: what was found is the only size there is."""
    row = Row("value", "stub", 0.5, 1e-12, samples=100, degrees=99)
    assert judge([row], {"value": 0.0}, FALSE_ALARM)[0].verdict == DISAGREES


@pytest.mark.parametrize(
    ("gap", "own", "found"), [(0.0019, 0.0025, "agrees"), (0.0065, 0.0025, "disagrees"), (0.0019, 0.03, "cannot tell")]
)
def test_errors_of_a_random_prediction_and_of_a_sample_add_as_squares(gap, own, found):
    """A gap of 3.8 errors of the sample is 1.4 of both; five of both refute; a coarse prediction can be neither."""
    from theorem_engine.checking.comparison import judge
    from theorem_engine.checking.evidence import Row
    from theorem_engine.checking.outcome import outcomes, overall
    from theorem_engine.checking.verdict import with_own_error

    row = Row("alpha", "a", 1.0 + gap, standard_error=0.0005, spread=0.5, samples=10**6, degrees=10**6)
    compared = judge([with_own_error(row, {"alpha": own})], {"alpha": 1.0}, 1e-3)
    assert overall(outcomes(compared, ["alpha"]))[0] == found


def test_errors_of_a_random_prediction_raise_no_more_false_alarms_than_are_stated():
    """Of ten thousand true predictions with Gaussian errors on both sides about one in fifty is called wrong at .02."""
    import numpy as np

    from theorem_engine.checking.comparison import DISAGREES, judge
    from theorem_engine.checking.evidence import Row
    from theorem_engine.checking.verdict import with_own_error

    rng, alarms = np.random.default_rng(5), 0
    for mine, theirs in rng.standard_normal((10_000, 2)):
        row = Row("x", "a", 1.0 + 0.0004 * mine, standard_error=0.0004, spread=0.4, samples=10**6, degrees=10**6)
        compared = judge([with_own_error(row, {"x": 1.96 * 0.0008})], {"x": 1.0 + 0.0008 * theirs}, 0.02)
        alarms += compared[0].verdict == DISAGREES
    assert abs(alarms - 200) < 4 * 14
