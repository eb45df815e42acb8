"""Fixed points and spinodals against closed forms, brute force and mpmath's own solver."""

import math

import numpy as np
import pytest
from mpmath import mp
from sympy import Rational, cos, log, sin, tanh

from theorem_engine import Branches, notation
from theorem_engine.backends.base import get_backend
from theorem_engine.backends.rounded.number import Rounded
from theorem_engine.base.errors import DeclarationError, NotAvailable, NotConverged

var = notation("test.branches")
m, b, h = (var(n, n, "a number") for n in ("m", "b", "h"))
x, y = var("x", "x", "a number"), var("y", "y", "a number")
#: The magnet: m = tanh(b m + h), whose energy per spin is b m^2/2 minus the logarithm of a mean.
MAGNET = Branches(
    {m: tanh(b * m + h)}, {m: (-1, 1)},
    energy=b * m**2 / 2 + log(1 - m**2) / 2,
)  # fmt: skip


def float64(inputs, *expressions):
    return get_backend("float64").function(inputs, list(expressions))


def spinodal_field(coupling):
    """The field at which two states of the magnet meet: m^2 = 1 - 1/b there, since 1 = b (1 - m^2)."""
    place = math.sqrt(1 - 1 / coupling)
    return coupling * place - math.atanh(place), place


@pytest.mark.parametrize("field", [-0.3, -0.05, 0.02, 0.4])
def test_every_state_of_the_magnet_is_found_with_its_stability(field):
    found = float64([b, h], MAGNET.count, *(MAGNET.at(m, k) for k in (1, 2, 3)), *(MAGNET.slope(k) for k in (1, 2, 3)))
    count, *rest = found(1.7, field)
    grid = np.linspace(-1, 1, 400_001)
    gap = np.tanh(1.7 * grid + field) - grid
    truth = grid[:-1][np.sign(gap[:-1]) != np.sign(gap[1:])]
    assert count == len(truth) == (3 if abs(field) < spinodal_field(1.7)[0] else 1)
    places, slopes = rest[: int(count)], rest[3 : 3 + int(count)]
    assert places == pytest.approx(truth, abs=1e-5)
    assert slopes == pytest.approx([1.7 * (1 - p**2) for p in places], rel=1e-12)
    assert [s < 1 for s in slopes] == ([True, False, True] if count == 3 else [True])
    assert all(math.isinf(v) for v in rest[int(count) : 3])


@pytest.mark.parametrize("field", [-0.05, 0.02])
def test_the_state_of_least_energy_follows_the_field(field):
    """With 2 b m^2/2 - log cosh(b m + h) as energy the lower state is that along the field."""
    from sympy import cosh

    law = Branches({m: tanh(b * m + h)}, {m: (-1, 1)}, energy=b * m**2 / 2 - log(2 * cosh(b * m + h)))
    place, energy, first, third = float64([b, h], law.at(m), law.energy_at(), law.energy_at(1), law.energy_at(3))(
        1.7, field
    )
    assert math.copysign(1, place) == math.copysign(1, field)
    assert energy == min(first, third)
    # along a solution the energy moves by its own derivative in the field, minus m, alone
    slope = float64([b, h], law.energy_at().diff(h))(1.7, field)[0]
    assert slope == pytest.approx(-place, rel=1e-12)


def test_the_first_or_the_last_stable_state_is_meant_where_an_author_says_so():
    for choose, expected in (("first", 1), ("last", 3)):
        law = Branches({m: tanh(b * m + h)}, {m: (-1, 1)}, choose=choose)
        meant, same = float64([b, h], law.at(m), law.at(m, expected))(1.7, 0.02)
        assert meant == same


@pytest.mark.parametrize("which", ["first", "last"])
def test_spinodals_of_the_magnet_are_its_closed_form(which):
    end = MAGNET.spinodal(h, (Rational(-1, 2), Rational(1, 2)), which)
    field, place = float64([b], end, end.at(m))(1.7)
    truth, at = spinodal_field(1.7)
    sign = 1 if which == "last" else -1
    assert (field, place) == pytest.approx((sign * truth, -sign * at), rel=1e-13)
    slope = float64([b], end.diff(b))(1.7)[0]
    near = [spinodal_field(1.7 + d)[0] for d in (-1e-5, 1e-5)]
    assert slope == pytest.approx(sign * (near[1] - near[0]) / 2e-5, rel=1e-8)


