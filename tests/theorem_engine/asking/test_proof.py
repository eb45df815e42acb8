"""Identities that entries carry: true ones hold, by methods of this file too; false ones are refuted."""

import json
from dataclasses import replace

import mpmath
import numpy as np
import pytest
import sympy
from mpmath import mp
from typer.testing import CliRunner

import theorem_engine as te
from theorem_engine.asking.outcome import AT_POINTS, ON_BOX, PROVED, REFUTED, UNDECIDED, Outcome, Proof
from theorem_engine.asking.proof import prove_identity
from theorem_engine.base.errors import DeclarationError, OutOfDomain
from theorem_engine.language.catalogue import find_entry
from theorem_engine.language.identity import Derivative, Equation, Ordering, SpecialValue, applied, own, slope
from theorem_engine.registry.gaussian.notation import g, t
from theorem_engine.registry.marion2025.notation import eta, nu, rho, theta
from theorem_engine.showing.commandline.commands import app

POINT = {"t": 1, "g": "0.5"}
MEAN, SQUARE = "gaussian.erf-mean", "gaussian.erf-square"


def tried(entry_id, identity):
    return prove_identity(find_entry(entry_id), identity)


@pytest.mark.parametrize("id", [entry.id for entry in te.entries() if entry.identities])
def test_every_identity_of_the_registry_holds(id):
    proof = te.prove(id)
    assert proof.outcomes
    for outcome in proof.outcomes:
        assert outcome.status in (PROVED, ON_BOX, AT_POINTS), str(outcome)


def test_a_false_equation_is_refuted_with_a_point_and_a_ball():
    outcome = tried(MEAN, Equation(own("value"), sympy.erf(t), points=(POINT,)))
    assert outcome.status == REFUTED
    assert outcome.points == ({"t": "1", "g": "0.5"},)
    with mp.workdps(30):
        true = mpmath.erf(1) - mpmath.erf(1 / mpmath.sqrt(mp.mpf("1.5")))
        assert abs(mp.mpf(outcome.enclosure.strip("[").split()[0]) - true) < 1e-18


def test_an_equation_that_is_off_by_1e_15_is_refuted():
    identity = Equation(
        own("value"), sympy.erf(t / sympy.sqrt(1 + 2 * g**2)) + sympy.Rational(1, 10**15), points=(POINT,)
    )
    assert tried(MEAN, identity).status == REFUTED


def test_a_false_derivative_is_refuted_though_the_entry_states_it():
    true = find_entry(SQUARE)

    def boast(t, g):
        """The equations of the entry with a derivative twice too large."""
        equations = dict(true.body(t, g))
        return {**equations, "dt": 2 * equations["dt"], te.Partial("value", t): 2 * equations["dt"]}

    false = replace(true, body=boast, _statements={}, _settings={}, _undecided={}, _conditions={})
    identity = Derivative("value", t, own("dt"), points=(POINT,))
    assert prove_identity(false, identity).status == REFUTED
    assert prove_identity(true, identity).status == AT_POINTS


def test_a_false_symmetry_of_five_products_is_refuted():
    point = {"kappa": "0.5", "nu": "0.3", "theta": "0.1", "eta": "-0.2", "rho": "0.05", "lam": "0.1", "gamma": 1}
    point |= {"d": 400, "L": 10}
    mirrored = own("excess", nu=-nu, theta=-theta, eta=-eta, rho=-rho)
    assert tried("marion2025.risk", Equation(mirrored, own("excess"), points=(point,))).status == REFUTED


def test_a_false_ordering_is_refuted():
    assert tried(SQUARE, Ordering(own("value"), applied(MEAN) ** 2, points=(POINT,))).status == REFUTED


def test_what_holds_at_the_points_stated_may_be_refuted_on_the_box():
    identity = Equation(own("value"), 0, points=({"t": 0, "g": 1},), box={"t": (1, 2), "g": ("0.5", "0.6")})
    outcome = tried(MEAN, identity)
    assert outcome.status == REFUTED
    assert 1 <= float(outcome.points[0]["t"]) <= 2
    identity = Ordering(own("value"), 0, points=({"t": -1, "g": 1},), box={"t": (1, 2), "g": ("0.5", "0.6")})
    assert tried(MEAN, identity).status == REFUTED


def test_a_box_that_touches_where_the_sides_are_equal_falls_back_to_its_points():
    # an integral, which algebra does not see through, and a difference that vanishes at g = 0
    identity = Ordering(applied(MEAN) ** 2, own("value"), box={"t": ("0.5", "0.6"), "g": (0, "0.1")})
    outcome = tried(SQUARE, identity)
    assert outcome.status == AT_POINTS
    assert "pieces do not settle it" in outcome.reason


def test_without_box_and_points_only_algebra_decides():
    assert tried(MEAN, SpecialValue({g: 0}, "value", sympy.erf(t))).status == PROVED
    outcome = tried(SQUARE, Derivative("value", t, own("dt")))
    assert (outcome.status, outcome.reason) == (UNDECIDED, "no box and no points are stated")


