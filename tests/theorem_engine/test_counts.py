"""A guard for speed that no clock can upset: how much work a prediction does, counted.

Limits stand a quarter or more above what was counted when they were written; a change that needs more has to say why.
"""

from contextlib import contextmanager

import numpy as np
import pytest

import theorem_engine as te
from theorem_engine.backends.float64.backend import Float64
from theorem_engine.language.catalogue import find_entry

CLOSED = ("marion2025.oracle-risk", {"lam": "0.1", "gamma": "0.7", "d": 400, "L": 10})


@contextmanager
def counted(monkeypatch):
    """Functions compiled, their calls and the numbers that these calls work on, while the block runs."""
    found = {"compiled": 0, "calls": 0, "numbers": 0}
    plain = Float64.elementary

    def elementary(self, inputs, equations, outputs):
        found["compiled"] += 1
        function = plain(self, inputs, equations, outputs)

        def run(*values):
            found["calls"] += 1
            sizes = [np.size(v) for v in values if not isinstance(v, dict)]
            found["numbers"] += max(sizes, default=1)
            return function(*values)

        return run

    monkeypatch.setattr(Float64, "elementary", elementary)
    yield found


def fresh(id):
    """The entry with nothing compiled."""
    from theorem_engine.asking import evaluation, point

    for cached in (evaluation.compiled, evaluation.definitions_of, point._tests, point._conditions, point._written):
        cached.cache_clear()
    return find_entry(id)


PRODUCTS = {"kappa": "0.3", "nu": "0.3", "theta": "0.1", "eta": "0.1", "rho": "0.1"}
#: Entry, point, and limits: functions compiled at the first call; calls of them and numbers they work on at the second.
LIMITS = [
    (*CLOSED, (5, 6, 80)),
    ("marion2025.risk", {**CLOSED[1], **PRODUCTS}, (7, 7, 80)),
    ("gaussian.erf-square", {"t": "0.3", "g": "0.07"}, (5, 6, 80)),
    # a token mean: calls of its integrand do not grow with the length
    ("duranthon2026.bayes-risk", {"task": "spiked", "nu": 5, "L": 10}, (10, 18, 40)),
    ("duranthon2026.bayes-risk", {"task": "spiked", "nu": 5, "L": 10**9}, (10, 18, 40)),
    # a search: every evaluation of what is minimised counts
    ("duranthon2026.minimal-risk", {"task": "spiked", "nu": 5, "L": 10, "activation": "sigmoid"}, (40, 700, 90_000)),
    # the same of double integrals: few of them exact
    ("duranthon2026.minimal-risk", {"task": "max", "nu": 2, "L": 10, "activation": "softplus"}, (49, 390, 46_000)),
    # a group: every iteration of its solver calls the residual
    ("liao2026.noise-resolvent", {"c": 2, "gamma": "0.5", "a1": "0.6", "second_moment": "0.5"}, (29, 80, 450)),
    ("classics.lasso", {"delta": "0.6", "rho": "0.15", "s2": "0.02", "theta": "1.3"}, (8, 180, 180)),
]


@pytest.mark.parametrize(("id", "point", "limits"), LIMITS)
def test_a_prediction_does_no_more_work_than_it_did(id, point, limits, monkeypatch):
    with counted(monkeypatch) as found:
        entry = fresh(id)
        te.predict(entry, **point)
        compiled = found["compiled"]
        found.update(compiled=0, calls=0, numbers=0)
        te.predict(entry, **point)
    fresh(id)
    assert found["compiled"] == 0
    counts = compiled, found["calls"], found["numbers"]
    assert all(count <= limit for count, limit in zip(counts, limits, strict=True)), counts


def test_a_search_takes_few_exact_double_integrals(monkeypatch):
    """The way to the minimum is rough; exact are the slopes that end it, and what is said there."""
    from theorem_engine.backends.float64.token_pair import _Pair
    from theorem_engine.numerics.roughly import is_rough

    taken, plain = {False: 0, True: 0}, _Pair.__call__

    def watched(self, *values):
        taken[is_rough()] += 1
        return plain(self, *values)

    monkeypatch.setattr(_Pair, "__call__", watched)
    te.predict("duranthon2026.minimal-risk", task="max", nu=2, L=10, activation="softplus")
    assert 0 < taken[False] <= 8, taken
    assert taken[True] <= 12, taken


