"""Fingerprints: equal in every process, and different after any change of what a number rests on.

Entries are changed in copies of the source tree or declared anew; nothing here is compared with the engine's own word.
"""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy

import theorem_engine as te
from theorem_engine import Limit, Output, Source, lemma
from theorem_engine.asking.fingerprint import (
    computation_fingerprint,
    equations_fingerprint,
    fingerprint,
    prediction_fingerprint,
    statement_fingerprint,
)
from theorem_engine.base.errors import BadRequest
from theorem_engine.checking.mutants import mutants
from theorem_engine.checking.simulators import check_fingerprint
from theorem_engine.language import catalogue
from theorem_engine.language.domains import Interval
from theorem_engine.language.letters import Letter
from theorem_engine.language.statement import Statement, Unknown

ROOT = Path(te.__file__).parent.parent
x, y = sympy.symbols("x y", real=True)

PROGRAM = """
import theorem_engine as te
from theorem_engine.checking.campaign import campaign_points
from theorem_engine.checking.simulators import check_fingerprint
for id in ("marion2025.risk", "duranthon2026.manifold-risk"):
    entry = te.entry(id)
    print(check_fingerprint(entry, campaign_points(entry, 1, 0)[0]))
"""


def test_every_process_finds_the_same_fingerprints():
    """Hashes of texts differ from process to process; with them the order of sets."""
    runs = [
        subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed},
                       capture_output=True, text=True, check=True).stdout.split()
        for seed in ("1", "4321")
    ]  # fmt: skip
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 2


@pytest.mark.parametrize("most", [3, pytest.param(None, marks=pytest.mark.campaign)], ids=["few", "all"])
@pytest.mark.parametrize("entry", te.entries(), ids=str)
def test_a_wrong_statement_has_another_fingerprint(entry, most):
    """A sign, a factor, a term, an exponent, two letters: every mutant that can be written is seen."""
    wrong = list(mutants(entry))
    true = statement_fingerprint(entry.statement())
    assert true == statement_fingerprint(entry.statement())
    seen = 0
    # statements of costly entries take seconds to write
    few = len(wrong) if most is None else 2 if entry.costly else most
    for mutant in wrong[:: max(1, len(wrong) // few)]:
        try:
            statement = mutant.statement
        except Exception:  # a wrong theorem may have no equations at all, or need a condition that this one does not
            continue
        seen += 1
        assert statement_fingerprint(statement) != true, mutant.name
    assert seen


# What is the same, and what is not


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (x + y, x - y),
        (x + 2 * y, 2 * x + y),
        (x / y, y / x),
        (sympy.Piecewise((x, x > 0), (y, True)), sympy.Piecewise((y, x > 0), (x, True))),
        (x, sympy.Symbol("x", positive=True)),
        (Letter("x", "one"), Letter("x", "two")),
        (sympy.Integer(1), sympy.Float(1)),
        (Fraction(1, 3), Fraction(1, 5)),
        (1, True),
        (1, "1"),
        (("a", "bc"), ("ab", "c")),
        ([1, [2]], [[1], 2]),
        (np.arange(5000.0), np.arange(5000.0) + (np.arange(5000) == 2500)),
        (np.zeros(4), np.zeros((2, 2))),
        (Interval(0, 1), Interval(0, 1, left_open=True)),
        (Unknown(x, start=1), Unknown(x, start=1, method="anderson")),
        (Unknown(x, start=1), Unknown(x, start=2)),
        (sympy.Matrix([[x, y]]), sympy.Matrix([[x], [y]])),
    ],
)
def test_different_things_have_different_fingerprints(one, other):
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint(one) == fingerprint(one)


def test_the_order_of_terms_and_of_keys_means_nothing():
    assert fingerprint(sympy.Add(x, y, evaluate=False)) == fingerprint(sympy.Add(y, x, evaluate=False))
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint({"a", "b", "c"}) == fingerprint({"c", "b", "a"})


