"""Mutants of true theorems come back as disagreements, the theorems themselves never."""

import pytest

import theorem_engine as te
from theorem_engine.asking.point import read_point
from theorem_engine.checking.evidence import Effort
from theorem_engine.checking.mutants import KINDS, Mutant, mutants, original, wrong_entry
from theorem_engine.checking.mutation import EQUIVALENT, NO_NUMBER, REFUTED, SURVIVED, TOO_SLOW, Trial
from theorem_engine.checking.verdict import DISAGREES

FAST = {
    "gaussian.erf-mean": {"t": "0.4", "g": "0.7"},
    "marion2025.linear-risk": {"gamma": "0.8", "L": 4, "eps": "0.5"},
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
    same = original(entry, dict(point.options))
    assert same.evaluate(point) == {"value": te.predict(entry.id, **FAST[entry.id]).value}


def test_a_mutant_without_a_value_is_told_apart():
    import sympy

    entry = te.entry("gaussian.erf-mean")
    wrong = wrong_entry(entry, "by hand", "value")
    wrong._changed[()] = {**entry.returned({}), "value": sympy.log(-1 - entry.present({})[1] ** 2)}
    assert Mutant(wrong, "by hand", "value").evaluate(read_point(entry, FAST[entry.id])) is None


def test_derivatives_are_those_of_what_was_changed():
    """A wrong free energy has the wrong slope that belongs to it, not the slope of the right one."""
    entry = te.entry("liao2026.ridge-error")
    point = read_point(entry, {"c": "0.4", "snr": "0.5", "gamma": "0.3"})
    options = dict(point.options)
    written = [symbol for symbol, equation in entry.statement(options).written.items() if equation is not None]
    changed = {mutant.place.partition(":")[0] for mutant in mutants(entry, options)}
    assert changed <= {str(symbol) for symbol in written}
    assert not any(name.startswith("d(") for name in changed)


def test_mutants_reach_inside_operators_and_arguments():
    entry = te.entry("gaussian.erf-mean")
    assert any("argument 1 of erf" in mutant.place for mutant in mutants(entry))
    (inside,) = [
        mutant
        for mutant in mutants(te.entry("marion2025.optimal-lambda"), dict(read_point(
            te.entry("marion2025.optimal-lambda"), {"gamma": 1, "d": 50, "L": 4}).options))
        if mutant.kind == "sign" and mutant.place.startswith("x: ") and "log(x)/2 of" in mutant.place
    ]  # fmt: skip
    assert inside.evaluate(read_point(inside.entry, {"gamma": 1, "d": 50, "L": 4})) is not None


def test_a_mutant_is_found_again_by_its_name():
    entry = te.entry("marion2025.linear-risk")
    point = read_point(entry, FAST[entry.id])
    for mutant in list(mutants(entry))[::9]:
        again = wrong_entry(entry, mutant.kind, mutant.place)
        assert original(again, mutant.options).evaluate(point) == mutant.evaluate(point)


SMALL = ("gaussian.erf-mean", "marion2025.linear-risk")


@pytest.fixture(scope="module")
def trials():
    return {id: Trial(te.entry(id), Effort(None, 100_000, seed=5), 1e-3) for id in SMALL}


@pytest.mark.parametrize("id", SMALL)
def test_nearly_all_mutants_are_killed_by_the_check_at_designed_points(id, trials):
    trial = trials[id]
    assert trial.verdict != DISAGREES
    fates = list(trial.fates())
    left = [fate for fate in fates if fate.fate == SURVIVED]
    assert len(fates) >= 20
    assert len(left) <= 0.05 * len(fates), left


def test_what_is_known_already_is_not_tried_again(trials):
    trial = trials[SMALL[0]]
    names = list(trial.named())
    assert [(fate.kind, fate.place) for fate in trial.fates(lambda name: name != names[3])] == [names[3]]


def test_the_same_theorem_written_otherwise_is_equivalent_and_a_small_change_survives(trials):
    """Thirty digits tell an identity from a change that double precision does not see."""
    import sympy

    trial = trials["gaussian.erf-mean"]
    entry = trial.entry
    t, g = entry.present({})
    true = entry.returned({})

    def fate(change):
        wrong = wrong_entry(entry, "by hand", "value")
        changed = {**true, "value": sympy.sympify(true["value"]) + change}
        wrong._changed[()] = changed
        return trial.fate([(Mutant(wrong, "by hand", "value", {}, true), trial.sites)])

    assert fate((sympy.sin(t) ** 2 + sympy.cos(t) ** 2 - 1) * g).fate == EQUIVALENT
    small = fate(sympy.Rational(1, 10**14) * g)
    assert small.fate == SURVIVED
    assert small.diff.startswith("- value = ")
    assert "\n+ value = " in small.diff
    assert fate(g / 10).fate == REFUTED


def test_no_mutant_is_the_same_law_with_another_seed():
    entry = te.entry("marion2025.stochastic-pgd")
    names = [mutant.place for mutant in mutants(entry) if mutant.kind == "off by one"]
    assert any(place.endswith(("L +1", "d +1")) for place in names)
    assert not any("seed" in place.partition(": ")[2] for place in names)


def test_what_simulators_said_is_read_again_and_not_drawn_again(tmp_path, monkeypatch):
    """Words, infinities and all: the second trial finds the rows of the first where no simulator can run."""
    from theorem_engine.checking import kept
    from theorem_engine.sweeping.journal import Journal

    def never(*_):
        raise AssertionError("drawn again")

    journal = Journal(tmp_path / "kept.jsonl")
    journal.prepare()
    entry, effort = te.entry("marion2025.linear-risk"), Effort(None, 2000, seed=3)
    first = Trial(entry, effort, kept=kept.Kept(journal))
    assert all(site.examined.evidence.rows for site in first.sites)
    monkeypatch.setattr(kept, "gather", never)
    again = Trial(entry, effort, kept=kept.Kept(journal))
    assert [s.examined.evidence for s in again.sites] == [s.examined.evidence for s in first.sites]
    # another seed is another sample
    with pytest.raises(AssertionError, match="drawn again"):
        Trial(entry, Effort(None, 2000, seed=4), kept=kept.Kept(journal))


def test_a_check_of_a_mutant_by_a_user_comes_to_the_same_verdict(trials):
    """What was drawn for the entry judges a mutant as samples drawn for the mutant do."""
    from theorem_engine.checking.simulation import gather

    trial = trials["marion2025.linear-risk"]
    site = trial.sites[0]
    told = []
    for mutant in list(mutants(trial.entry, dict(site.point.options)))[::6]:
        wrong = mutant.evaluate(site.point)
        if wrong is None or set(wrong) != set(site.true):
            continue
        own = gather(trial.entry, site.examined.named, wrong, site.examined.effort).rows
        verdicts = [site.examined.overall(rows, wrong) for rows in (site.fixed, own)]
        assert verdicts[0] == verdicts[1], mutant.name
        told.append(verdicts[0])
    assert DISAGREES in told


def test_a_mutant_that_takes_too_long_is_told_apart(trials, monkeypatch):
    """Time that ran out says nothing about what a check would say."""
    import itertools

    from theorem_engine.checking import mutants as module

    def endless(*_):
        for _ in itertools.count():
            pass

    trial = trials["gaussian.erf-mean"]
    mutant = next(mutants(trial.entry, {}))
    monkeypatch.setattr(module, "_outputs", endless)
    assert list(mutant.evaluations([trial.sites[0].point], 0.2)) == [(None, True)]
    trial.seconds, seconds = 0.1, trial.seconds
    fate = trial.fate([(mutant, trial.sites)])
    trial.seconds = seconds
    assert fate.fate == TOO_SLOW


def test_the_table_counts_and_shows_survivors():
    from tests.mutants import Score, table

    fates = [
        {"kind": "sign", "place": "a", "fate": word, "why": "so", "diff": "- a = b\n+ a = -b"}
        for word in (REFUTED, REFUTED, NO_NUMBER, EQUIVALENT, SURVIVED)
    ]
    text = table([Score("paper.entry", "agrees", 3, True, fates)], ["Words."])
    assert "| paper.entry | agrees | 3 designed | 5 | 1 | 0 | 2 | 1 | 75.0 % | 0 | 1 |" in text
    assert text.count("+ a = -b") == 1


def test_a_plugin_puts_a_mutant_in_the_place_of_its_entry(tmp_path):
    """Tests that pass on the registry fail on a mutant of it."""
    (tmp_path / "test_it.py").write_text(
        "import theorem_engine as te\n\n\ndef test_value():\n"
        "    assert te.predict('gaussian.erf-mean', t=1, g='0.5').value > 0.7\n"
    )
    from tests.mutants import _tests_fail

    assert _tests_fail(["gaussian.erf-mean", "sign", "value: the whole"], [tmp_path / "test_it.py"])
    assert not _tests_fail(["gaussian.erf-mean", "sign", "no such place"], [tmp_path / "test_it.py"])
