"""Sweeps as arrays: independent formulas, errors, gaps, conditions that divide an axis, and the work that is done."""

import tracemalloc

import mpmath
import numpy as np
import pytest
import sympy
from scipy import special

import theorem_engine as te
from theorem_engine.backends.rounded import arrays
from theorem_engine.backends.rounded.number import Rounded
from theorem_engine.base.errors import TheoremEngineError
from theorem_engine.language.rules import PositiveSemidefinite
from theorem_engine.sweeping import axes as sweep_axes
from theorem_engine.sweeping import boxes as sweep_boxes
from theorem_engine.sweeping.boxed import evaluate_boxes
from theorem_engine.sweeping.staged import BLOCK, blocks

POINT = {"lam": "0.1", "gamma": "0.7", "d": 400, "L": 10}


def owen_square(t, g):
    """E erf(t + g G)^2 by Owen's function."""
    return 1 - 8 * special.owens_t(np.sqrt(2) * t / np.sqrt(1 + 2 * g**2), 1 / np.sqrt(1 + 4 * g**2))


def written_risk(kappa, nu, lam=0.1, gamma=0.7, d=400, L=10):
    """The risk on the manifold as one would write it in NumPy."""
    tau, g = lam * np.sqrt(d / 2), lam * gamma
    own = 1 - 2 * nu * special.erf(tau * kappa / np.sqrt(1 + 2 * g**2)) + owen_square(tau * kappa, g)
    return gamma**2 * own + (L - 1) * owen_square(0.0, lam)


def precise_risk(kappa, nu):
    """The same to many digits, by an integral over the Gaussian."""
    lam, gamma, tau = mpmath.mpf(1) / 10, mpmath.mpf(7) / 10, mpmath.sqrt(200) / 10

    def square(t, g):
        def body(x):
            return mpmath.erf(t + g * x) ** 2 * mpmath.npdf(x)

        return mpmath.quad(body, mpmath.linspace(-14, 14, 9))

    mean = mpmath.erf(tau * kappa / mpmath.sqrt(1 + 2 * (lam * gamma) ** 2))
    return gamma**2 * (1 - 2 * nu * mean + square(tau * kappa, lam * gamma)) + 9 * square(mpmath.mpf(0), lam)


@pytest.mark.parametrize("order", [("kappa", "nu"), ("nu", "kappa")])
def test_a_large_sweep_is_the_formula_written_in_numpy(order):
    axes = {name: np.linspace(-1, 1, 301 if name == "kappa" else 501) for name in order}
    data = te.sweep("marion2025.manifold-risk", errors=False, **axes, **POINT).transpose("kappa", "nu")
    expected = written_risk(axes["kappa"][:, None], axes["nu"][None, :])
    np.testing.assert_allclose(data["risk"].values, expected, rtol=1e-12)


def test_three_axes_and_a_batch_are_the_formula_too():
    runs = te.batch("run", kappa=np.linspace(-0.5, 0.5, 40), nu=np.linspace(0.5, -0.5, 40))
    lam, d = np.linspace(0.05, 0.4, 30), [20, 100, 400]
    data = te.sweep("marion2025.manifold-risk", along=runs, lam=lam, d=d, gamma=1, L=4, errors=False)
    pairs = np.linspace(-0.5, 0.5, 40)
    expected = written_risk(pairs, -pairs, lam[:, None, None], 1, np.array(d)[:, None], 4)
    np.testing.assert_allclose(data["risk"].values, expected, rtol=1e-12)


def test_derivatives_over_a_sweep_are_slopes_of_the_risk():
    given = {"nu": "0.3", "eta": "0.1", "rho": "0.05", **POINT}
    data = te.sweep("marion2025.risk", errors=False, kappa=np.linspace(-0.5, 0.5, 7),
                    theta=np.linspace(-0.4, 0.4, 2001), **given)  # fmt: skip
    risk, step = data["risk"].values, 0.8 / 2000
    slope = (risk[:, 2:] - risk[:, :-2]) / (2 * step)
    np.testing.assert_allclose(data["d_theta"].values[:, 1:-1], slope, rtol=1e-8, atol=1e-8)


