"""Learning from finitely many samples: identities, limits, branches, errors, and where replica symmetry ends."""

import warnings

import numpy as np
import pytest

import theorem_engine as te
from theorem_engine.backends import get_backend
from theorem_engine.errors import BadNumber, Infeasible, NotAvailable, OutOfDomain, ValidityWarning
from theorem_engine.registry.duranthon2026 import finite_sample as erm
from theorem_engine.registry.duranthon2026 import finite_sample_notation as letters
from theorem_engine.registry.duranthon2026.notation import nu as nu_letter

ERM = "duranthon2026.erm-risk"
LEARNER = "duranthon2026.bayes-learner"
FEW = 2**11
SETTINGS = [
    {"task": task, "nu": nu, "delta": delta, "activation": activation, "L": length}
    for task, nu, delta, length in (("spiked", 1, 0, 3), ("max", "inf", 0.2, 2), ("max", 2, 0.3, 3))
    for activation in ("softmax", "linear")
]
RIDGES = {"softmax": {"r_k": 0.6, "r_v": 0.8}, "linear": {"r_k": 1, "r_v": 6}}


def solution(setting, alpha=3, samples=FEW, **more):
    return te.predict(ERM, alpha=alpha, samples=samples, **{**RIDGES[setting["activation"]], **setting, **more}).outputs


def channel_means(setting, found, bodies, samples=FEW):
    """Means over the fields at given order parameters, on the samples the solution was found on."""
    import sympy

    at = {
        "m_k": found["m_k"], "m_v": found["m_v"], "V_k": found["V_k"], "V_v": found["V_v"], "q_k": found["q_k"],
        "q_v": found["q_v"], "s_k": found["q_k"] - found["m_k"] ** 2, "s_v": found["q_v"] - found["m_v"] ** 2,
    }  # fmt: skip
    inputs = [getattr(letters, name) for name in at]
    is_argmax = setting["nu"] == "inf"
    made = erm.channel(
        setting["task"], is_argmax, sympy.Rational(str(setting["delta"])), setting["activation"],
        sympy.Integer(setting["L"]), sympy.Integer(samples), bodies, erm.POINT,
    )  # fmt: skip
    made = made.xreplace({nu_letter: sympy.oo if is_argmax else sympy.Integer(setting["nu"])})
    run = get_backend("float64").function(inputs, [made.mean(name) for name in bodies])
    return dict(zip(bodies, (float(v) for v in run(*at.values())), strict=True))


# F3: identities at the solution


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: f"{s['task']}-{s['nu']}-{s['activation']}")
def test_stationarity_in_scale_and_direction_holds_on_the_samples(setting):
    """r m = alpha E f.(chi* or z*) and r q = alpha E f.(proximal point), to the accuracy of the solver."""
    found = solution(setting)
    ridge = RIDGES[setting["activation"]]
    bodies = {
        **erm.MEANS,
        "f_k chi_hat": te.TokenSum(letters.f_k * letters.chi_hat),
        "f_v z_hat": te.TokenSum(letters.f_v * letters.z_hat),
        "sum f_k": te.TokenSum(letters.f_k) ** 2,
    }
    means = channel_means(setting, found, bodies)
    assert ridge["r_k"] * found["m_k"] == pytest.approx(3 * means["f_k chi"], abs=1e-6)
    assert ridge["r_v"] * found["m_v"] == pytest.approx(3 * means["f_v z"], abs=1e-6)
    assert ridge["r_k"] * found["q_k"] == pytest.approx(3 * means["f_k chi_hat"], abs=1e-6)
    assert ridge["r_v"] * found["q_v"] == pytest.approx(3 * means["f_v z_hat"], abs=1e-6)
    if setting["activation"] == "softmax":
        assert means["sum f_k"] < 1e-15


@pytest.mark.parametrize("activation", ["softmax", "linear"])
def test_the_mean_envelope_has_the_conjugates_as_derivatives(activation):
    """d(E M)/dV = -E f^2/2, and d(E M)/dm, d(E M)/dq give the conjugates of m and q (max task, explicit fields)."""
    setting = {"task": "max", "nu": "inf", "delta": 0.2, "activation": activation, "L": 3}
    found = solution(setting)
    gaps = ((letters.chi_hat - letters.omega, letters.V_k), (letters.z_hat - letters.w, letters.V_v))
    envelope = sum(te.TokenSum(gap**2) / (2 * width) for gap, width in gaps) + letters.rho**2 / 2
    bodies = {**erm.MEANS, "M": envelope}
    means = channel_means(setting, found, bodies)

    def slope(name):
        step = 1e-5
        up, down = ({**found, name: found[name] + sign * step} for sign in (1, -1))
        return (channel_means(setting, up, bodies)["M"] - channel_means(setting, down, bodies)["M"]) / (2 * step)

    conjugate = -means["f_k rest"] / (found["q_k"] - found["m_k"] ** 2)
    assert slope("V_k") == pytest.approx(-means["f_k f_k"] / 2, rel=1e-5)
    assert slope("V_v") == pytest.approx(-means["f_v f_v"] / 2, rel=1e-5)
    assert slope("q_k") == pytest.approx(conjugate / 2, rel=1e-5)
    assert slope("m_k") == pytest.approx(-means["f_k chi"] - found["m_k"] * conjugate, rel=1e-5)