def test_what_has_no_enclosure_is_not_decided_and_says_why():
    softplus = {"task": "spiked", "activation": "softplus"}
    point = {"nu": 5, "L": 10, "m_kk": 1, "m_vv": "0.8"}
    outcome = tried("duranthon2026.manifold-risk", Ordering(own("risk"), 10, points=(point,), options=softplus))
    assert outcome.status == UNDECIDED
    assert "exponential weights only" in outcome.reason


def test_identities_outside_the_domain_or_about_unknown_letters_are_errors_of_their_author():
    with pytest.raises(OutOfDomain):
        tried(MEAN, Equation(own("value"), 1, points=({"t": 1, "g": -1},)))
    with pytest.raises(DeclarationError, match="which is no letter"):
        tried(MEAN, Equation(own("value"), 1, points=({"t": 1, "h": 1},)))
    with pytest.raises(DeclarationError, match="without a value of g"):
        tried(MEAN, Equation(own("value"), 1, points=({"t": 1},)))


def test_text_fits_80_columns_and_json_has_the_same():
    proof = te.prove("marion2025.linear-risk")
    assert max(map(len, str(proof).splitlines())) <= 80
    assert "L = 10" in str(proof)
    data = json.loads(json.dumps(proof.to_json(), allow_nan=False))
    assert [item["status"] for item in data["identities"]] == [o.status for o in proof.outcomes]
    assert data["identities"][-1]["box"] == {"gamma": "[0.1, 3]", "L": "10"}
    assert str(te.prove("liao2026.hermite")) == "liao2026.hermite carries no identities"


def test_the_command_prints_the_proof_and_fails_where_one_is_refuted(monkeypatch):
    runner = CliRunner()
    done = runner.invoke(app, ["prove", "marion2025.linear-risk", "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["entry"] == "marion2025.linear-risk"
    entry = find_entry(MEAN)
    for status, code in ((REFUTED, 1), (UNDECIDED, 3)):
        found = Proof(entry, (Outcome("a = b", status, "so it is"),))
        monkeypatch.setattr("theorem_engine.asking.proof.prove", lambda id, found=found: found)
        assert runner.invoke(app, ["prove", MEAN]).exit_code == code


def mean_over_noise(function, t, g):
    """E f(t + g G) by a quadrature of its own."""
    density = lambda x: mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)  # noqa: E731
    return mpmath.quad(lambda x: function(t + g * x) * density(x), [-14, -7, -3, 0, 3, 7, 14])


def test_the_gaussian_identities_hold_by_quadrature_of_the_definitions():
    with mp.workdps(25):
        square = lambda t, g: mean_over_noise(lambda y: mpmath.erf(y) ** 2, t, g)  # noqa: E731
        here, h = (mp.mpf("0.7"), mp.mpf("0.6")), mp.mpf("1e-5")
        in_g = (square(here[0], here[1] + h) - square(here[0], here[1] - h)) / (2 * h)
        in_t = (square(here[0] + h, here[1]) - 2 * square(*here) + square(here[0] - h, here[1])) / h**2
        assert abs(in_g - here[1] * in_t) < 1e-8
        closed = 1 - 4 / mpmath.pi * mpmath.atan(1 / mpmath.sqrt(1 + 4 * here[1] ** 2))
        assert abs(square(0, here[1]) - closed) < 1e-15
        # Stein: the derivative of E G erf in t is (E G^2 erf - E erf)/g
        moment = lambda n, t: mpmath.quad(  # noqa: E731
            lambda x: x**n * mpmath.erf(t + here[1] * x) * mpmath.exp(-x * x / 2), [-14, -5, 0, 5, 14]
        ) / mpmath.sqrt(2 * mpmath.pi)  # fmt: skip
        rise = (moment(1, here[0] + h) - moment(1, here[0] - h)) / (2 * h)
        assert abs(rise - (moment(2, here[0]) - moment(0, here[0])) / here[1]) < 1e-8


def test_the_slopes_on_the_manifold_hold_by_quadrature_of_the_definition():
    with mp.workdps(25):
        lam, gamma, tau, b = mp.mpf(1), mp.mpf("0.5"), mpmath.sqrt(10), mpmath.sqrt(2)

        def excess(kappa, nu):
            first, second = (
                mean_over_noise(lambda y, n=n: mpmath.erf(y) ** n, tau * kappa, lam * gamma) for n in (1, 2)
            )
            return gamma**2 * (second - 2 * nu * first + 1)

        kappa, nu_, h = mp.mpf("0.3"), mp.mpf("0.4"), mp.mpf("1e-6")
        c = tau / mpmath.sqrt(1 + 2 * lam**2 * gamma**2)
        slope_ = 2 * gamma**2 * c * 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-((c * kappa) ** 2))
        slope_ *= mpmath.erf(c * kappa / b) - nu_
        assert abs((excess(kappa + h, nu_) - excess(kappa - h, nu_)) / (2 * h) - slope_) < 1e-9
        assert (
            abs((excess(kappa, nu_ + h) - excess(kappa, nu_ - h)) / (2 * h) + 2 * gamma**2 * mpmath.erf(c * kappa))
            < 1e-9
        )


