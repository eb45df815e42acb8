"""Mutants of true theorems come back as disagreements, the theorems themselves never."""

import pytest

import theorem_engine as te
from theorem_engine.asking.point import read_point
from theorem_engine.base.errors import TheoremEngineError
from theorem_engine.checking.campaign import campaign_points
from theorem_engine.checking.evidence import Effort
from theorem_engine.checking.mutants import KINDS, measure_power, mutants
from theorem_engine.checking.verdict import DISAGREES

FAST = {
    "gaussian.erf-mean": {"t": "0.4", "g": "0.7"},
    "gaussian.erf-square": {"t": "0.4", "g": "0.7"},
    "gaussian.erf-miss": {"t": "0.4", "g": "0.7"},
    "gaussian.erf-moments": {"t": "0.4", "g": "0.7"},
    "marion2025.linear-risk": {"gamma": "0.8", "L": 4, "eps": "0.5"},
    "marion2025.manifold-risk": {
        "kappa": "0.6",
        "nu": "0.5",
        "lam": "0.3",
        "gamma": "0.8",
        "d": 10,
        "L": 3,
        "eps": "0.5",
    },
}


def test_all_kinds_of_mutants_are_made_and_the_registry_is_left_alone():
    entry = te.entry("marion2025.linear-risk")
    before = dict(entry.statement().equations)
    made = list(mutants(entry))
    assert {mutant.kind for mutant in made} == set(KINDS) - ({"swapped letters"} if len(entry.letters) < 3 else set())
    assert dict(entry.statement().equations) == before
    assert [(m.kind, m.place) for m in made] == [(m.kind, m.place) for m in mutants(entry)]


def test_an_original_evaluated_like_a_mutant_is_the_prediction():
    """A mutant is planned and run as the engine does it: without a change it gives the same number."""
    entry = te.entry("gaussian.erf-mean")
    point = read_point(entry, FAST[entry.id])
    from theorem_engine.checking.mutants import Mutant

    same = Mutant(entry, "none", "nowhere", entry.statement(dict(point.options)))
    assert same.evaluate(point) == {"value": te.predict(entry.id, **FAST[entry.id]).value}


def test_a_mutant_without_a_value_is_told_apart():
    entry = te.entry("gaussian.erf-mean")
    from dataclasses import replace

    import sympy

    from theorem_engine.checking.mutants import Mutant

    statement = entry.statement()
    symbol = statement.targets()[0]
    broken = replace(statement, equations={**statement.equations, symbol: sympy.log(-1 - statement.given[1] ** 2)})
    assert Mutant(entry, "none", "nowhere", broken).evaluate(read_point(entry, FAST[entry.id])) is None


@pytest.mark.parametrize("id", FAST)
def test_nearly_all_mutants_that_change_a_percent_are_refuted(id):
    power = measure_power(te.entry(id), FAST[id], Effort(None, 300_000, seed=5), 1e-3)
    assert power.original != DISAGREES
    assert power.relevant >= 10
    assert power.refuted >= 0.95 * power.relevant, power.missed


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_nearly_all_mutants_of_all_entries_are_refuted():
    """Of entries whose mutants can be evaluated by the dozen."""
    relevant = refuted = 0
    for entry in te.entries():
        if entry.costly:
            continue
        try:
            power = measure_power(entry, campaign_points(entry, 1, 3)[0], Effort(20.0, seed=3), 1e-4)
        except TheoremEngineError:
            # no number at this point: the campaign reports it
            continue
        assert power.original != DISAGREES, entry.id
        if power.original == "agrees":
            relevant += power.relevant
            refuted += power.refuted
    assert refuted >= 0.95 * relevant
