"""Properties of the risk, at points of its own domain."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from mpmath import mp

import theorem_engine as te
from tests.strategies import points_of

NAMES = ("kappa", "nu", "theta", "eta", "rho")


def risk(output="excess", **point):
    return te.predict("marion2025.risk", **point).outputs[output]


def flipped(point, *names):
    return {**point, **{name: -point[name] for name in names}}


RISK_POINTS = points_of("marion2025.risk")


@given(RISK_POINTS)
def test_flipping_both_vectors_changes_nothing(point):
    assert risk(**point) == pytest.approx(risk(**flipped(point, "kappa", "nu", "theta", "eta")), rel=1e-12)


@given(RISK_POINTS)
def test_reflecting_the_values_changes_nothing(point):
    """(v, v*) -> (-v, -v*): its fixed set is the invariant manifold."""
    assert risk(**point) == risk(**flipped(point, "theta", "eta", "rho"))


@given(RISK_POINTS)
def test_a_mean_squared_error_is_not_negative(point):
    prediction = te.predict("marion2025.risk", **point)
    assert prediction.value >= -prediction.error


@given(RISK_POINTS)
def test_label_noise_adds_its_variance(point):
    both = te.predict("marion2025.risk", **{**point, "eps": "0.7"}).outputs
    assert both["risk"] == pytest.approx(both["excess"] + 0.49, rel=1e-13)


@given(RISK_POINTS)
def test_opposite_values_cannot_both_beat_the_null_predictor(point):
    opposite = risk(**flipped(point, "nu", "theta", "rho"))
    assert risk(**point) + opposite >= 2 * float(point["gamma"]) ** 2 - 1e-9


@given(points_of("marion2025.manifold-risk"))
def test_the_manifold_risk_is_the_risk_there(point):
    full = {**point, "theta": 0, "eta": 0, "rho": 0}
    assert te.predict("marion2025.manifold-risk", **point).value == pytest.approx(risk("risk", **full), rel=1e-14)


@given(points_of("marion2025.manifold-risk"))
def test_on_the_manifold_the_risk_is_bounded_below(point):
    gamma, nu = float(point["gamma"]), float(point["nu"])
    noise = (point["L"] - 1) * te.predict("gaussian.erf-square", t=0, g=point["lam"]).value
    excess = te.predict("marion2025.manifold-risk", **point).outputs["excess"]
    assert excess >= gamma**2 * (1 - nu**2) + noise - 1e-12 * (1 + noise)


@given(points_of("marion2025.oracle-risk"))
def test_the_oracle_is_the_corner_of_the_manifold(point):
    corner = te.predict("marion2025.manifold-risk", kappa=1, nu=1, **point)
    assert te.predict("marion2025.oracle-risk", **point).value == pytest.approx(corner.value, rel=1e-14)


@pytest.mark.parametrize("letter", NAMES)
def test_partial_derivatives_are_differences_of_the_risk(letter):
    """At 40 digits a difference of 1e-10 gives 19 digits of the derivative."""
    point = {"kappa": "0.3", "nu": "0.4", "theta": "0.2", "eta": "-0.1", "rho": "0.15", "lam": "0.8", "gamma": "0.9",
             "d": 50, "L": 4}  # fmt: skip
    with mp.workdps(45):
        step = mp.mpf(10) ** -10
        sides = []
        for sign in (-1, 1):
            moved = mp.nstr(mp.mpf(point[letter]) + sign * step, 20)
            sides.append(te.predict("marion2025.risk", digits=40, **{**point, letter: moved}).value)
        slope = te.predict("marion2025.risk", digits=30, **point).outputs[f"d_{letter}"]
        assert abs((sides[1] - sides[0]) / (2 * step) - slope) < mp.mpf(10) ** -17 * (1 + abs(slope))


def test_printed_gradient_of_the_theory_is_the_derivative_of_the_declared_risk():
    """On the manifold: R_kappa = 2 gamma^2 c erf'(c kappa) (erf(b c kappa) - nu), R_nu = -2 gamma^2 erf(c kappa)."""
    point = {
        "kappa": "0.4",
        "nu": "-0.3",
        "theta": 0,
        "eta": 0,
        "rho": 0,
        "lam": "0.3",
        "gamma": "0.8",
        "d": 60,
        "L": 5,
    }
    outputs = te.predict("marion2025.risk", digits=30, **point).outputs
    with mp.workdps(35):
        lam, gamma, kappa, nu = (mp.mpf(point[name]) for name in ("lam", "gamma", "kappa", "nu"))
        g = lam * gamma
        c, b = lam * mp.sqrt(30) / mp.sqrt(1 + 2 * g**2), 1 / mp.sqrt(1 + 4 * g**2)
        slope = 2 / mp.sqrt(mp.pi) * mp.exp(-((c * kappa) ** 2))
        assert abs(outputs["d_kappa"] - 2 * gamma**2 * c * slope * (mp.erf(b * c * kappa) - nu)) < mp.mpf(10) ** -28
        assert abs(outputs["d_nu"] + 2 * gamma**2 * mp.erf(c * kappa)) < mp.mpf(10) ** -28
        assert all(outputs[f"d_{name}"] == 0 for name in ("theta", "eta", "rho"))


