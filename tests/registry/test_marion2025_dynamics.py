"""Descent and flow against vectors and printed formulas, where they end, and the figures that show them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

import theorem_engine as te
from tests.registry.marion2025_points import MODEL, NAMES, pgd
from tests.strategies import points_of
from theorem_engine.backends.float64 import recurrence
from theorem_engine.base.errors import Infeasible, OutOfDomain
from theorem_engine.registry.marion2025.methods import uniform_inner_products
from theorem_engine.validators.marion2025_descent import gradient_descent

START = {"kappa": -0.08, "nu": 0.035, "theta": 0.0033, "eta": 0.088, "rho": -0.0145}
MANIFOLD = {**START, "theta": 0, "eta": 0, "rho": 0}


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


@pytest.mark.campaign
def test_in_the_chaotic_setting_neighbouring_paths_separate_but_end_at_the_same_attractors():
    """Twins 1e-13 apart differ by 1e-5 and more after a thousand steps; in the end each sits at an attractor."""
    frame = uniform_inner_products(400, 2, 2, np.random.default_rng(0), 12)
    key, value = frame[:, 0], frame[:, 1]
    starts = {"kappa": key[:, 0], "nu": value[:, 1], "theta": value[:, 0], "eta": key[:, 1]}
    starts["rho"] = (key * value).sum(-1)
    law = {"lam": 1, "schedule": "0.0001", "alpha": "0.004", **MODEL}
    twins = [te.batch("run", **{**starts, "kappa": starts["kappa"] + shift}) for shift in (0, 1e-13)]
    early = [te.sweep("marion2025.pgd", errors=False, along=t, steps=1000, **law) for t in twins]
    gaps = np.max([abs(early[0][n] - early[1][n]).values for n in NAMES], axis=0)
    assert np.median(gaps) > 1e-5
    for twin in twins:
        end = te.sweep("marion2025.pgd", errors=False, along=twin, steps=120_000, **law)
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
    excess = te.sweep("marion2025.risk", errors=False, along=points, **model)["excess"].values
    assert np.all(np.diff(excess) < 0)


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


@pytest.mark.parametrize(
    ("name", "options"),
    [("fig-3", {"runs": 3}), ("fig-4", {"runs": 2, "steps": 40}), ("fig-5", {"points": 7}),
     ("more-descents", {"runs": 3}), ("fig-1", {"d": 20, "repeats": 2}), ("swapped", {"runs": 4, "steps": 200})],
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