def test_a_magnet_without_coupling_has_no_spinodal():
    end = MAGNET.spinodal(h, (Rational(-1, 2), Rational(1, 2)))
    assert all(math.isinf(v) for v in float64([b], end, end.at(m))(0.5))


@pytest.mark.parametrize("distance", [1e-4, 1e-8, 1e-12])
def test_two_states_about_to_meet_are_told_apart(distance):
    count, first, second = float64([b, h], MAGNET.count, MAGNET.at(m, 1), MAGNET.at(m, 2))(
        1.7, spinodal_field(1.7)[0] - distance
    )
    assert count == 3
    assert 0 < second - first < 4 * math.sqrt(distance)
    assert float64([b, h], MAGNET.count)(1.7, spinodal_field(1.7)[0] + distance)[0] == 1


def test_states_move_by_the_implicit_function_theorem():
    slope = float64([b, h], MAGNET.at(m, 3).diff(h), MAGNET.slope(3).diff(h))(1.7, 0.02)
    states = float64([b, h], MAGNET.at(m, 3), MAGNET.slope(3))
    near = [states(1.7, 0.02 + d) for d in (-1e-6, 1e-6)]
    assert slope == pytest.approx([(up - down) / 2e-6 for down, up in zip(*near, strict=True)], rel=1e-8)


def test_digits_agree_with_another_solver():
    with mp.workdps(40):
        values = [mp.mpf("1.7"), mp.mpf("0.02")]
        found = get_backend("multiprecision").function([b, h], [MAGNET.at(m, 3), MAGNET.energy_at(3)])(*values)
        truth = mp.findroot(lambda u: mp.tanh(values[0] * u + values[1]) - u, 0.9)
        assert abs(found[0] - truth) < mp.mpf(10) ** -37
        assert abs(found[1] - values[0] * truth**2 / 2 - mp.log(1 - truth**2) / 2) < mp.mpf(10) ** -37
        end = MAGNET.spinodal(h, (Rational(-1, 2), Rational(1, 2)), "last")
        place = mp.sqrt(1 - 1 / values[0])
        (field,) = get_backend("multiprecision").function([b], [end])(values[0])
        assert abs(field - values[0] * place + mp.atanh(place)) < mp.mpf(10) ** -37


@pytest.mark.parametrize("field", [0.02, 0.1, 0.26])
def test_stated_errors_cover_what_double_precision_misses(field):
    end = MAGNET.spinodal(h, (Rational(-1, 2), Rational(1, 2)), "last")
    wanted = [MAGNET.at(m), MAGNET.slope(), MAGNET.energy_at(), MAGNET.at(m, 2), end, end.at(m)]
    claimed = get_backend("rounded").function([b, h], wanted)(Rounded(1.7), Rounded(field))
    with mp.workdps(40):
        truth = get_backend("multiprecision").function([b, h], wanted)(mp.mpf(1.7), mp.mpf(field))
        for value, exact in zip(claimed, truth, strict=True):
            assert abs(mp.mpf(float(value.value)) - exact) <= value.error < 1e-10


def test_at_the_meeting_itself_nothing_is_claimed():
    truth, _ = spinodal_field(2.0)
    found = get_backend("rounded").function([b, h], [MAGNET.count, MAGNET.at(m, 1)])(Rounded(2.0), Rounded(truth))
    assert found[0].error == math.inf


def test_counts_are_proved_by_balls():
    pytest.importorskip("flint")
    from flint import arb

    found = get_backend("balls").function([b, h], [MAGNET.count, MAGNET.at(m), MAGNET.at(m, 1)])(
        arb("1.7"), arb("0.02")
    )
    plain = float64([b, h], MAGNET.at(m), MAGNET.at(m, 1))(1.7, 0.02)
    assert float(found[0]) == 3
    assert [float(v.mid()) for v in found[1:]] == pytest.approx(plain, rel=1e-14)


