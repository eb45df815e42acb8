"""Groups of runs in lanes, against a loop over steps written out by hand."""

import math

import numpy as np
import pytest
import sympy
from scipy import special

from theorem_engine.backends import get_backend
from theorem_engine.backends.float64 import recurrence
from theorem_engine.language.operators.dynamics import Recurrence

pytest.importorskip("numba")

x, y, a, b, n, k, s = sympy.symbols("x y a b n k s")
#: Two calls of one function at one place under two names, an integral with a table, and a clock that moves a number.
LAW = Recurrence.of(
    {
        x: x + (sympy.erf(a * x) - x / 2) / (4 + b * k),
        y: y * sympy.exp(-((a * x) ** 2)) / 2
        + sympy.Integral(sympy.exp(-(x**2) * (1 + a * s**2)), (s, 0, 1))
        + sympy.erfc(x * a) / 3,
    },
    None,
    n,
    clock=k,
)


def by_hand(start, rate, moved, steps, until=math.inf):
    """All states on the way."""
    here, way = start, [start]
    for time in range(steps):
        p, q = here
        if p > until:
            break
        area = math.exp(-(p**2)) * math.sqrt(math.pi / rate) / (2 * p) * special.erf(p * math.sqrt(rate))
        here = (
            p + (special.erf(rate * p) - p / 2) / (4 + moved * time),
            q * math.exp(-((rate * p) ** 2)) / 2 + area + special.erfc(p * rate) / 3,
        )
        way.append(here)
    return np.array(way)


@pytest.fixture
def points():
    """Nineteen runs: one group of sixteen and one with places to spare, of different length and clock."""
    rng = np.random.default_rng(5)
    columns = [rng.uniform(-1, 1, 19), rng.uniform(-1, 1, 19), rng.uniform(0.5, 2, 19), np.zeros(19)]
    columns[3][::2] = 0.25
    return [*columns, np.array([30, 12, 30, 7, 30, 30, 1, 30, 22, 30, 9, 30, 30, 2, 30, 17, 30, 30, 4])]


@pytest.mark.parametrize("count", [7, 19])
def test_every_run_of_a_group_goes_its_own_way(count, points, monkeypatch):
    """Also in the smaller groups of few runs."""
    points = [column[:count] for column in points]
    monkeypatch.setattr(recurrence, "WORTH_COMPILING", 0)
    monkeypatch.setattr(recurrence.Runner, "_loop", None)
    found = recurrence.Runner(LAW, (x, y, a, b, n), get_backend("float64")).run(tuple(map(np.asarray, points)), None)
    for i, (p, q, rate, moved, steps) in enumerate(zip(*points, strict=True)):
        expected = by_hand((p, q), rate, moved, int(steps))[-1]
        assert [f[i] for f in found.final] == pytest.approx(expected, rel=0, abs=2e-13), i


@pytest.mark.parametrize("count", [1, 5])
def test_logs_are_those_of_each_run(count, points, monkeypatch):
    """One run alone is not put into a group; equal parameters are evaluated once for all."""
    monkeypatch.setattr(recurrence, "WORTH_COMPILING", 0)
    monkeypatch.setattr(recurrence.Runner, "_loop", None)
    given = points[0][:count], points[1][:count], np.full(count, 1.5), np.full(count, 0.1), np.full(count, 20)
    found = recurrence.Runner(LAW, (x, y, a, b, n), get_backend("float64")).run(given, 5)
    assert found.log[0].tolist() == [[0, 5, 10, 15, 20]] * count
    for i in range(count):
        way = by_hand((points[0][i], points[1][i]), 1.5, 0.1, 20)[::5]
        assert found.log[1][i] == pytest.approx(way[:, 0], rel=0, abs=2e-13)
        assert found.log[2][i] == pytest.approx(way[:, 1], rel=0, abs=2e-13)


def test_runs_that_reach_their_end_stay_there(monkeypatch):
    monkeypatch.setattr(recurrence, "WORTH_COMPILING", 0)
    monkeypatch.setattr(recurrence.Runner, "_loop", None)
    law = Recurrence.of({x: x + a / (1 + k)}, None, 200, clock=k, until=sympy.Gt(x, b))
    starts, rates, ends = np.linspace(0, 1, 5), np.linspace(1, 2, 5), np.array([1.5, 2, 2.5, 3, 0.5])
    found = recurrence.Runner(law, (x, a, b), get_backend("float64")).run((starts, rates, ends), None)
    for i in range(5):
        value, time = starts[i], 0
        while value <= ends[i]:
            value, time = value + rates[i] / (1 + time), time + 1
        assert found.final[0][i] == pytest.approx(value, rel=1e-14)
