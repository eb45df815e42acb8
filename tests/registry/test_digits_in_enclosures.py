"""Fifty digits lie inside the enclosure that a certificate proves, at points from every domain.

Digits come from mpmath, enclosures from balls: two methods with other quadratures, solvers and stopping rules.
"""

import warnings

import numpy as np
import pytest
from mpmath import mp

import theorem_engine as te
from theorem_engine.asking.random_point import draw_point
from theorem_engine.base.errors import NotAvailable, NotConverged, ValidityWarning

#: Flows have no certificate, random steps neither.
WITHOUT = {"marion2025.gradient-flow", "marion2025.stochastic-pgd"}
NAMED = ("bayes-risk", "linear-risk", "element-wise-bound", "minimal-risk", "manifold-risk", "population-risk")
ENTRIES = [
    e
    for e in te.entries()
    if (e.id.startswith(("gaussian.", "marion2025.", "liao2026.")) and e.id not in WITHOUT)
    or e.id.removeprefix("duranthon2026.") in NAMED
]
#: Letters that keep token means short: digits of long double integrals take minutes.
FIXED = {f"duranthon2026.{name}": {"task": "spiked"} for name in NAMED}
FIXED["duranthon2026.population-risk"] |= {"activation": "softmax"}
FIXED["duranthon2026.manifold-risk"] |= {"activation": "softmax"}
QUICK = ("gaussian.", "marion2025.risk", "marion2025.oracle-risk", "duranthon2026.bayes-risk", "liao2026.ridge-error")


def flat(value):
    """All numbers of an output."""
    if isinstance(value, dict):
        return [x for part in value.values() for x in flat(part)]
    if isinstance(value, (list, tuple)):
        return [x for part in value for x in flat(part)]
    return [value]


def compare(entry, count, seed):
    """How many outputs were compared, each with its digits inside its enclosure."""
    rng = np.random.default_rng([seed, *entry.id.encode()])
    compared = 0
    for _ in range(count):
        point = draw_point(entry, rng, FIXED.get(entry.id))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ValidityWarning)
            try:
                proved = te.predict(entry.id, certified=True, digits=30, **point)
            except (NotAvailable, NotConverged):
                continue
            found = te.predict(entry.id, digits=50, **point)
        for name, output in proved.outputs.items():
            columns = flat(output), flat(proved.errors[name]), flat(found.outputs[name])
            for centre, radius, value in zip(*columns, strict=True):
                compared += 1
                if isinstance(centre, (bool, str)) or radius is None or not mp.isfinite(value):
                    assert centre == value, (point, name)
                    continue
                with mp.workdps(70):
                    distance = abs(mp.mpmathify(centre) - mp.mpmathify(value))
                    assert distance <= radius + mp.mpf(10) ** -49 * abs(value), (point, name)
    return compared


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.id.startswith(QUICK)], ids=lambda entry: entry.id)
def test_fifty_digits_lie_in_the_enclosure(entry):
    assert compare(entry, 3, 1)


@pytest.mark.campaign
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_fifty_digits_lie_in_the_enclosure_over_the_domain(entry):
    assert compare(entry, 20, 2)
