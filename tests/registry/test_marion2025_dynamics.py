"""Descent, flow and the landscape they move in, against vectors, printed formulas and measured numbers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats
from scipy.optimize import minimize_scalar

import theorem_engine as te
from tests.strategies import points_of
from theorem_engine.backends.float64 import recurrence
from theorem_engine.errors import BadRequest, Infeasible, OutOfDomain
from theorem_engine.geometry import uniform_inner_products
from theorem_engine.validators.marion2025_descent import gradient_descent, stochastic_descent, uniform_start

NAMES = ("kappa", "nu", "theta", "eta", "rho")
MODEL = {"gamma": "sqrt(1/2)", "d": 400, "L": 10}
START = {"kappa": -0.08, "nu": 0.035, "theta": 0.0033, "eta": 0.088, "rho": -0.0145}
MANIFOLD = {**START, "theta": 0, "eta": 0, "rho": 0}


def pgd(**point):
    return te.predict("marion2025.pgd", **{**MODEL, **point}).outputs


def vectors(start, lam, schedule, alpha, steps):
    """The same descent on full vectors in R^400, from quadrature of the model's definition."""
    point = {**start, "lam": lam, "schedule": schedule, "alpha": alpha, "steps": steps, "gamma": 0.5**0.5}
    found = gradient_descent({**point, "d": 400, "L": 10}, np.random.default_rng(1), 1)
    return [float(np.ravel(found[name])[-1]) for name in NAMES]


@pytest.mark.parametrize(
    ("start", "lam", "schedule", "alpha"),
    [(MANIFOLD, 0.1, 0.0, 0.004), (START, 0.1, 0.0, 0.004), (START, 0.9, 0.0, 0.001)],
    ids=["manifold", "spheres", "large lambda"],
)
def test_two_thousand_steps_of_vectors_follow_the_recursion(start, lam, schedule, alpha):
    scalars = pgd(**start, lam=lam, schedule=schedule, alpha=alpha, steps=2000)
    assert vectors(start, lam, schedule, alpha, 2000) == pytest.approx([scalars[n] for n in NAMES], abs=1e-12)


def test_in_the_chaotic_setting_single_steps_agree():
    """lam = 1 with the schedule and alpha = 4e-3: paths separate, one-step maps do not."""
    state = dict(START)
    for _ in range(5):
        moved = pgd(**state, lam=1, schedule="0.0001", alpha="0.004", steps=1)
        assert vectors(state, 1.0, 1e-4, 0.004, 1) == pytest.approx([moved[n] for n in NAMES], abs=1e-12)
        far = pgd(**state, lam=1, schedule="0.0001", alpha="0.004", steps=200)
        state = {n: float(np.clip(far[n], -1, 1)) for n in NAMES}


def test_in_the_chaotic_setting_neighbouring_paths_separate_but_end_at_the_same_attractors():
    """Twins 1e-13 apart differ by 1e-5 and more after a thousand steps; in the end each sits at an attractor."""
    frame = uniform_inner_products(400, 2, 2, np.random.default_rng(0), 12)
    key, value = frame[:, 0], frame[:, 1]
    starts = {"kappa": key[:, 0], "nu": value[:, 1], "theta": value[:, 0], "eta": key[:, 1]}
    starts["rho"] = (key * value).sum(-1)
    law = {"lam": 1, "schedule": "0.0001", "alpha": "0.004", **MODEL}
    twins = [te.batch("run", **{**starts, "kappa": starts["kappa"] + shift}) for shift in (0, 1e-13)]
    early = [te.sweep("marion2025.pgd", along=t, steps=1000, **law) for t in twins]
    gaps = np.max([abs(early[0][n] - early[1][n]).values for n in NAMES], axis=0)
    assert np.median(gaps) > 1e-5
    for twin in twins:
        end = te.sweep("marion2025.pgd", along=twin, steps=120_000, **law)
        oracle = (abs(end["kappa"]) > 0.99) & (abs(end["nu"]) > 0.99)
        swapped = (abs(end["eta"]) > 0.99) & (abs(end["kappa"]) < 0.01)
        assert bool((oracle | swapped).all())
        assert float(oracle.mean()) > 0.7


def test_compiled_and_plain_loops_give_the_same_path(monkeypatch):
    point = {**START, "lam": "0.1", "alpha": "0.004", "steps": 3000, "trajectory": 500}
    monkeypatch.setattr(recurrence, "WORTH_COMPILING", 0)
    compiled = pgd(**point)
    monkeypatch.setattr(recurrence, "WORTH_COMPILING", math.inf)
    plain = pgd(**point)
    assert [compiled[n] for n in NAMES] == pytest.approx([plain[n] for n in NAMES], abs=1e-13)
    for name in NAMES:
        assert compiled["trajectory"][name] == pytest.approx(plain["trajectory"][name], abs=1e-13)


def test_a_trajectory_is_the_sequence_of_predictions():
    law = {**START, "lam": "0.3", "schedule": "0.001", "alpha": "0.002"}
    log = pgd(**law, steps=50, trajectory=20)["trajectory"]
    assert log["step"].tolist() == [0, 20, 40, 50]
    for row, steps in enumerate((0, 20, 40, 50)):
        there = pgd(**law, steps=steps)
        assert [log[n][row] for n in NAMES] == pytest.approx([there[n] for n in NAMES], abs=1e-15)


