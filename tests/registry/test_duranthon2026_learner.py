"""The Bayes-optimal learner: branches, identities of its channel, limits, the hard phase."""

import warnings

import numpy as np
import pytest
import sympy

import theorem_engine as te
from theorem_engine.backends import get_backend
from theorem_engine.base.errors import Infeasible, ValidityWarning
from theorem_engine.base.reports import listening
from theorem_engine.registry.duranthon2026 import bayes_learner as bayes
from theorem_engine.registry.duranthon2026 import finite_sample_notation as letters
from theorem_engine.registry.duranthon2026.choice import LargestScore, TokenFront
from theorem_engine.registry.duranthon2026.notation import nu as nu_letter
from theorem_engine.registry.duranthon2026.tasks import ARGMAX, MAX, SPIKED
from theorem_engine.showing.plot import Drawn

LEARNER = "duranthon2026.bayes-learner"
FEW = 2**11
TASKS = {("spiked", False): SPIKED, ("max", False): MAX, ("max", True): ARGMAX}
GRADIENT = LargestScore(letters.omega, -(bayes.gap**2) / 2, *bayes.noise(MAX))


def test_recovery_without_noise_has_its_closed_form():
    found = te.predict(LEARNER, task="spiked", nu=1, L=3, alpha=2, branch="informed").outputs
    assert found["q_v"] == 1
    assert found["q_k"] == pytest.approx(2 / 3, abs=1e-15)
    assert found["free_entropy"] == np.inf


def test_above_the_threshold_the_uninformed_branch_recovers_too():
    near, far = (
        te.predict(LEARNER, task="spiked", nu=2, L=3, alpha=2, branch=b).outputs for b in ("informed", "uninformed")
    )
    assert far["q_v"] == pytest.approx(1, abs=1e-8)
    assert far["risk"] == pytest.approx(near["risk"], abs=2e-3)


def test_in_the_hard_phase_the_branches_differ():
    near, far = (
        te.predict(LEARNER, task="spiked", nu=1, L=3, alpha="1.2", branch=b) for b in ("informed", "uninformed")
    )
    assert far.outputs["q_v"] < 0.7
    assert far.value > near.value + 0.1
    assert far.outputs["free_entropy"] < near.outputs["free_entropy"]


@pytest.mark.parametrize("task", ["spiked", "max"])
def test_below_one_sample_per_dimension_the_branches_are_one(task):
    nu = 2 if task == "spiked" else "inf"
    near, far = (
        te.predict(LEARNER, task=task, nu=nu, L=3, alpha="0.5", branch=b, draws=FEW).value
        for b in ("informed", "uninformed")
    )
    assert near == far


@pytest.mark.parametrize(("task", "nu"), [("spiked", 1.5), ("max", 3.0), ("max", np.inf)])
def test_nishimori_posterior_weight_of_the_truth_is_the_mean_sum_of_squares(task, nu):
    """Six standard errors of the two means, from four scrambles."""
    bodies = {"p": bayes.p_0, "pp": te.TokenSum(sympy.exp(2 * (bayes.weight - te.TokenLogSum(bayes.weight))))}
    made = bayes.channel(TASKS[task, nu == np.inf], sympy.Integer(3), sympy.Integer(2**14), averaged=bodies)
    inputs = [letters.q_k, bayes.d_k, letters.q_v, letters.tau, nu_letter]
    run = get_backend("float64").function(inputs, [made.mean("p"), made.mean("pp")])
    with listening() as notes:
        one, squares = run(0.4, 0.6, 0.5, 0.6, nu)
    assert abs(one - squares) < 6 * sum(notes[-1].error)