def test_dummies_count_by_their_order_of_use_not_by_the_age_of_the_process():
    def made():
        first, second = sympy.Dummy("t"), sympy.Dummy("t")
        return Statement("test", (), {first: x + 1, second: first**2 - x}, {"out": second})

    assert statement_fingerprint(made()) == statement_fingerprint(made())
    statement = made()
    first, second = statement.equations
    crossed = replace(statement, equations={first: x + 1, second: second**2 - x})
    assert statement_fingerprint(statement) != statement_fingerprint(crossed)


def test_what_only_its_address_tells_apart_is_refused():
    with pytest.raises(BadRequest, match="has no fingerprint"):
        fingerprint(object.__new__(type("Thing", (), {})))


# Entries and what they rest on


@pytest.fixture
def declared():
    """Declares entries that are forgotten afterwards."""
    made = []

    def declare(body, **changes):
        letter = changes.pop("letter", Letter("t", "test", domain=Interval(0, 1)))
        settings = {"title": "t", "source": Source("2410.01537"), "given": (letter,), "outputs": {"value": "v"}}

        if "needs" in changes:

            def function(t, *, inner):
                """Stated in words."""
                return {"value": body(t, inner)}

        else:

            def function(t):
                """Stated in words."""
                return {"value": body(t)}

        function.__module__ = "theorem_engine.registry.marion2025.risk"
        id = changes.pop("id", "test.upper")
        te.entry("marion2025.risk")
        if id in catalogue._entries:
            catalogue.forget(catalogue._entries[id])
        entry = lemma(id, **{**settings, **changes})(function)
        made.append(entry)
        return entry

    yield declare
    for entry in made:
        catalogue.forget(entry)


POINT = {"t": "1/2"}


def test_a_change_far_below_reaches_everything_above(declared):
    def tower(sign):
        declared(lambda t: 1 + sign * t, id="test.lowest")
        declared(lambda t, inner: sympy.sqrt(inner(t)), id="test.middle", needs={"inner": "test.lowest"})
        # inside the body of an operator too
        integral = lambda t, inner: sympy.Integral(inner(x), (x, 0, t))  # noqa: E731
        return declared(integral, id="test.upper", needs={"inner": "test.middle"})

    assert check_fingerprint(tower(1), POINT) == check_fingerprint(tower(1), POINT)
    assert check_fingerprint(tower(1), POINT) != check_fingerprint(tower(-1), POINT)


@pytest.mark.parametrize(
    "change",
    [
        {"letter": Letter("t", "test", domain=Interval(0, 2))},
        {"letter": Letter("t", "test", domain=Interval(0, 1), default=1)},
        {"outputs": {"value": Output("v", Interval(0, 1))}},
        {"regime": Limit(grows=("t",), orders=(1,))},
        {"error_kind": "statistical"},
        {"checks": ("gaussian.erf_mean",)},
    ],
    ids=str,
)
def test_domains_ranges_regimes_and_simulators_count(declared, change):
    before = check_fingerprint(declared(lambda t: t), POINT)
    assert check_fingerprint(declared(lambda t: t), POINT) == before
    assert check_fingerprint(declared(lambda t: t, **change), POINT) != before


def test_words_do_not_count(declared):
    before = check_fingerprint(declared(lambda t: t), POINT)
    assert check_fingerprint(declared(lambda t: t, title="another", notes=("n",)), POINT) == before
    said = [Limit(grows=("t",), orders=(1,), words=words) for words in ("t -> oo", "t grows like 1/sqrt(x)")]
    assert len({check_fingerprint(declared(lambda t: t, regime=regime), POINT) for regime in said}) == 1


def test_options_and_points_count():
    entry = te.entry("duranthon2026.manifold-risk")
    point = {"task": "spiked", "nu": 1, "L": 3, "activation": "softmax", "m_kk": 1, "m_vv": 1}
    seen = {prediction_fingerprint(entry, {**point, **change})
            for change in ({}, {"activation": "erf", "shift": 1}, {"task": "max"}, {"nu": 2})}  # fmt: skip
    assert len(seen) == 4


def test_a_file_with_another_content_under_its_old_name_is_another_point(tmp_path):
    path = tmp_path / "layer.npz"
    entry = te.entry("liao2026.interpolation-error")
    point = {"weights_file": str(path), "nonlinearity": "tanh", "p": 64, "n": 64, "gamma": 1, "snr": 1}
    found = []
    for strength in (1, 2, 1):
        np.savez(path, W_K=np.eye(64), W_Q=np.eye(64) + strength * np.outer(np.eye(64)[0], np.eye(64)[1]))
        found.append(prediction_fingerprint(entry, point))
    assert found[0] == found[2] != found[1]


