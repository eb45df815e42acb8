"""Fixed points, stability, the swapped minimum and the optimal lambda, against printed formulas and searches."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import minimize_scalar

import theorem_engine as te
from tests.registry.marion2025_points import MODEL, NAMES, pgd
from tests.strategies import points_of


@pytest.mark.parametrize(
    ("lam", "leaves_saddle", "leaves_manifold"),
    [("0.1", 0.7715, 0.7668), ("0.9", 1.583, 0.957), ("2", 2.878, 0.860)],
)
def test_rates_at_the_saddle_are_the_printed_ones(lam, leaves_saddle, leaves_manifold):
    """r1 > r2 always; the numbers at d = 400, gamma^2 = 1/2 are those of the derivation."""
    escape = -te.predict("marion2025.fixed-points", lam=lam, **MODEL).outputs["saddle_low"]
    transverse = te.predict("marion2025.transverse-stability", kappa=0, nu=0, lam=lam, **MODEL)
    assert escape == pytest.approx(leaves_saddle, rel=1e-3)
    assert transverse.value == pytest.approx(leaves_manifold, rel=1e-3)
    assert escape > transverse.value


@given(points_of("marion2025.fixed-points"))
@settings(max_examples=15)
def test_fixed_points_have_their_kinds_and_printed_curvatures(point):
    lam, gamma, d = (float(point[name]) for name in ("lam", "gamma", "d"))
    outputs = te.predict("marion2025.fixed-points", **point).outputs
    kinds = [row["kind"] for row in outputs["points"]]
    assert kinds == ["minimum", "minimum", "maximum", "maximum", "saddle"]
    g = lam * gamma
    c, b = lam * math.sqrt(d / 2) / math.sqrt(1 + 2 * g**2), 1 / math.sqrt(1 + 4 * g**2)
    a, cross = 8 * gamma**2 * c**2 * b / math.pi, 4 * gamma**2 * c / math.sqrt(math.pi)
    assert outputs["saddle_high"] == pytest.approx(a / 2 + math.hypot(a / 2, cross), rel=1e-12)
    assert outputs["rate_v"] == pytest.approx(2 * gamma**2 * math.erf(c), rel=1e-12)
    rate_k = 2 * gamma**2 * c * 2 / math.sqrt(math.pi) * math.exp(-(c**2)) * math.erfc(b * c)
    assert outputs["rate_k"] == pytest.approx(rate_k, rel=1e-10, abs=1e-290)


@given(points_of("marion2025.transverse-stability", kappa=0, nu=0))
@settings(max_examples=15)
def test_transverse_eigenvalues_at_the_saddle_have_their_closed_form(point):
    """-q +- sqrt(q^2 + B^2) with q = (d/2) zeta(0, g), and a third one that is negative."""
    lam, gamma, d = (float(point[name]) for name in ("lam", "gamma", "d"))
    g = lam * gamma
    q = d / 2 * te.predict("gaussian.erf-square", t=0, g=g).value
    cross = 4 * gamma**2 * lam * math.sqrt(d / 2) / math.sqrt(1 + 2 * g**2) / math.sqrt(math.pi)
    rows = te.predict("marion2025.transverse-stability", **point).outputs["eigenvalues"]
    found = sorted(row["re"] for row in rows)
    for wanted in (cross**2 / (q + math.hypot(q, cross)), -q - math.hypot(q, cross)):
        assert min(abs(value - wanted) for value in found) <= 1e-9 * (1 + abs(found[0]))
    assert all(row["im"] == 0 for row in rows)


def test_transverse_eigenvalues_can_be_complex():
    shares = []
    rng = np.random.default_rng(3)
    for _ in range(60):
        kappa, nu = rng.uniform(-1, 1, 2).round(3)
        rows = te.predict("marion2025.transverse-stability", kappa=kappa, nu=nu, lam="0.1", **MODEL)
        shares.append(any(row["im"] for row in rows.outputs["eigenvalues"]))
    assert 0 < np.mean(shares) < 0.6


@pytest.mark.parametrize(
    ("d", "critical"), [(100, 0.97735), (400, 0.892437948), (10**6, 0.866036)], ids=["100", "400", "1e6"]
)
def test_the_oracle_stops_being_a_minimum_at_the_critical_lambda(d, critical):
    found = te.predict("marion2025.critical-lambda", gamma="sqrt(1/2)", d=d, L=10).value
    assert found == pytest.approx(critical, rel=1e-5)
    for side in (0.99, 1.01):
        oracle = te.predict("marion2025.transverse-stability", kappa=1, nu=1, lam=side * found, gamma="sqrt(1/2)", d=d,
                            L=10)  # fmt: skip
        assert (oracle.value > 0) == (side > 1)


@pytest.mark.parametrize("model", [{"gamma": "1.5", "d": 16, "L": 3}, {"gamma": "sqrt(1/2)", "d": 400, "L": 1}])
def test_the_critical_lambda_need_not_exist(model):
    assert te.predict("marion2025.critical-lambda", **model).value == math.inf


def test_far_above_the_critical_lambda_an_attractor_off_the_manifold_beats_the_oracle():
    """lam = 0.9, d = 400, L = 10: risk 3.80657 below the oracle's 3.81936, and the descent stays there."""
    place = {"kappa": -0.301668, "nu": -0.947078, "theta": -0.321003, "eta": 0.953413, "rho": -0.806120}
    end = pgd(**place, lam="0.9", alpha="0.001", steps=20_000)
    assert [end[n] for n in NAMES] == pytest.approx([place[n] for n in NAMES], abs=2e-4)
    assert end["risk"] == pytest.approx(3.80657, abs=1e-5)
    assert te.predict("marion2025.oracle-risk", lam="0.9", **MODEL).value == pytest.approx(3.81936, abs=1e-5)