def test_the_information_about_k_is_the_same_by_both_of_its_forms():
    """In the max task E|g|^2 is E g.(score - omega)/(1 - q_k) at the truth (Stein); six standard errors."""
    made = bayes.channel(MAX, sympy.Integer(3), sympy.Integer(2**14), averaged={
        "square": te.TokenSum(GRADIENT**2),
        "truth": te.TokenSum(GRADIENT * (TokenFront(letters.score, nu_letter, te.normal_cdf(letters.draw))
                                         - letters.omega)) / bayes.d_k,
    })  # fmt: skip
    inputs = [letters.q_k, bayes.d_k, letters.q_v, letters.tau, nu_letter]
    run = get_backend("float64").function(inputs, [made.mean("square"), made.mean("truth")])
    with listening() as notes:
        square, truth = run(0.4, 0.6, 0.5, 0.6, 3.0)
    assert abs(square - truth) < 6 * sum(notes[-1].error)
    assert square > 20 * sum(notes[-1].error)


@pytest.mark.campaign
def test_a_finite_signal_of_the_max_task_joins_both_of_its_limits():
    """nu -> oo is the largest score, nu -> 0 is the spiked task without a spike; means over other draws, so errors."""
    given = {"L": 3, "alpha": 2, "delta": "0.5", "draws": 2**12}
    values = [te.predict(LEARNER, task="max", nu=nu, **given) for nu in ("0.01", 1, 4, 200, "inf")]
    blind = te.predict(LEARNER, task="spiked", nu=0, **given)
    risks = [p.value for p in values]
    assert abs(risks[0] - blind.value) < values[0].error + blind.error
    assert abs(risks[3] - risks[4]) < values[3].error + values[4].error
    assert risks[0] > risks[1] > risks[2] > risks[3]
    assert values[0].outputs["q_k"] < 1e-3 < 0.05 < values[1].outputs["q_k"] < values[2].outputs["q_k"]


def test_many_samples_bring_the_learner_to_the_bayes_risk():
    found = te.predict(LEARNER, task="max", nu=3, L=3, alpha=500, branch="informed")
    limit = te.predict("duranthon2026.bayes-risk", task="max", nu=3, L=3).value
    assert -1.5 * found.error < found.value - limit < 0.004 + 1.5 * found.error


def test_the_free_entropy_is_stationary_at_the_fixed_point():
    """Its total derivative in alpha is E log Z alone, since the derivatives in the overlaps vanish."""
    given = {"task": "spiked", "nu": 1, "L": 3, "delta": "0.5", "draws": 2**15}
    centre = te.predict(LEARNER, alpha=2, **given).outputs
    up, down = (te.predict(LEARNER, alpha=a, **given).outputs["free_entropy"] for a in ("2.01", "1.99"))
    q = {name: centre[name] for name in ("q_k", "q_v")}
    tau = 0.25 + 1 - q["q_v"]
    hats = {name: value / (1 - value) for name, value in q.items()}
    entropic = sum(h * (1 - q[n]) - np.log1p(h) for n, h in hats.items()) / 2
    log_z = (centre["free_entropy"] - entropic) / 2
    assert tau > 0
    assert (up - down) / 0.02 == pytest.approx(log_z, abs=3e-3)


def test_the_learning_curve_passes_through_the_fixed_points():
    given = {"task": "spiked", "nu": 1, "L": 3, "delta": "0.5", "draws": 2**13}
    found = te.predict(LEARNER, alpha=2, **given).outputs
    back = te.predict("duranthon2026.learning-curve", q_v=found["q_v"], **given).outputs
    assert back["alpha"] == pytest.approx(2, abs=1e-5)
    assert back["risk"] == pytest.approx(found["risk"], abs=1e-6)


def test_the_uninformed_branch_ends_where_the_hard_phase_says():
    found = te.predict("duranthon2026.hard-phase", task="spiked", nu=2, L=3, draws=2**12).outputs
    assert found["alpha_it"] == 1
    assert found["risk_after"] < found["risk_before"]
    assert found["alpha_alg"] == pytest.approx(1.243, abs=0.02)
    below, above = (
        te.predict(LEARNER, task="spiked", nu=2, L=3, alpha=round(found["alpha_alg"] + step, 3), draws=2**12).outputs
        for step in (-0.02, 0.02)
    )
    assert below["q_v"] < 0.9
    assert above["q_v"] == pytest.approx(1, abs=1e-6)


