"""Learning from finitely many samples: identities, limits, branches, errors, and where replica symmetry ends."""

from types import SimpleNamespace

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import theorem_engine as te
from theorem_engine.backends import get_backend
from theorem_engine.backends.float64 import iterated
from theorem_engine.base.errors import BadNumber, NotAvailable, NotConverged, OutOfDomain, ValidityWarning
from theorem_engine.language.statement import Unknown
from theorem_engine.planning.plan import make_plan
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
    return te.predict(ERM, alpha=alpha, draws=samples, **{**RIDGES[setting["activation"]], **setting, **more}).outputs


def channel_means(setting, found, bodies, samples=FEW):
    """Means over the fields at given order parameters, on the samples the solution was found on."""
    at = {
        "m_k": found["m_k"], "m_v": found["m_v"], "V_k": found["V_k"], "V_v": found["V_v"], "q_k": found["q_k"],
        "q_v": found["q_v"], "s_k": found["q_k"] - found["m_k"] ** 2, "s_v": found["q_v"] - found["m_v"] ** 2,
    }  # fmt: skip
    inputs = [getattr(letters, name) for name in at]
    is_argmax = setting["nu"] == "inf"
    here = SimpleNamespace(
        **{
            **setting,
            "nu": nu_letter,
            "L": sympy.Integer(setting["L"]),
            "delta": sympy.Rational(str(setting["delta"])),
        },
        when=lambda _: is_argmax,
    )
    made = erm.channel(here, sympy.Integer(samples), bodies)
    made = made.xreplace({nu_letter: sympy.oo if is_argmax else sympy.Integer(setting["nu"])})
    run = get_backend("float64").function(inputs, [made.mean(name) for name in bodies])
    return dict(zip(bodies, (float(v) for v in run(*at.values())), strict=True))


# F3: identities at the solution


def check_stationarity(setting, alpha, ridge):
    """r m = alpha E f.(chi* or z*) and r q = alpha E f.(proximal point), to the accuracy of the solver."""
    found = solution(setting, alpha, **ridge)
    bodies = {
        **erm.MEANS,
        "f_k chi_hat": te.TokenSum(letters.f_k * letters.chi_hat),
        "f_v z_hat": te.TokenSum(letters.f_v * letters.z_hat),
        "sum f_k": te.TokenSum(letters.f_k) ** 2,
    }
    means = channel_means(setting, found, bodies)
    assert ridge["r_k"] * found["m_k"] == pytest.approx(alpha * means["f_k chi"], abs=1e-7 * (1 + alpha))
    assert ridge["r_v"] * found["m_v"] == pytest.approx(alpha * means["f_v z"], abs=1e-7 * (1 + alpha))
    assert ridge["r_k"] * found["q_k"] == pytest.approx(alpha * means["f_k chi_hat"], abs=1e-7 * (1 + alpha))
    assert ridge["r_v"] * found["q_v"] == pytest.approx(alpha * means["f_v z_hat"], abs=1e-7 * (1 + alpha))
    if setting["activation"] == "softmax":
        assert means["sum f_k"] < 1e-15


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: f"{s['task']}-{s['nu']}-{s['activation']}")
def test_stationarity_in_scale_and_direction_holds_on_the_samples(setting):
    check_stationarity(setting, 3, RIDGES[setting["activation"]])


@pytest.mark.parametrize("setting", SETTINGS[:4], ids=lambda s: f"{s['task']}-{s['activation']}")
@settings(max_examples=5)
@given(alpha=st.floats(0.3, 20), strengths=st.tuples(st.floats(0.5, 4), st.floats(0.5, 12)))
def test_stationarity_holds_wherever_the_proximal_points_do_not_jump(setting, alpha, strengths):
    check_stationarity(
        setting, round(alpha, 3), dict(zip(("r_k", "r_v"), (round(r, 3) for r in strengths), strict=True))
    )


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
    best = min(te.predict(LEARNER, alpha=3, branch=b, draws=FEW, **inputs).value for b in ("informed", "uninformed"))
    assert found["risk"] > best


# limits