# Code


def one_way(item):
    return item + 1


def other_way(item):
    return item - 1


def test_functions_count_by_their_code():
    assert computation_fingerprint(one_way, 1) == computation_fingerprint(one_way, 1)
    assert computation_fingerprint(one_way, 1) != computation_fingerprint(other_way, 1)
    assert computation_fingerprint(one_way, 1) != computation_fingerprint(one_way, 2)
    assert computation_fingerprint(one_way, 1) != computation_fingerprint(eval("lambda item: item"), 1)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the source tree, to be changed."""
    folder = tmp_path_factory.mktemp("tree")
    for name in ("theorem_engine", "registry", "validators"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


#: Python as it is, but for the finders of an editable installation, which would answer from the true tree.
START = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if not getattr(finder, "__module__", "").startswith("__editable__")]
sys.path.insert(0, sys.argv.pop(1))
"""
PROBE = """
import theorem_engine as te
import theorem_engine.registry, theorem_engine.validators
from theorem_engine.checking.simulators import check_fingerprint
points = {"marion2025.oracle-risk": {"lam": 1, "gamma": 1, "d": 9, "L": 3}, "gaussian.erf-mean": {"t": 1, "g": 1}}
print(*(check_fingerprint(te.entry(id), point) for id, point in points.items()))
print(te.__file__, *te.registry.__path__, *te.validators.__path__)
"""


def in_tree(tree, *words):
    """What a command says, or the probe, when the tree is all there is."""
    program = START + ("from theorem_engine.showing.commandline.commands import main; main()" if words else PROBE)
    done = subprocess.run([sys.executable, "-c", program, str(tree), *words], cwd=tree, capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return done.stdout


@contextmanager
def edited(tree, name, old, new):
    """A file with one place changed, and restored afterwards."""
    path = tree / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    yield
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def untouched(tree):
    """Fingerprints before any change: of an entry of one paper, and of one of another."""
    *found, engine, registry, validators = in_tree(tree).split()
    assert all(place.startswith(str(tree)) for place in (engine, registry, validators))
    return found


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("validators/marion2025.py", [True, False]),
        ("validators/gaussian.py", [False, True]),
        ("validators/statistics.py", [True, True]),
        ("theorem_engine/numerics/quadrature.py", [True, True]),
    ],
)
def test_code_counts_where_it_is_used(tree, untouched, name, seen):
    with edited(tree, name, "\n", "\n\n"):
        after = in_tree(tree).split()[:2]
    assert [a != b for a, b in zip(untouched, after, strict=True)] == seen


def test_when_identities_are_written_does_not_matter_to_what_was_checked():
    """Evidence belongs to what is stated: a tuple at once, or a function that gives it when asked."""
    entry, point = te.entry("gaussian.erf-square"), {"t": "0.3", "g": "0.7"}
    assert entry.identities
    later = replace(entry, stated_identities=lambda: entry.identities)
    before = equations_fingerprint(entry, point)
    assert equations_fingerprint(later, point) == before
    assert equations_fingerprint(replace(entry, stated_identities=entry.identities[1:]), point) != before


def test_a_changed_sign_is_checked_anew(tree, tmp_path):
    """The verdict on a theorem is never reported for another one: refuted, not "finished before"."""
    words = (
        "check",
        "marion2025.linear-risk",
        "--points",
        "1",
        "--samples",
        "20000",
        "--jobs",
        "1",
        "--out",
        str(tmp_path),
    )
    assert "0 checks were finished before" in in_tree(tree, *words)
    assert "1 checks were finished before" in in_tree(tree, *words)
    right = "return {others: L - 1, "
    with edited(tree, "registry/marion2025/risk.py", right, right.replace("L - 1", "L + 1")):
        told = in_tree(tree, *words)
    assert "0 checks were finished before" in told
    assert "disagrees" in told
    assert "1 checks were finished before" in in_tree(tree, *words)