def test_what_the_learner_does_not_serve_is_refused():
    with pytest.raises(Infeasible, match="needs a signal"):
        te.predict(LEARNER, task="max", nu=0, L=3, alpha=1)
    with pytest.raises(Infeasible, match="without label noise"):
        te.predict("duranthon2026.hard-phase", task="spiked", nu=1, L=3, delta=1)


def test_sweeps_over_alpha_carry_the_values_of_single_predictions():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        data = te.sweep(LEARNER, task="spiked", nu=1, L=3, delta="0.5", alpha=[1, 2], draws=512)
    single = te.predict(LEARNER, task="spiked", nu=1, L=3, delta="0.5", alpha=2, draws=512).value
    assert float(data["risk"].sel(alpha=2)) == pytest.approx(single, abs=1e-9)


# figures


def test_the_figures_draw_what_they_hold(tmp_path):
    """Data of the right shape, not computed here: computing them is left to the campaign."""
    import xarray

    from theorem_engine.registry.duranthon2026 import finite_sample_figures as figures

    panels = [panel[0] for panel in figures.PANELS]
    three = ("panel", "activation", "alpha")
    curves = xarray.Dataset(
        {
            **{name: (three, np.full((3, 2, 5), 0.5)) for name in ("risk", "simulated", "spread")},
            "bayes": (("panel", "bayes_alpha"), np.full((3, 7), 0.4)),
            "limit": (("panel", "activation"), np.full((3, 2), 0.3)),
        },
        coords={"panel": panels, "activation": ["softmax", "linear"], "alpha": [1, 2, 4, 8, 16],
                "bayes_alpha": [1, 1.001, 1.5, 2, 4, 8, 16]},
    )  # fmt: skip
    branches = xarray.Dataset(
        {
            **{name: (("panel", "overlap"), np.tile(np.linspace(0, 1, 4), (3, 1))) for name in ("alpha_of", "risk_of")},
            "informed": (("panel", "alpha"), np.full((3, 2), 0.3)),
            **{name: ("panel", np.ones(3)) for name in ("alpha_it", "alpha_alg")},
        },
        coords={"panel": panels, "overlap": [0.1, 0.2, 0.3, 0.4], "alpha": [1.0, 1.5]},
    )
    for figure, data in ((figures.fig_3, curves), (figures.hard_phase, branches)):
        Drawn(figure, data).save(str(tmp_path / "figure.png"))
        assert (tmp_path / "figure.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.campaign
def test_the_hard_phase_lies_between_its_branches(tmp_path):
    data = te.figure("duranthon2026.hard-phase", points=7, folder=str(tmp_path)).data
    assert np.all(data["alpha_alg"] > data["alpha_it"])
    assert np.all(data["alpha_of"].max("overlap") <= data["alpha_alg"] + 1e-6)
    assert np.all(data["informed"].min("alpha") < data["risk_of"].min("overlap"))
    assert len(list(tmp_path.glob("*.jsonl"))) == 3


@pytest.mark.campaign
def test_theory_of_figure_3_is_that_of_its_table(tmp_path):
    """Three of the thirty tuned risks, computed once before by other code, to the accuracy of both."""
    data = te.figure("duranthon2026.fig-3", runs=2, size=60, folder=str(tmp_path)).data
    known = {("spiked, nu = 1", "softmax", 8): 0.6036, ("spiked, nu = 2", "linear", 4): 0.6386,
             ("max, nu = oo", "linear", 16): 0.4934}  # fmt: skip
    for (panel, activation, alpha), value in known.items():
        here = data["risk"].sel(panel=panel, activation=activation, alpha=alpha)
        assert float(here) == pytest.approx(value, abs=3e-3)
    assert np.all(data["bayes"].sel(bayes_alpha=[1, 2, 4, 8, 16]).values[:, None, :] < data["risk"].values)