def test_the_orderings_of_the_erf_risks_hold_by_quadrature_of_the_definition():
    def excess(kappa, nu_, lam, gamma, d, length):
        own_token = (mean_over_noise(lambda y, n=n: mpmath.erf(y) ** n, lam * mpmath.sqrt(d / 2) * kappa, lam * gamma)
                     for n in (1, 2))  # fmt: skip
        first, second = own_token
        noise = mean_over_noise(lambda y: mpmath.erf(y) ** 2, 0, lam)
        return gamma**2 * (second - 2 * nu_ * first + 1) + (length - 1) * noise

    for setting in ((0.1, 1.0, 400, 10), (1.0, 0.5, 20, 3)):
        for kappa, nu_ in ((0.5, 0.3), (-0.2, 0.9)):
            assert excess(1, 1, *setting) < excess(kappa, nu_, *setting)
    for lam in (0.08, 0.12):
        for gamma in (0.9, 1.1):
            assert excess(1, 1, lam, gamma, 400, 10) < gamma**2 * 9 / (gamma**2 + 9)


def test_normalisation_is_worth_a_factor_two_for_two_tokens_by_quadrature():
    for strength in (3, 8):
        n = mp.mpf(strength) / 2
        # the difference of two scores has mean sqrt(n) and variance 2
        bayes = mean_over_noise(lambda y: 1 / (1 + mpmath.exp(y)), n, mpmath.sqrt(2 * n))
        bound = mean_over_noise(lambda y: 1 / (2 * mpmath.cosh(y / 2)), 0, mpmath.sqrt(strength))
        assert abs(bayes - mpmath.exp(-mp.mpf(strength) / 8) * bound) < 1e-12


def test_the_ridge_identities_hold_for_the_derivative_of_the_resolvent():
    def error(c, snr, gamma):
        def form(x):
            a = (-(x + c - 1) + mpmath.sqrt((x + c - 1) ** 2 + 4 * x)) / (2 * x)
            return a * (1 + a) / (1 + (1 + snr) * a)

        return -(gamma**2) * mpmath.diff(form, gamma)

    with mp.workdps(40):
        assert abs(error(1, 0, mp.mpf(2)) - 1 / mpmath.sqrt(3)) < 1e-20
        for gamma in (mp.mpf("1e-2"), mp.mpf("1e-4")):
            assert 0 <= error(mp.mpf("0.5"), 1, gamma) - mp.mpf(1) / 4 <= 3 * gamma**2
        assert error(mp.mpf("0.5"), 1, mp.mpf("0.45")) < error(mp.mpf("0.5"), 0, mp.mpf("0.45")) < 1


@pytest.mark.parametrize(("strength", "length"), [(2, 3), (5, 10)])
def test_the_spiked_orderings_hold_for_draws_of_the_model(strength, length):
    rng = np.random.default_rng(3)
    scores = rng.standard_normal((100_000, length))
    scores[:, 0] += np.sqrt(strength)

    def weights(slope):
        w = np.exp(slope * (scores - scores.max(1, keepdims=True)))
        return w / w.sum(1, keepdims=True)

    bayes = (1 - weights(np.sqrt(strength))[:, 0]).mean()
    other = weights(1.0)
    attention = ((1 - other[:, 0]) ** 2 + (other[:, 1:] ** 2).sum(1)).mean()
    x, w = np.polynomial.hermite_e.hermegauss(80)
    balance = 1 / (2 * np.cosh((np.sqrt(strength) * x - np.log(length - 1)) / 2))
    bound = np.sqrt(length - 1) * np.exp(-strength / 8) * (w @ balance) / w.sum()
    linear = length * (length - 1) / (length**2 + strength * (length - 1))
    assert bayes + 0.01 < bound < linear
    assert bayes + 0.01 < attention


def test_the_orderings_of_the_max_task_hold_by_a_grid_of_three_scores():
    x, w = np.polynomial.hermite_e.hermegauss(60)
    w = w / w.sum()
    kernel = np.exp(2 * x)
    first = kernel[:, None, None] / (kernel[:, None, None] + kernel[None, :, None] + kernel[None, None, :])
    bayes = 1 - 3 * np.einsum("i,j,k,ijk->", w, w, w, first**2)
    bound = 1 - 3 * w @ np.einsum("j,k,ijk->i", w, w, first) ** 2
    linear = (2 - (2 * bayes) ** 2) / 3
    assert bayes + 0.01 < bound
    assert bound + 0.001 < linear


def test_a_derivative_may_stand_on_both_sides():
    identity = Equation(slope("value", t, g), slope("value", g, t), points=(POINT,))
    assert tried(MEAN, identity).status == PROVED