def test_a_mean_that_depends_on_nothing_is_taken_once(monkeypatch):
    """Moments of a nonlinearity do not change from point to point."""
    point = {"nonlinearity": "tanh", "gamma": 1, "weights": "aligned", "snr": "0.2"}
    with counted(monkeypatch) as found:
        entry = fresh("liao2026.interpolation-error")
        te.predict(entry, c="0.25", **point)
        found.update(calls=0, numbers=0)
        first = te.predict(entry, c="0.5", **point)
        # one point of everything that is evaluated, and no nodes of a quadrature
        assert found["numbers"] <= 150, found
    fresh(entry.id)
    # the same number where somebody listens to how it is found, and nothing is kept
    from theorem_engine.base.reports import listening

    with listening() as notes:
        again = te.predict(entry, c="0.5", **point)
    assert any(note.method == "Gaussian mean" for note in notes)
    assert again.outputs == first.outputs


def test_a_paper_is_imported_without_its_identities_and_the_operators_it_does_not_use():
    import subprocess
    import sys

    code = """
import sys
from theorem_engine.language.catalogue import find_entry
entry = find_entry("gaussian.erf-square")
assert "identities" not in vars(entry)
print(*sorted(name.rpartition(".")[2] for name in sys.modules if name.startswith("theorem_engine.language.operators.")))
assert len(entry.identities) == 8
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["base"]


#: A run of each kind of descent, one step long.
DESCENT = {**CLOSED[1], **PRODUCTS, "alpha": "0.01", "steps": 1}


def test_a_compiled_step_of_descent_calls_few_functions(monkeypatch):
    """Two error functions at one place and one at another, two exponentials; one exponential at each node."""
    from theorem_engine.backends.float64 import jit, recurrence

    written = []
    monkeypatch.setattr(recurrence, "WORTH_COMPILING", 0)

    def write(self, *_):
        written.append(jit.Writer(self.law, self.parameters).source(jit.LANES))

    monkeypatch.setattr(recurrence.Runner, "_compiled", write)
    te.predict("marion2025.pgd", schedule=0, **DESCENT)
    body = written[0].partition("def run(")[2]
    # the integral is written out twice, with few nodes and with many
    assert body.count("lane_exp(") <= 4
    assert body.count("lane_erf(") + body.count("lane_erfc(") <= 3


def test_a_step_of_stochastic_descent_draws_few_numbers(monkeypatch):
    """Four normals for a token, one for the label of a sequence, one and two chi for the step."""
    from theorem_engine.backends.float64.random_recurrence import RandomRunner

    drawn, plain = [], RandomRunner._drawn

    def watched(self, stream, begin, count, *rest):
        found = plain(self, stream, begin, count, *rest)
        drawn.append(sum(part.size for part in found) / count)
        return found

    monkeypatch.setattr(RandomRunner, "_drawn", watched)
    te.predict("marion2025.stochastic-pgd", schedule=0, batch=5, eps="0.1", seed=1, **DESCENT)
    assert drawn[0] == 5 * (4 * 10 + 1) + 1 + 2


def test_what_was_compiled_is_not_compiled_again():
    """Blocks of equations that differ in names only, and a bundle of means that another function has too."""
    import sympy

    from theorem_engine.backends import base, get_backend
    from theorem_engine.backends.float64 import spectral_mean
    from theorem_engine.language.operators.spectral_law import MarchenkoPastur
    from theorem_engine.language.operators.spectral_mean import SpectralMean

    backend = get_backend("float64")
    a, b, c, d, s = sympy.symbols("a b c d s", positive=True)
    one = backend.function([a, b], [a**7 * sympy.sin(b) + b])
    before = base._straight_line.cache_info()
    other = backend.function([c, d], [c**7 * sympy.sin(d) + d])
    assert base._straight_line.cache_info().misses == before.misses
    assert one(2.0, 3.0) == other(2.0, 3.0) == [2.0**7 * np.sin(3.0) + 3.0]
    # the other way round it is another function
    assert backend.function([d, c], [c**7 * sympy.sin(d) + d])(3.0, 2.0) == one(2.0, 3.0)
    mean = SpectralMean(1 / (s + a), s, MarchenkoPastur(b))
    value = backend.function([a, b], [mean])
    before = spectral_mean.lower.cache_info()
    twice = backend.function([a, b], [2 * mean])
    assert spectral_mean.lower.cache_info().misses == before.misses
    assert twice(0.7, 0.5)[0] == 2 * value(0.7, 0.5)[0]