def test_vanishing_temperature_gives_the_null_predictor():
    point = {"kappa": "0.3", "nu": "0.4", "theta": "0.2", "eta": "-0.1", "rho": "0.15", "gamma": 1, "d": 30, "L": 6}
    assert risk(lam="1e-9", **point) == pytest.approx(1, abs=1e-7)


def test_to_second_order_in_lambda_attention_is_linear_attention_and_symmetric_in_key_and_value():
    """Exchanging k and v changes the risk only at third order in lam."""
    point = {"kappa": "0.3", "nu": "0.4", "theta": "0.2", "eta": "-0.1", "rho": "0.15", "gamma": "0.9", "d": 12, "L": 4}
    swapped = {**point, "kappa": point["theta"], "theta": point["kappa"], "nu": point["eta"], "eta": point["nu"]}
    gaps = [abs(risk(lam=lam, **point) - risk(lam=lam, **swapped)) for lam in ("0.01", "0.001")]
    assert gaps[1] < gaps[0] / 500


def test_large_lambda_on_the_manifold_is_hard_thresholding():
    gamma, d, kappa, nu, length = 0.8, 40, 0.6, 0.5, 7
    hard = 2 * gamma**2 * (1 - nu * math.erf(math.sqrt(d) * kappa / (2 * gamma))) + length - 1
    soft = te.predict("marion2025.manifold-risk", kappa=kappa, nu=nu, lam=1e6, gamma=gamma, d=d, L=length).value
    assert soft == pytest.approx(hard, rel=1e-5)


@pytest.mark.parametrize(("lam", "d"), [("1", 10**6), ("1e-6", 400), ("0.9", 400), ("1e-6", 10**12)])
def test_near_the_oracle_nothing_cancels(lam, d):
    """Ten digits of the excess in double precision, where 1 - 2 erf + zeta has none."""
    point = {"lam": lam, "gamma": "sqrt(1/2)", "d": d, "L": 10}
    exact = te.predict("marion2025.oracle-risk", digits=30, **point).outputs["excess"]
    assert te.predict("marion2025.oracle-risk", **point).outputs["excess"] == pytest.approx(float(exact), rel=1e-12)


def test_the_slope_of_the_risk_at_the_oracle_keeps_its_digits():
    """d_kappa at the oracle is -2e-54 for lam = 0.9, d = 400: declared with miss, it is right to the last digit."""
    point = {"kappa": 1, "nu": 1, "theta": 0, "eta": 0, "rho": 0, "lam": "0.9", "gamma": "sqrt(1/2)", "d": 400, "L": 10}
    exact = te.predict("marion2025.risk", digits=30, **point).outputs["d_kappa"]
    quick = risk("d_kappa", **point)
    assert quick == pytest.approx(float(exact), rel=1e-10)
    assert -3e-54 < quick < -1e-54


@pytest.mark.parametrize(("gamma", "length"), [("0.5", 1), ("1", 3), ("2", 20)])
def test_the_linear_predictor_solves_its_normal_equations(gamma, length):
    """E[X Y] = E[X X^T] beta token by token: second moments written down from the model."""
    outputs = te.predict("marion2025.linear-risk", gamma=gamma, L=length).outputs
    variance = float(gamma) ** 2
    assert outputs["coefficient"] * (variance + length - 1) / length == pytest.approx(variance / length, rel=1e-14)
    assert outputs["excess"] == pytest.approx(variance - variance * outputs["coefficient"], rel=1e-13)


def test_one_token_needs_no_attention():
    excess = te.predict("marion2025.linear-risk", gamma=2, L=1, eps="0.1").outputs["excess"]
    assert excess == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("gamma", ["1e-150", "1e-12", "1e-3", "1", "1e6", "1e150"])
@pytest.mark.parametrize("length", [1, 2, 10, 10**9])
def test_the_best_linear_predictor_keeps_its_digits_at_both_ends_of_gamma(gamma, length):
    """In fractions: coefficient g/(g + L - 1) with g = gamma^2, excess L - 1 times as much."""
    found = te.predict("marion2025.linear-risk", gamma=gamma, L=length)
    square = Fraction(gamma) ** 2
    coefficient = square / (square + length - 1)
    for name, exact in (("coefficient", coefficient), ("excess", (length - 1) * coefficient)):
        distance = abs(Fraction(found.outputs[name]) - exact)
        assert distance <= Fraction(found.errors[name]) <= Fraction(1, 10**14) * exact + Fraction(1, 10**300)