@pytest.mark.parametrize("activation", ["softmax", "linear"])
def test_a_strong_ridge_on_k_leaves_ridge_regression(activation):
    given = {"L": 3, "delta": 0.3, "alpha": 2, "activation": activation, "r_v": 2}
    limit = te.predict("duranthon2026.ridge-limit", **given)
    found = te.predict(ERM, task="spiked", nu=1, r_k=1e8, **given)
    for name in ("risk", "train_error", "m_v", "q_v", "V_v"):
        assert abs(found.outputs[name] - limit.outputs[name]) <= 1.5 * found.errors[name]
        assert found.errors[name] < 0.02 * limit.outputs[name]


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
def test_what_is_left_to_the_population_falls_as_one_over_the_samples(task, nu, activation):
    """Twice as many samples halve the distance of risk and overlaps, up to a tenth of it and to the errors."""
    limit = te.predict("duranthon2026.large-sample-limit", task=task, nu=nu, L=3, activation=activation).outputs
    few, many = (
        te.predict(ERM, task=task, nu=nu, L=3, alpha=alpha, activation=activation, r_k=1, r_v=5) for alpha in (200, 400)
    )
    assert few.value - few.error > limit["risk"]
    for name in limit:
        far, near = (found.outputs[name] - limit[name] for found in (few, many))
        assert abs(2 * near - far) <= 0.1 * abs(far) + 2 * many.errors[name] + few.errors[name]


def test_many_samples_in_the_hard_max_task_leave_no_risk_at_infinite_k():
    found = te.predict("duranthon2026.large-sample-limit", task="max", nu="inf", L=3, activation="softmax").outputs
    assert found["risk"] == 0
    assert found["m_k"] == np.inf


@pytest.mark.parametrize("task", ["spiked", "max"])
def test_linear_weights_take_long_sequences(task):
    """Hundreds of tokens; one seed in fifty fails at one and a half errors of 95 %; this one is fixed."""
    given = {"L": 300, "delta": "0.3", "alpha": 2, "activation": "linear", "r_v": 600}
    found = te.predict(ERM, task=task, nu=1, r_k=1e6, **given)
    assert abs(found.value - te.predict("duranthon2026.ridge-limit", **given).value) < 1.5 * found.error
    assert found.error < 0.03


# branches


@pytest.mark.parametrize(("r_k", "r_v"), [("1", "6"), ("0.1", "3"), ("0.02", "1")])
def test_linear_weights_have_a_second_solution_and_the_informed_start_avoids_it(r_k, r_v):
    """With both overlaps negative, and a larger objective: a local minimum that is not the global one."""
    setting = {"task": "spiked", "nu": 4, "delta": 0, "activation": "linear", "L": 3}
    found = solution(setting, 8, r_k=r_k, r_v=r_v)
    assert found["m_k"] > 0 < found["m_v"]
    ridge = {"r_k": sympy.Rational(r_k), "r_v": sympy.Rational(r_v)}
    here = SimpleNamespace(
        **{**setting, "nu": nu_letter, "L": sympy.Integer(3), "delta": sympy.Integer(0)},
        **ridge, alpha=sympy.Integer(8), branch="informed",
    )  # fmt: skip
    seen = erm.channel(here, sympy.Integer(FEW), erm.MEANS)
    equations, starts = erm.order_equations(here, seen.mean), erm.starts(here)
    objective = sympy.Symbol("objective")
    norms = (here.r_k * letters.q_k + here.r_v * letters.q_v) / 2
    equations[objective] = here.alpha * seen.mean("rho rho") / 2 + norms
    elsewhere = {letters.m_k: sympy.Integer(-3), letters.m_v: sympy.Rational(-1, 5)}
    for letter, how in starts.items():
        begin = elsewhere.get(letter, how.value)
        equations[letter] = Unknown(equations[letter], begin, how.positive, method=how.method)
    run = get_backend("float64").compile(make_plan([nu_letter], equations, [letters.m_k, letters.m_v, objective]))
    m_k, m_v, height = (float(v) for v in run(4.0))
    assert m_k < 0 > m_v
    assert height > found["objective"]


# errors and warnings


def test_errors_are_statistical_and_shrink_with_the_samples():
    given = {"task": "spiked", "nu": 1, "L": 3, "alpha": 2, "activation": "linear", "r_k": 1, "r_v": 8}
    few, many = (te.predict(ERM, draws=n, **given) for n in (2**10, 2**15))
    assert few.error_kind == many.error_kind == "statistical"
    assert 0 < many.error < few.error < 0.06
    assert abs(few.value - many.value) < few.error + many.error