def test_the_risk_reported_is_that_of_the_next_lambda():
    law = {**START, "lam": "0.3", "schedule": "0.01", "alpha": "0.002", "steps": 40}
    end = pgd(**law)
    here = {n: end[n] for n in NAMES}
    there = te.predict("marion2025.risk", **here, lam=0.3 / 1.4, **MODEL).outputs["excess"]
    assert end["risk"] == pytest.approx(there, rel=1e-13)


@given(points_of("marion2025.manifold-invariance"))
@settings(max_examples=15)
def test_one_step_from_the_manifold_stays_on_it(point):
    assert te.predict("marion2025.manifold-invariance", **point).value == 0


@given(points_of("marion2025.manifold-invariance", alpha=0.003))
@settings(max_examples=10)
def test_on_the_manifold_a_step_turns_the_angles_by_arctangents(point):
    """phi += arctan(alpha R_kappa sin phi), psi += arctan(alpha R_nu sin psi): the printed form of the step."""
    whole = {**point, "theta": 0, "eta": 0, "rho": 0}
    slope = te.predict("marion2025.risk", **{k: v for k, v in whole.items() if k != "alpha"}).outputs
    moved = te.predict("marion2025.pgd", steps=1, **whole).outputs
    for name in ("kappa", "nu"):
        angle = math.acos(point[name])
        turned = angle + math.atan(0.003 * slope[f"d_{name}"] * math.sin(angle))
        assert moved[name] == pytest.approx(math.cos(turned), abs=1e-12)


def test_small_steps_follow_the_flow():
    """Richardson's two step sizes: the error halves with the step."""
    start = {"kappa": 0.2, "nu": -0.1, "theta": 0.15, "eta": 0.1, "rho": 0.05}
    model = {"lam": "0.3", "gamma": 1, "d": 20, "L": 3}
    flow = te.predict("marion2025.gradient-flow", time="0.2", **start, **model).outputs
    coarse, fine = (
        te.predict("marion2025.pgd", **start, **model, alpha=f"{0.2 / n}", steps=n).outputs for n in (2000, 4000)
    )
    for name in NAMES:
        assert 2 * fine[name] - coarse[name] == pytest.approx(flow[name], abs=1e-7)


def test_the_risk_falls_along_the_flow():
    start = {"kappa": 0.2, "nu": -0.1, "theta": 0.15, "eta": 0.1, "rho": 0.05}
    model = {"lam": "0.3", "gamma": 1, "d": 20, "L": 3}
    way = te.predict("marion2025.gradient-flow", time=2, trajectory=20, **start, **model).outputs["trajectory"]
    points = te.batch("moment", **{n: np.clip(way[n], -1, 1) for n in NAMES})
    excess = te.sweep("marion2025.risk", along=points, **model)["excess"].values
    assert np.all(np.diff(excess) < 0)


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


@given(points_of("marion2025.convergence", alpha=0.001))
@settings(max_examples=20)
def test_starts_in_a_quadrant_end_at_its_oracle(point):
    if float(point["kappa"]) * float(point["nu"]) == 0:
        return
    same = {**point, "nu": math.copysign(float(point["nu"]), float(point["kappa"]))}
    outputs = te.predict("marion2025.convergence", **same).outputs
    assert outputs["kappa"] == outputs["nu"] == math.copysign(1, float(point["kappa"]))


def test_the_step_bound_is_the_printed_one():
    lam, gamma, d = 0.3, 0.8, 50
    g = lam * gamma
    c, b = lam * math.sqrt(d / 2) / math.sqrt(1 + 2 * g**2), 1 / math.sqrt(1 + 4 * g**2)
    largest = max(8 * gamma**2 * b * c**2 / math.pi, 8 * gamma**2 * c / math.sqrt(math.pi), 2 * gamma**2)
    outputs = te.predict(
        "marion2025.convergence", kappa="0.1", nu="0.2", lam=lam, gamma=gamma, d=d, alpha="0.001"
    ).outputs
    assert outputs["step_bound"] == pytest.approx(1 / largest, rel=1e-12)


def test_fixed_points_stay_where_they_are():
    law = {"lam": "0.1", "gamma": 1, "d": 100, "alpha": "0.001"}
    saddle = te.predict("marion2025.convergence", kappa=0, nu=0, **law).outputs
    maximum = te.predict("marion2025.convergence", kappa=1, nu=-1, **law).outputs
    assert (saddle["kappa"], saddle["nu"]) == (0, 0)
    assert (maximum["kappa"], maximum["nu"]) == (1, -1)


def test_the_other_quadrants_are_decided_by_following_the_recursion():
    law = {"lam": "0.1", "gamma": "sqrt(1/2)", "d": 400, "alpha": "0.004"}
    for kappa, nu in ((-0.3, 0.2), (0.05, -0.6), (-0.6, 0.05)):
        limit = te.predict("marion2025.convergence", kappa=kappa, nu=nu, **law).outputs["kappa"]
        far = pgd(kappa=kappa, nu=nu, theta=0, eta=0, rho=0, lam="0.1", alpha="0.004", steps=20_000)
        assert math.copysign(1, far["kappa"]) == limit