def test_errors_of_a_large_sweep_cover_the_truth_and_stay_close_to_those_of_single_points():
    kappa, nu = te.grid("-0.99", "0.97", 53), te.grid("-0.9", "0.9", 61)
    data = te.sweep("marion2025.manifold-risk", kappa=kappa, nu=nu, **POINT)
    rng = np.random.default_rng(5)
    with mpmath.workdps(30):
        for i, j in zip(rng.integers(53, size=6), rng.integers(61, size=6), strict=True):
            there = {"kappa": kappa.values[i], "nu": nu.values[j]}
            cell = data["risk"].values[i, j], data["risk_error"].values[i, j]
            truth = precise_risk(*(mpmath.mpf(v.numerator) / v.denominator for v in there.values()))
            assert abs(mpmath.mpf(float(cell[0])) - truth) <= cell[1]
            alone = te.predict("marion2025.manifold-risk", **there, **POINT)
            assert alone.error <= 1.02 * cell[1]
            assert cell[1] <= 3 * alone.error


@pytest.mark.parametrize(
    ("function", "exact", "low", "high", "second"),
    [
        (np.add, lambda x, y: x + y, -3, 3, True),
        (np.subtract, lambda x, y: x - y, -3, 3, True),
        (np.multiply, lambda x, y: x * y, -3, 3, True),
        (np.divide, lambda x, y: x / y, 0.1, 3, True),
        (np.exp, mpmath.exp, -30, 30, False),
        (np.sqrt, mpmath.sqrt, 0.01, 9, False),
        (np.square, lambda x: x * x, -3, 3, False),
        (np.tanh, mpmath.tanh, -20, 20, False),
        (np.arctan, mpmath.atan, -20, 20, False),
        (special.erf, mpmath.erf, -6, 6, False),
        (special.erfc, mpmath.erfc, -6, 25, False),
        (special.ndtr, mpmath.ncdf, -30, 8, False),
    ],
)
def test_errors_of_long_arrays_cover_what_their_arguments_may_be(function, exact, low, high, second):
    rng = np.random.default_rng(11)
    count = arrays.MANY
    columns = [rng.uniform(low, high, count) for _ in range(1 + second)]
    known = [np.abs(c) * 10.0 ** rng.uniform(-17, -9, count) for c in columns]
    result = function(*(Rounded(c, e) for c, e in zip(columns, known, strict=True)))
    with mpmath.workdps(60):
        for i in rng.integers(count, size=40):
            for sign in (-1, 1):
                # both ends of the first argument, the nearer to zero of the second
                moved = [mpmath.mpf(float(columns[0][i])) + sign * mpmath.mpf(float(known[0][i]))]
                if second:
                    moved.append(mpmath.mpf(float(columns[1][i])) - mpmath.mpf(float(known[1][i])))
                gap = abs(mpmath.mpf(float(result.value[i])) - exact(*moved))
                assert gap <= 1.01 * mpmath.mpf(float(result.error[i]))
    single = [
        function(*(Rounded(c[i], e[i]) for c, e in zip(columns, known, strict=True))).error for i in range(0, count, 32)
    ]
    assert (result.error[::32] <= 2.5 * np.array(single) + 4 * arrays.UNIT * np.abs(result.value[::32])).all()


def test_what_is_not_finite_is_left_to_the_careful_way():
    values = np.linspace(0, 1, arrays.MANY)
    quotient = Rounded(np.ones(arrays.MANY), 0.0) / Rounded(values, 1e-17)
    assert quotient.error[0] == np.inf
    assert np.isfinite(quotient.error[1:]).all()


def test_a_condition_divides_an_axis_and_every_part_is_right():
    given = {"task": "max", "L": 3}
    strengths = ["1/2", 2, "inf", 5]
    data = te.sweep("duranthon2026.linear-risk", nu=strengths, **given)
    for value, found in zip(strengths, data["risk"].values, strict=True):
        assert found == pytest.approx(te.predict("duranthon2026.linear-risk", nu=value, **given).value, rel=1e-14)