def test_letters_that_an_unknown_defines_go_with_it():
    """Two maps in a circle are one map of the first letter."""
    pair = Branches({x: cos(y), y: 2 * x / 3}, {x: (0, 1)})
    assert [u.name for u in pair.unknowns] == ["x"]
    first, second, slope = float64([], pair.at(x), pair.at(y), pair.slope())()
    with mp.workdps(20):
        truth = float(mp.findroot(lambda u: mp.cos(2 * u / 3) - u, 0.8))
    assert (first, second) == pytest.approx((truth, 2 * truth / 3), rel=1e-14)
    assert slope == pytest.approx(-2 / 3 * math.sin(2 * truth / 3), rel=1e-12)


def test_several_unknowns_are_found_from_a_lattice_of_starts():
    """Two magnets that feel each other: nine states, four of them stable, in signs that all combinations take."""
    law = Branches(
        {x: tanh(b * x + y / 10), y: tanh(b * y + x / 10)}, {x: (-1, 1), y: (-1, 1)}, most=9, choose="first"
    )  # fmt: skip
    inputs = [v for k in range(1, 10) for v in (law.at(x, k), law.at(y, k), law.slope(k))]
    count, *flat = float64([b], law.count, *inputs)(2.0)
    assert count == 9
    rows = np.array(flat).reshape(9, 3)
    gaps = [np.tanh(2 * p + q / 10) - p for p, q, _ in rows] + [np.tanh(2 * q + p / 10) - q for p, q, _ in rows]
    assert np.max(np.abs(gaps)) < 1e-13
    # each is up, down or in between, where the other pulls it a little
    assert {(round(p), round(q)) for p, q, _ in rows} == {(i, k) for i in (-1, 0, 1) for k in (-1, 0, 1)}
    stable = rows[rows[:, 2] < 1]
    assert len(stable) == 4
    assert all(round(p) * round(q) != 0 for p, q, _ in stable)
    slope = float64([b], law.at(x).diff(b))(2.0)[0]
    near = [float64([b], law.at(x))(2.0 + d)[0] for d in (-1e-6, 1e-6)]
    assert slope == pytest.approx((near[1] - near[0]) / 2e-6, rel=1e-7)
    with pytest.raises(NotAvailable, match="looked for, not counted"):
        get_backend("balls").function([b], [law.at(x)])


def test_more_states_than_declared_are_an_error_and_not_left_out():
    law = Branches({m: tanh(b * m + h)}, {m: (-1, 1)}, most=2)
    with pytest.raises(NotConverged, match="3 fixed points of m were found, and at most 2 declared"):
        float64([b, h], law.at(m))(1.7, 0.02)


def test_a_fixed_point_that_is_known_need_not_be_looked_for():
    law = Branches({x: b * sin(x)}, {x: (Rational(1, 1000), 3)}, trivial=[0], most=2)
    low = float64([b], law.count, law.at(x), law.slope(1))(0.9)
    assert low == pytest.approx([1, 0, 0.9])
    high = float64([b], law.count, law.at(x), law.slope(1))(1.5)
    assert high[0] == 2
    assert 1.5 * math.sin(high[1]) == pytest.approx(high[1], rel=1e-14)


def test_words_that_fit_nothing_are_refused():
    with pytest.raises(DeclarationError, match="choose='lowest'"):
        Branches({x: cos(x)}, {x: (0, 1)}, choose="lowest")
    with pytest.raises(DeclarationError, match="has no energy"):
        Branches({x: cos(x)}, {x: (0, 1)}, choose="energy")
    with pytest.raises(DeclarationError, match="where to look for y"):
        Branches({x: cos(x + y), y: sin(x + y)}, {x: (0, 1)})
    with pytest.raises(DeclarationError, match="one for each unknown"):
        Branches({x: cos(x)}, {x: (0, 1)}, trivial=[(0, 0)])
    both = Branches({x: cos(x + y), y: sin(x + y)}, {x: (0, 1), y: (0, 1)})
    with pytest.raises(DeclarationError, match="one unknown"):
        both.spinodal(b, (0, 1))
    with pytest.raises(DeclarationError, match="no fixed point 4 of at most 3"):
        both.at(x, 4)