@pytest.mark.parametrize("setting", SETTINGS[:4], ids=lambda s: f"{s['task']}-{s['activation']}")
def test_training_error_is_below_the_risk_and_the_risk_above_that_of_the_bayes_learner(setting):
    found = solution(setting)
    assert found["train_error"] < found["risk"]
    inputs = {k: v for k, v in setting.items() if k != "activation"}
    best = min(te.predict(LEARNER, alpha=3, branch=b, samples=FEW, **inputs).value for b in ("informed", "uninformed"))
    assert found["risk"] > best


# limits


@pytest.mark.parametrize("activation", ["softmax", "linear"])
def test_a_strong_ridge_on_k_leaves_ridge_regression(activation):
    given = {"L": 3, "delta": 0.3, "alpha": 2, "activation": activation, "r_v": 2}
    limit = te.predict("duranthon2026.ridge-limit", **given)
    found = te.predict(ERM, task="spiked", nu=1, r_k=1e5, **given)
    assert found.value == pytest.approx(limit.value, abs=1e-4)
    assert found.outputs["m_v"] == pytest.approx(limit.outputs["m_v"], abs=1e-3)
    assert limit.outputs["m_v"] > 0.1


def test_the_ridge_limit_is_indifferent_to_task_and_signal():
    given = {"L": 3, "alpha": 2, "activation": "softmax", "r_v": "0.8"}
    plain = te.predict("duranthon2026.ridge-limit", **given, digits=20)
    other = te.predict("duranthon2026.ridge-limit", task="max", nu="inf", **given, digits=20)
    assert plain.value == other.value
    # V = 3/4 and m_v = 2/5 here: a case with rational numbers
    assert float(plain.value) == pytest.approx(59 / 69, abs=1e-15)


@pytest.mark.parametrize(
    ("task", "nu", "activation"), [("spiked", 1, "softmax"), ("spiked", 2, "linear"), ("max", "inf", "linear")]
)
def test_many_samples_recover_the_population(task, nu, activation):
    limit = te.predict("duranthon2026.large-sample-limit", task=task, nu=nu, L=3, activation=activation)
    found = te.predict(ERM, task=task, nu=nu, L=3, alpha=1600, activation=activation, r_k=1, r_v=5)
    assert 0 < found.value - limit.value < 2e-3
    assert found.outputs["m_k"] == pytest.approx(limit.outputs["m_k"], abs=2e-2)


def test_many_samples_in_the_hard_max_task_leave_no_risk_at_infinite_k():
    found = te.predict("duranthon2026.large-sample-limit", task="max", nu="inf", L=3, activation="softmax").outputs
    assert found["risk"] == 0
    assert found["m_k"] == np.inf


# errors and warnings


def test_errors_are_statistical_and_shrink_with_the_samples():
    given = {"task": "spiked", "nu": 1, "L": 3, "alpha": 2, "activation": "linear", "r_k": 1, "r_v": 8}
    few, many = (te.predict(ERM, samples=n, **given) for n in (2**10, 2**15))
    assert few.error_kind == many.error_kind == "statistical"
    assert 0 < many.error < few.error < 0.02
    assert abs(few.value - many.value) < 5 * few.error + 5 * many.error


def test_a_prediction_is_reproducible():
    given = {"task": "max", "nu": 2, "L": 3, "alpha": 2, "activation": "softmax", "r_k": 1, "r_v": 1, "samples": 512}
    assert te.predict(ERM, **given).outputs == te.predict(ERM, **given).outputs


def test_jumping_proximal_points_are_told_and_change_the_kind_of_error():
    given = {"task": "spiked", "nu": 2, "L": 3, "alpha": 2, "activation": "softmax", "r_k": "0.04", "r_v": "0.5"}
    with pytest.warns(ValidityWarning, match="replica symmetry is only approximate"):
        found = te.predict(ERM, samples=FEW, **given)
    assert found.error_kind == "approximate"
    assert found.outputs["jump_fraction"] > 0.003