def test_a_prediction_is_reproducible():
    given = {"task": "max", "nu": 2, "L": 3, "alpha": 2, "activation": "softmax", "r_k": 1, "r_v": 1, "draws": 512}
    assert te.predict(ERM, **given).outputs == te.predict(ERM, **given).outputs


def test_jumping_proximal_points_are_told_and_change_the_kind_of_error():
    given = {"task": "spiked", "nu": 2, "L": 3, "alpha": 2, "activation": "softmax", "r_k": "0.04", "r_v": "0.5"}
    with pytest.warns(ValidityWarning, match="replica symmetry is only approximate"):
        found = te.predict(ERM, draws=FEW, **given)
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
        ({"r_k": "best"}, BadNumber, "or 'tuned'"),
        ({"activation": "tanh"}, OutOfDomain, "activation"),
        ({"L": 65}, OutOfDomain, "at most 64"),
        ({"L": 1}, OutOfDomain, "integers from 2"),
        ({"L": 1001, "activation": "linear"}, OutOfDomain, "integers from 2 to 1000"),
        ({"nu": "inf"}, OutOfDomain, "nu"),
        ({"draws": 7}, OutOfDomain, "draws"),
    ],
)
def test_bad_input_is_refused_in_words(changed, error, says):
    given = {"task": "spiked", "nu": 1, "L": 3, "alpha": 2, "activation": "softmax", "r_k": 1, "r_v": 1}
    with pytest.raises(error, match=says):
        te.predict(ERM, **{**given, **changed})


def test_without_convergence_the_residual_is_told_and_no_number_returned(monkeypatch):
    monkeypatch.setitem(iterated.MANNERS, "anderson", (6, 0.7, 4))
    monkeypatch.setattr(iterated, "EASINGS", 0)
    setting = {"task": "spiked", "nu": 1, "delta": 0, "activation": "softmax", "L": 3}
    with pytest.raises(
        NotConverged, match=r"erm-risk: .* did not converge .*residual \d\.\de-\d\d after 4 evaluations"
    ):
        solution(setting)


def test_digits_are_not_available_for_means_over_samples():
    with pytest.raises(NotAvailable):
        te.predict(ERM, task="spiked", nu=1, L=3, alpha=2, activation="linear", r_k=1, r_v=1, digits=20)


# tuned


@pytest.mark.parametrize("activation", [pytest.param("softmax", marks=pytest.mark.campaign), "linear"])
def test_tuned_strengths_beat_others_and_sit_inside_the_box(activation):
    given = {"task": "spiked", "nu": 1, "L": 3, "alpha": 4, "activation": activation, "draws": 2**13}
    tuned = te.predict("duranthon2026.erm-tuned", **given)
    # computed by other code, on 2^12 draws: known to 0.001
    table = {"softmax": 0.6772, "linear": 0.7226}[activation]
    assert abs(tuned.value - table) <= tuned.error + 0.001
    assert tuned.error < 0.01
    assert tuned.outputs["on_boundary"] is False
    for factor in (0.4, 2.5):
        other = te.predict(ERM, r_k=factor * tuned.outputs["r_k"], r_v=factor * tuned.outputs["r_v"], **given)
        # on the same draws, so that the difference is known much better than either
        assert other.value > tuned.value + 0.002


def test_the_word_tuned_in_place_of_a_strength_asks_for_the_best_one():
    given = {"task": "spiked", "nu": 1, "L": 3, "alpha": 4, "activation": "linear", "draws": 2**13}
    both = te.predict(ERM, r_k="tuned", r_v="tuned", **given)
    assert both.outputs == te.predict("duranthon2026.erm-tuned", **given).outputs
    one = te.predict(ERM, r_k="tuned", r_v=8, **given)
    assert one.outputs["r_v"] == 8
    assert one.point["r_k"] == "tuned"
    none = te.predict(ERM, r_k=2, r_v=8, **given)
    assert both.value < one.value < none.value
    assert "r_k" not in none.outputs


def test_a_sweep_takes_the_word_too():
    given = {"task": "spiked", "nu": 1, "L": 3, "alpha": 4, "activation": "linear", "draws": 2**10}
    data = te.sweep(ERM, errors=False, r_k="tuned", r_v=[6, 12], **given)
    assert data["r_v"].values.tolist() == [6, 12]
    assert float(data["risk"].sel(r_v=6)) == te.predict(ERM, r_k="tuned", r_v=6, **given).value