CHAIN = {"kappa": 0.1, "nu": 0.1, "theta": 0.1, "eta": -0.05, "rho": 0.02, "lam": 0.8, "gamma": 0.7, "d": 20, "L": 4,
         "eps": 0.1, "alpha": 0.02, "batch": 3}  # fmt: skip


def test_the_chain_has_the_law_of_the_vectors():
    """Five Kolmogorov-Smirnov tests of three steps, 8,000 paths each: a false alarm in 1e-4 of seeds each."""
    chain = te.sweep("marion2025.stochastic-pgd", steps=3, seed=range(8000), **CHAIN)
    reference = stochastic_descent({**CHAIN, "steps": 3, "schedule": 0.0}, np.random.default_rng(11), 8000)
    for name in NAMES:
        assert stats.ks_2samp(chain[name].values, reference[name]).pvalue > 1e-4


def test_a_path_depends_on_its_seed_alone():
    together = te.sweep("marion2025.stochastic-pgd", steps=7, seed=range(5), **CHAIN)
    alone = te.predict("marion2025.stochastic-pgd", steps=7, seed=3, **CHAIN).outputs
    assert [float(together[n][3]) for n in NAMES] == pytest.approx([alone[n] for n in NAMES], abs=1e-14)


def test_the_mean_of_tiny_stochastic_steps_is_the_flow():
    """alpha = 1e-6, one step, 40,000 paths: the drift is minus the gradient, within four standard errors."""
    point = {**CHAIN, "alpha": 1e-6, "batch": 20}
    paths = te.sweep("marion2025.stochastic-pgd", steps=1, seed=range(40_000), **point)
    products = {n: CHAIN[n] for n in NAMES}
    model = {k: CHAIN[k] for k in ("lam", "gamma", "d", "L")}
    flow = te.predict("marion2025.gradient-flow", time="0.000001", **products, **model).outputs
    for name in NAMES:
        moves = (paths[name].values - CHAIN[name]) / 1e-6
        error = moves.std() / math.sqrt(moves.size)
        assert abs(moves.mean() - (flow[name] - CHAIN[name]) / 1e-6) < 4 * error + 0.02


def test_uniform_starts_without_vectors_have_the_law_of_uniform_vectors():
    frame = uniform_inner_products(30, 2, 2, np.random.default_rng(5), 6000)
    key, value = frame[:, 0], frame[:, 1]
    quick = {"kappa": key[:, 0], "nu": value[:, 1], "theta": value[:, 0], "eta": key[:, 1],
             "rho": (key * value).sum(-1)}  # fmt: skip
    reference = uniform_start(30, np.random.default_rng(6), 6000)
    for name in NAMES:
        assert stats.ks_2samp(quick[name], reference[name]).pvalue > 1e-4
    with pytest.raises(BadRequest, match="at least 4"):
        uniform_inner_products(3, 2, 2, np.random.default_rng(5), 1)


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"alpha": 0}, OutOfDomain, r"alpha=0 is outside \(0, oo\)"),
        ({"alpha": "-0.1"}, OutOfDomain, "alpha"),
        ({"steps": -1}, OutOfDomain, "steps=-1 is not among the integers from 0 to 10000000"),
        ({"steps": 10**8}, OutOfDomain, "steps"),
        ({"kappa": "0.9", "eta": "0.9"}, Infeasible, "Gram matrix"),
        ({"schedule": -1}, OutOfDomain, "schedule"),
        ({"trajectory": 0}, OutOfDomain, "trajectory"),
    ],
)
def test_bad_descents_are_refused(changed, error, says):
    with pytest.raises(error, match=says):
        pgd(**{**START, "lam": "0.1", "alpha": "0.004", "steps": 5, **changed})


def test_the_stochastic_chain_needs_six_dimensions():
    with pytest.raises(OutOfDomain, match="integers >= 6"):
        te.predict("marion2025.stochastic-pgd", **{**CHAIN, "d": 5}, steps=1, seed=0)


@pytest.mark.parametrize(
    ("name", "options"),
    [("fig-3", {"runs": 3}), ("fig-4", {"runs": 2, "steps": 40}), ("fig-5", {"points": 7}),
     ("swapped", {"runs": 4, "steps": 200})],
)  # fmt: skip
def test_figures_have_data_and_a_plot(name, options, tmp_path, monkeypatch):
    from theorem_engine.registry.marion2025 import figures

    short = {key: {**s, "steps": 400, "log": 100} for key, s in figures.SETTINGS.items()}
    monkeypatch.setattr(figures, "SETTINGS", short)
    drawn = te.figure(f"marion2025.{name}", **options)
    assert drawn.data.sizes
    assert not any(bool(v.isnull().any()) for v in drawn.data.data_vars.values() if v.dtype.kind == "f")
    drawn.save(str(tmp_path / "figure.png"))
    assert (tmp_path / "figure.png").stat().st_size > 5000