def test_both_starts_lead_to_one_solution_where_the_ridge_is_strong():
    setting = {"task": "spiked", "nu": 1, "delta": 0, "activation": "softmax", "L": 3}
    near, far = (solution(setting, branch=b)["risk"] for b in ("informed", "uninformed"))
    assert near == pytest.approx(far, abs=1e-6)


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"alpha": 0}, OutOfDomain, r"alpha=0 is outside \(0, oo\)"),
        ({"alpha": -1}, OutOfDomain, "alpha"),
        ({"r_k": -1}, OutOfDomain, "r_k"),
        ({"r_v": "-0.1"}, OutOfDomain, "r_v"),
        ({"r_k": "tuned"}, BadNumber, "r_k"),
        ({"activation": "erf"}, OutOfDomain, "activation"),
        ({"L": 65}, OutOfDomain, "at most 64"),
        ({"L": 1}, OutOfDomain, "integers from 2"),
        ({"nu": "inf"}, OutOfDomain, "nu"),
        ({"samples": 7}, OutOfDomain, "samples"),
    ],
)
def test_bad_input_is_refused_in_words(changed, error, says):
    given = {"task": "spiked", "nu": 1, "L": 3, "alpha": 2, "activation": "softmax", "r_k": 1, "r_v": 1}
    with pytest.raises(error, match=says):
        te.predict(ERM, **{**given, **changed})


def test_digits_are_not_available_for_means_over_samples():
    with pytest.raises(NotAvailable):
        te.predict(ERM, task="spiked", nu=1, L=3, alpha=2, activation="linear", r_k=1, r_v=1, digits=20)


# tuned


@pytest.mark.parametrize("activation", ["softmax", "linear"])
def test_tuned_strengths_beat_others_and_sit_inside_the_box(activation):
    given = {"task": "spiked", "nu": 1, "L": 3, "alpha": 4, "activation": activation, "samples": 2**13}
    tuned = te.predict("duranthon2026.erm-tuned", **given)
    assert tuned.value == pytest.approx({"softmax": 0.6772, "linear": 0.7226}[activation], abs=0.004)
    assert tuned.outputs["on_boundary"] is False
    for factor in (0.4, 2.5):
        other = te.predict(ERM, r_k=factor * tuned.outputs["r_k"], r_v=factor * tuned.outputs["r_v"], **given)
        assert other.value > tuned.value


# the Bayes-optimal learner


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
        te.predict(LEARNER, task=task, nu=nu, L=3, alpha="0.5", branch=b, samples=FEW).value
        for b in ("informed", "uninformed")
    )
    assert near == far


def test_nishimori_posterior_weight_of_the_truth_is_the_mean_sum_of_squares():
    """Six standard errors of the two means, from four scrambles."""
    import sympy

    from theorem_engine.registry.duranthon2026 import bayes_learner as bayes
    from theorem_engine.trace import listening

    bodies = {"p": bayes.p_0, "pp": te.TokenSum(sympy.exp(2 * (bayes.weight - te.TokenLogSum(bayes.weight))))}
    made = bayes.channel("spiked", sympy.Integer(3), sympy.Integer(2**14), bodies)
    inputs = [letters.q_k, letters.q_v, letters.tau, nu_letter]
    run = get_backend("float64").function(inputs, [made.mean("p"), made.mean("pp")])
    with listening() as notes:
        one, squares = run(0.4, 0.5, 0.6, 1.5)
    assert abs(one - squares) < 6 * sum(notes[-1].error)


def test_the_free_entropy_is_stationary_at_the_fixed_point():
    """Its total derivative in alpha is E log Z alone, since the derivatives in the overlaps vanish."""
    given = {"task": "spiked", "nu": 1, "L": 3, "delta": "0.5", "samples": 2**15}
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
    given = {"task": "spiked", "nu": 1, "L": 3, "delta": "0.5", "samples": 2**13}
    found = te.predict(LEARNER, alpha=2, **given).outputs
    back = te.predict("duranthon2026.learning-curve", q_v=found["q_v"], **given).outputs
    assert back["alpha"] == pytest.approx(2, abs=1e-5)
    assert back["risk"] == pytest.approx(found["risk"], abs=1e-6)


def test_the_uninformed_branch_ends_where_the_hard_phase_says():
    found = te.predict("duranthon2026.hard-phase", task="spiked", nu=2, L=3, samples=2**12).outputs
    assert found["alpha_it"] == 1
    assert found["alpha_alg"] == pytest.approx(1.243, abs=0.02)
    below, above = (
        te.predict(LEARNER, task="spiked", nu=2, L=3, alpha=round(found["alpha_alg"] + step, 3), samples=2**12).outputs
        for step in (-0.02, 0.02)
    )
    assert below["q_v"] < 0.9
    assert above["q_v"] == pytest.approx(1, abs=1e-6)


def test_what_the_learner_does_not_serve_is_refused():
    with pytest.raises(Infeasible, match="nu = inf only"):
        te.predict(LEARNER, task="max", nu=2, L=3, alpha=1)
    with pytest.raises(Infeasible, match="without label noise"):
        te.predict("duranthon2026.hard-phase", task="spiked", nu=1, L=3, delta=1)


def test_sweeps_over_alpha_carry_the_values_of_single_predictions():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        data = te.sweep(LEARNER, task="spiked", nu=1, L=3, delta="0.5", alpha=[1, 2], samples=512)
    single = te.predict(LEARNER, task="spiked", nu=1, L=3, delta="0.5", alpha=2, samples=512).value
    assert float(data["risk"].sel(alpha=2)) == pytest.approx(single, abs=1e-9)