def test_words_on_an_axis_are_boxes_of_their_own():
    data = te.sweep("duranthon2026.linear-risk", task=["spiked", "max"], nu=[1, 2, 3], L=4)
    for task in ("spiked", "max"):
        for nu in (1, 3):
            alone = te.predict("duranthon2026.linear-risk", task=task, nu=nu, L=4).value
            assert float(data["risk"].sel(task=task, nu=nu)) == pytest.approx(alone, rel=1e-14)


def test_gaps_have_the_reason_that_a_single_query_is_given():
    given = {"nu": "0.3", "eta": "0.1", "rho": 0, **POINT}
    data = te.sweep("marion2025.risk", kappa=te.grid(-1, "1.2", 45), theta=te.grid(-1, 1, 41), mask=True, **given)
    rng = np.random.default_rng(3)
    refused = 0
    for i, j in zip(rng.integers(45, size=60), rng.integers(41, size=60), strict=True):
        kappa, theta = te.grid(-1, "1.2", 45).values[i], te.grid(-1, 1, 41).values[j]
        try:
            alone = te.predict("marion2025.risk", kappa=kappa, theta=theta, **given).value
        except TheoremEngineError as error:
            refused += 1
            assert data["status"].values[i, j] == str(error)
            assert np.isnan(data["risk"].values[i, j])
            assert np.isnan(data["risk_error"].values[i, j])
        else:
            assert data["status"].values[i, j] == ""
            assert data["risk"].values[i, j] == pytest.approx(alone, rel=1e-12)
            assert np.isfinite(data["risk_error"].values[i, j])
    assert 5 < refused < 55


def test_positive_pivots_tell_what_eigenvalues_tell():
    letters = sympy.symbols("a b c")
    a, b, c = letters
    rule = PositiveSemidefinite(sympy.Matrix([[1, a, b], [a, 1, c], [b, c, 1]]), "it")
    rng = np.random.default_rng(2)
    columns = [np.where(rng.random(3000) < 0.2, np.sign(x), x) for x in rng.uniform(-1, 1, (3, 3000))]
    entries = [np.ones(()), columns[0], columns[1], columns[0], np.ones(()), columns[2], columns[1], columns[2], 1.0]
    lowest = np.linalg.eigvalsh(
        np.stack([np.broadcast_to(e, 3000) for e in entries], -1).reshape(-1, 3, 3).astype(float)
    )[:, 0]
    assert (rule.met(entries) == (lowest >= -1e-12)).all()
    assert 0.05 < rule.met(entries).mean() < 0.95


def test_every_value_of_an_axis_is_read_once(monkeypatch):
    read = []
    for module in (sweep_axes, sweep_boxes):
        original = module.read_letter
        monkeypatch.setattr(module, "read_letter", lambda *a, f=original: (read.append(a[1].name), f(*a))[1])
    te.sweep("marion2025.manifold-risk", kappa=[0.1 * i for i in range(10)], nu=list(np.linspace(0, 1, 20)),
             errors=False, **POINT)  # fmt: skip
    assert read.count("kappa") == 10
    assert read.count("nu") == 20
    assert len(read) <= 30 + 5


def test_memory_beyond_the_results_does_not_grow_with_the_points():
    def beyond(count):
        grids = {"kappa": np.linspace(-0.9, 0.9, count), "nu": np.linspace(-0.9, 0.9, 400)}
        te.sweep("marion2025.manifold-risk", kappa=[0.1, 0.2], nu=[0.1, 0.2], **POINT)
        tracemalloc.start()
        data = te.sweep("marion2025.manifold-risk", **grids, **POINT)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak - sum(v.nbytes for v in data.data_vars.values())

    small, large = beyond(200), beyond(1600)
    assert large < 1.3 * small + 2e6


@pytest.mark.parametrize("shape", [(7,), (3, 5), (1, 1), (70_000,), (300, 4, 50), (2, 40_000)])
def test_blocks_cover_every_point_once(shape):
    seen = np.zeros(shape, dtype=int)
    for block in blocks(shape):
        assert seen[block].size <= BLOCK
        seen[block] += 1
    assert (seen == 1).all()


def test_what_wants_its_points_one_by_one_says_so():
    entry = te.entry("marion2025.optimal-lambda")
    assert evaluate_boxes(entry, {"d": 50, "L": 4}, {"gamma": [1, 2]}, {}, None, False, False) is None
