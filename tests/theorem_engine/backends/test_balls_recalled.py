"""Proofs that are asked for again: made once inside a block, at each precision anew; and intervals cut without gaps."""

import random

import pytest
from flint import acb, arb, ctx, fmpq

import theorem_engine as te
from theorem_engine.backends.balls.counting import _cut, count_roots
from theorem_engine.backends.balls.recalled import recalled
from theorem_engine.numerics.remembering import remembering


def test_pieces_cover_their_interval_without_gaps():
    rng = random.Random(3)
    for _ in range(300):
        a = rng.choice([-3.0, -1e-9, 0.0, 1e-300, 1e-6, 2.0])
        b = a + abs(a) * 10 ** rng.uniform(-15, 3) + rng.choice([0.0, 1.0, 1e300])
        if a < b:
            pieces = _cut(a, b, rng.randint(2, 16))[::-1]
            assert pieces[0][0] == a
            assert pieces[-1][1] == b
            assert all(left[1] == right[0] for left, right in zip(pieces[:-1], pieces[1:], strict=True))
            assert all(low < high for low, high in pieces)


@pytest.mark.parametrize("roots", [(), (1,), (1, 2, 50), (0.3, 0.31, 7, 99)])
def test_all_roots_of_a_product_are_counted(roots):
    """Of factors that vanish, times one that does not, written so that intervals widen it a lot."""

    def dual(x):
        value, slope = 1 + (x - x + 3) ** 2 / 1000, arb(0)
        for root in roots:
            value, slope = value * (x - root), slope * (x - root) + value
        return value, slope

    found, _ = count_roots(dual, 0.1, 100.0)
    assert len(found) == len(roots)
    for bracket, root in zip(found, sorted(roots), strict=True):
        assert bracket.low < root < bracket.high


def test_the_same_balls_are_proved_once_and_others_or_more_bits_anew():
    asked = []

    def run(*values):
        asked.append(values)
        return [sum(values, arb(0)).sqrt()]

    once = recalled(run)
    with remembering():
        first = once(arb(2), fmpq(1, 3))
        assert once(arb(2), fmpq(1, 3))[0].str() == first[0].str()
        assert len(asked) == 1
        once(arb(2).union(arb(3)), fmpq(1, 3))
        once(arb(2, 1e-30), fmpq(1, 3))
        once(acb(2, 1), fmpq(1, 3))
        assert len(asked) == 4
        with ctx.workprec(ctx.prec + 60):
            sharp = once(arb(2), fmpq(1, 3))[0]
        assert len(asked) == 5
        assert sharp.rad() < first[0].rad() / 2**40
        assert first[0].overlaps(sharp)
    once(arb(2), fmpq(1, 3))
    once(arb(2), fmpq(1, 3))
    assert len(asked) == 7


@pytest.mark.campaign
@pytest.mark.parametrize(("point", "exists"), [({"c": "0.25", "gamma": "0.1"}, False), ({"c": 1, "gamma": 10}, True)])
def test_the_window_of_a_reversal_is_proved_with_its_ends(point, exists):
    """At its ends the two errors, which other entries have, are equal; without a window their order never changes."""
    found = te.predict("liao2026.reversal", certified=True, nonlinearity="tanh", weights="aligned", **point)
    assert found.outputs["exists"] is exists
    at = {**point, "nonlinearity": "tanh"}
    for name in ("snr_low", "snr_high") if exists else ():
        end = float(found.outputs[name])
        if 0 < end < float("inf"):
            attention = te.predict("liao2026.interpolation-error", snr=end, weights="aligned", **at)
            ridge = te.predict("liao2026.ridge-error", c=point["c"], gamma=point["gamma"], snr=end)
            assert abs(attention - ridge) < 1e-12
