"""Points that the population entries of duranthon2026 refuse, and one that they take without a warning."""

import warnings

import pytest
import sympy

import theorem_engine as te
from tests.registry.duranthon2026_points import POINT, TASKS, risk
from theorem_engine.base.errors import (
    BadNumber,
    Infeasible,
    MissingParameter,
    NotAvailable,
    OutOfDomain,
    UnknownParameter,
)


@pytest.mark.parametrize(
    ("point", "error"),
    [
        ({"nu": -1}, OutOfDomain),
        ({"nu": "inf"}, OutOfDomain),
        ({"L": {}}, OutOfDomain),
        ({"L": {2: "0.5"}}, OutOfDomain),
        ({"L": {2: "1.5", 3: "-0.5"}}, OutOfDomain),
        ({"L": 0}, OutOfDomain),
        ({"L": 10**12 + 1}, OutOfDomain),
        ({"L": "uniform(3,1)"}, OutOfDomain),
        ({"L": 2.5}, OutOfDomain),
        ({"task": "both"}, OutOfDomain),
        ({"nu": "much"}, BadNumber),
        ({"speed": 1}, UnknownParameter),
    ],
)
def test_bad_points_are_refused_with_a_reason(point, error):
    with pytest.raises(error) as caught:
        risk("bayes-risk", **{"task": "spiked", "nu": 1, "L": 3, **point})
    assert len(str(caught.value)) > 20


def test_unknown_or_unclear_activations_are_refused():
    here = {"task": "spiked", "nu": 1, "L": 3}
    with pytest.raises(OutOfDomain, match="nearest: softmax"):
        risk("minimal-risk", **here, activation="softmx")
    with pytest.raises(BadNumber, match="ElementWise"):
        risk("minimal-risk", **here, activation=sympy.Symbol("t") ** 3)
    with pytest.raises(MissingParameter):
        risk("minimal-risk", **here)
    with pytest.raises(UnknownParameter, match="shift"):
        risk("minimal-risk", **here, activation="softplus", shift=1)


def test_a_kernel_that_turns_negative_is_refused():
    with pytest.raises(OutOfDomain, match="not positive"):
        risk("manifold-risk", task="spiked", nu=1, L=3, activation=te.Normalised(sympy.Symbol("t") + 3), m_kk=2, m_vv=1)


def test_a_kernel_that_falls_is_refused():
    t = sympy.Symbol("t")
    with pytest.raises(OutOfDomain, match="does not increase"):
        te.Normalised(sympy.exp(-t))
    for task in TASKS:
        with pytest.raises(OutOfDomain, match="not monotone"):
            risk("manifold-risk", task=task, nu=1, L=3, activation=te.Normalised(2 + sympy.sin(t)), m_kk=2, m_vv=1)


def test_overlaps_that_no_vectors_have_are_refused():
    with pytest.raises(Infeasible, match="Gram matrix"):
        risk("population-risk", task="spiked", nu=1, L=3, activation="softmax", **{**POINT, "q_kk": 0.5})
    with pytest.raises(Infeasible):
        risk("manifold-risk", task="spiked", nu=1, L=3, activation="softmax", m_kk=1, q_kk=0.5, m_vv=1)


def test_no_warning_leaves_an_ordinary_prediction():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        risk("minimal-risk", task="max", nu=2, L=3, activation="softplus")


@pytest.mark.parametrize(
    "options",
    [
        {"breaks": ("os",)},
        {"breaks": 0},
        {"breaks": (sympy.oo,)},
        {"extra": "1"},
        {"extra": -1},
        {"extra": float("nan")},
    ],
    ids=str,
)
def test_constants_of_a_users_kernel_must_be_numbers(options):
    with pytest.raises((BadNumber, OutOfDomain)):
        te.Normalised(sympy.exp(sympy.Symbol("chi")), **options)


@pytest.mark.parametrize("name", ["mismatched-minimum", "mismatched-region"])
def test_kinks_have_no_minimum_to_be_followed(name):
    """A slope that jumps has no Hessian; a user's kernel says where its kinks are."""
    kernel = te.ElementWise(sympy.Abs(sympy.Symbol("t")), breaks=(0,))
    point = {"task": "max", "L": 6, "activation": kernel} | ({"nu": 0.985} if name == "mismatched-minimum" else {})
    with pytest.raises(NotAvailable, match="kinks"):
        te.predict(f"duranthon2026.{name}", **point)