@given(points_of("marion2025.swapped-minimum"))
@settings(max_examples=15)
def test_the_swapped_point_is_the_printed_one(point):
    lam, gamma, d = (float(point[name]) for name in ("lam", "gamma", "d"))
    s, shift = math.sqrt(1 + 2 * (lam * gamma) ** 2), math.sqrt(d / 2)
    zeta = te.predict("gaussian.erf-square", t=0, g=lam * gamma).value
    theta = min(1.0, 2 * gamma**2 * lam / (math.sqrt(math.pi) * s * shift * zeta))
    noise = (point["L"] - 1) * te.predict("gaussian.erf-square", t=0, g=lam).value
    excess = gamma**2 + (gamma**2 + d / 2 * theta**2) * zeta + noise
    excess -= 4 * gamma**2 * lam * shift * theta / (math.sqrt(math.pi) * s)
    outputs = te.predict("marion2025.swapped-minimum", **point).outputs
    assert outputs["theta"] == pytest.approx(theta, rel=1e-12)
    assert outputs["excess"] == pytest.approx(excess, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize(
    ("model", "threshold"),
    [
        (MODEL, 0.92068),
        ({**MODEL, "d": 100}, 1.07807),
        ({**MODEL, "gamma": "sqrt(2)"}, 0.78563),
        ({**MODEL, "L": 2}, 1.72161),
    ],
    ids=["d=400", "d=100", "gamma^2=2", "L=2"],
)
def test_the_swapped_minimum_is_stable_below_its_threshold(model, threshold):
    below, above = (te.predict("marion2025.swapped-minimum", lam=f"{t:.5f}", **model).outputs["stable"]
                    for t in (0.999 * threshold, 1.001 * threshold))  # fmt: skip
    assert below is True
    assert above is False


def test_the_best_swapped_risk_beats_the_best_oracle():
    best = minimize_scalar(
        lambda u: te.predict("marion2025.swapped-minimum", lam=u, **MODEL).outputs["excess"], bounds=(0.03, 0.1),
        method="bounded", options={"xatol": 1e-9},
    )  # fmt: skip
    assert best.x == pytest.approx(0.057485, abs=2e-5)
    assert best.fun == pytest.approx(0.042211, abs=1e-6)
    assert best.fun < te.predict("marion2025.optimal-lambda", **MODEL).outputs["excess"]


@pytest.mark.parametrize("d", [40, 400, 10**4, 10**6, 10**8])
def test_the_optimal_lambda_is_a_direct_minimisation(d):
    found = te.predict("marion2025.optimal-lambda", gamma="sqrt(1/2)", d=d, L=10).outputs

    def excess(log_lam):
        return te.predict("marion2025.oracle-risk", lam=math.exp(log_lam), gamma="sqrt(1/2)", d=d, L=10).outputs[
            "excess"
        ]

    centre = math.log(found["lam_star"])
    direct = minimize_scalar(excess, bounds=(centre - 3, centre + 3), method="bounded", options={"xatol": 1e-9})
    assert found["excess"] == pytest.approx(direct.fun, rel=1e-12)
    assert math.exp(direct.x) == pytest.approx(found["lam_star"], rel=1e-6)


def test_optimal_lambda_meets_the_printed_numbers():
    outputs = te.predict("marion2025.optimal-lambda", **MODEL).outputs
    assert outputs["lam_first_order"] == pytest.approx(0.06348750, abs=1e-8)
    assert outputs["lam_lambert"] == pytest.approx(0.0673234, abs=1e-7)
    assert outputs["excess_first_order"] == pytest.approx(0.0670314, abs=1e-7)
    large = te.predict("marion2025.optimal-lambda", gamma="sqrt(1/2)", d=10**8, L=10).outputs
    assert large["lam_star"] ** 2 * 1e8 == pytest.approx(12.261401, abs=1e-5)
    assert large["lam_first_order"] ** 2 * 1e8 == pytest.approx(12.261398, abs=1e-5)
    assert large["excess"] == pytest.approx(1.5119711e-6, rel=1e-7)


@pytest.mark.parametrize(("gamma", "d"), [(1, 10), (2, 30)])
def test_even_one_token_wants_a_finite_lambda(gamma, d):
    """A hard threshold is never best: shown here by quadrature of the definition, with no formula of ours."""
    from scipy.integrate import quad

    def excess(lam):
        shift = math.sqrt(d / 2)

        def loss(x):
            return (1 - math.erf(lam * x)) ** 2 * math.exp(-(((x - shift) / gamma) ** 2) / 2)

        ends = (shift - 12 * gamma, -6 / lam, 0, 6 / lam, shift + 12 * gamma)
        parts = sum(quad(loss, a, b, epsabs=1e-15, limit=200)[0] for a, b in zip(ends, ends[1:], strict=False))
        return gamma**2 * parts / (gamma * math.sqrt(2 * math.pi))

    outputs = te.predict("marion2025.optimal-lambda", gamma=gamma, d=d, L=1).outputs
    hard = 2 * gamma**2 * math.erfc(math.sqrt(d) / (2 * gamma))
    assert outputs["excess"] == pytest.approx(excess(outputs["lam_star"]), rel=1e-9)
    assert outputs["excess"] < min(excess(0.9 * outputs["lam_star"]), excess(1.1 * outputs["lam_star"]))
    assert outputs["excess"] < 0.95 * hard


def test_the_rate_is_L_over_d_times_a_logarithm():
    """d E*/(L - 1), against log(gamma^2 d/(2 L)): a straight line of slope 4/pi, up to the next order."""
    dimensions = [10**k for k in range(4, 13)]
    optimum = [te.predict("marion2025.optimal-lambda", gamma=1, d=d, L=5).outputs["excess"] for d in dimensions]
    scaled = [e * d / 4 for e, d in zip(optimum, dimensions, strict=True)]
    slope = np.polyfit(np.log(np.array(dimensions, dtype=float) / 10), scaled, 1)[0]
    assert slope == pytest.approx(4 / math.pi, rel=0.07)
    ratios = [te.predict("marion2025.optimal-rate", gamma=1, d=d, L=5).outputs["ratio"] for d in (10**4, 10**8, 10**16)]
    assert abs(ratios[2] - 1) < abs(ratios[1] - 1) < abs(ratios[0] - 1) < 0.3
