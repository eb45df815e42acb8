"""Enclosed fixed points, roots, minima and eigenvalues against reference balls and independent relations."""

import pytest
import sympy
from flint import arb, ctx
from mpmath import mp

import theorem_engine as te
from theorem_engine import Minimum, Root
from theorem_engine.backends.balls import BACKEND
from theorem_engine.backends.balls.claims import Unproved, collecting
from theorem_engine.backends.balls.counting import count_roots
from theorem_engine.backends.balls.krawczyk import krawczyk
from theorem_engine.backends.balls.polynomial_roots import enclose_roots
from theorem_engine.language.operators.spectrum import Eigenvalues

NULL_ERRORS = [
    (("0.25", "1", "0.6057", "0.3943"), "0.81720407986221155276129530066660574227646631578145"),
    (("1", "0.001", "0.5", "0.5"), "0.080575958348480857926833321487273562856422500269935"),
    (("4", "0.01", "0.6057", "0.3943"), "0.081063528255995367745208625696717846199954893188350"),
    (("1", "1", "0.6057", "0.39429"), "0.74265936365761303708129353036120352486709733382351"),
    (("1", "1e-8", "0.5", "0.5"), "0.00170653343060678407196844954917"),
    (("4", "1e-10", "0.6057", "0.3943"), "7.97401557932892616537497750119e-6"),
]
x = sympy.Symbol("x", real=True)


def check(prediction, reference, digits):
    with mp.workdps(70):
        reference = mp.mpf(reference)
        assert abs(prediction.value - reference) <= prediction.error + mp.mpf(10) ** -digits * abs(reference)
        assert prediction.error <= mp.mpf(10) ** (1 - prediction.digits) * abs(prediction.value)


@pytest.mark.parametrize(("point", "reference"), NULL_ERRORS)
def test_null_errors_hold_the_references_and_their_solution_is_unique(point, reference):
    letters = dict(zip(("c", "gamma", "a1", "second_moment"), point, strict=True))
    found = te.predict("liao2026.null-error", certified=True, digits=25, **letters)
    check(found, reference, 28)
    assert found.certificate.status == "unique"
    assert {"g", "e", "eta"} <= set(found.certificate.box)


def test_the_box_of_a_fixed_point_holds_its_solution():
    found = te.predict("liao2026.noise-resolvent", certified=True, c="0.25", gamma=1, a1="0.6057",
                       second_moment="0.3943")  # fmt: skip
    for name in ("g", "e", "eta"):
        with mp.workdps(30):
            assert arb(found.certificate.box[name]).overlaps(arb(str(found.outputs[name])))


def test_krawczyk_finds_one_solution_and_does_not_prove_a_double_one():
    def circle(z):
        a, b = z
        return [a * a + b * b - 1, a - b], [[2 * a, 2 * b], [arb(1), arb(-1)]]

    def double(z):
        return [z[0] * z[0]], [[2 * z[0]]]

    with ctx.workprec(100):
        box, image = krawczyk(circle, [arb("0.70710678118654752440084436210485"), arb("0.7071067811865475244")])
        assert all(side.contains(arb("0.5").sqrt()) for side in image)
        assert all(b.contains(i) for b, i in zip(box, image, strict=True))
        with pytest.raises(Unproved):
            krawczyk(double, [arb("1e-20")])


def test_roots_of_polynomials_are_enclosed_and_real_ones_are_real():
    with ctx.workprec(120):
        # (s + 2)(s^2 + s + 1)
        found = enclose_roots([arb(1), arb(3), arb(3), arb(2)])
        assert sum(z.imag.is_zero() for z in found) == 1
        assert any(z.contains(-2) for z in found)
        with pytest.raises(Unproved, match="not separated"):
            enclose_roots([arb(1), arb(4), arb(5), arb(2)])  # (s + 1)^2 (s + 2)


def test_roots_of_a_sine_are_counted():
    def wave(z):
        return z.sin(), z.cos()

    found, _ = count_roots(wave, 1.0, 20.0)
    assert len(found) == 6
    assert [b.rises for b in found] == [False, True] * 3
    with pytest.raises(Unproved, match="undecided"):
        count_roots(lambda z: (1 - z.cos(), z.sin()), 1.0, 8.0)


def value_of(expression, bits=120):
    with ctx.workprec(bits), collecting() as claims:
        return BACKEND.function([], [expression])()[0], claims


def test_a_root_is_the_first_or_the_last_and_its_number_is_claimed():
    body = (x - 1) * (x - 2) * (x - 5)
    first, claims = value_of(Root(body, x, sympy.Rational(1, 2), 9))
    assert first.contains(1)
    assert "exactly 3 roots" in claims[0].text
    last, _ = value_of(Root(body, x, sympy.Rational(1, 2), 9, sign_change="last"))
    assert last.contains(5)
    none, claims = value_of(Root(x**2 + 1, x, 1, 9))
    assert none == arb.pos_inf()
    assert claims[0].status == "none-in-box"


def test_a_minimum_of_one_letter_is_that_of_its_range():
    found, claims = value_of(Minimum(x**2 - 3 * x + sympy.exp(-x), {x: (sympy.Rational(1, 10), 8)}))
    with mp.workdps(40):
        place = mp.findroot(lambda u: 2 * u - 3 - mp.exp(-u), 1.6)
        assert abs(mp.mpf(found.str(35, radius=False)) - (place**2 - 3 * place + mp.exp(-place))) < mp.mpf(10) ** -30
    assert claims[0].status == "global-in-box"


def test_two_valleys_are_only_proved_to_be_local_minima():
    _, claims = value_of(Minimum((x**2 - 4) ** 2 + x / 7, {x: (-5, 5)}))
    assert claims[0].status == "local"


CRITICAL = [
    ("sqrt(1/2)", 400, 10, "0.892437948241719984963072883933"),
    ("1", 400, 10, "0.919753915797589850087156428918"),
]


def test_critical_lambdas_hold_the_references_and_the_roots_are_counted():
    for gamma, d, length, reference in CRITICAL:
        found = te.predict("marion2025.critical-lambda", certified=True, digits=20, gamma=gamma, d=d, L=length)
        check(found, reference, 28)
        assert found.certificate.status == "unique"
        assert found.certificate.claims[0][1].startswith("exactly one root lam on [0.0001, 200]")
    none = te.predict("marion2025.critical-lambda", certified=True, gamma="1.5", d=16, L=3)
    assert none.value == mp.inf
    assert none.certificate.status == "none-in-box"


OPTIMAL = [
    ("sqrt(1/2)", 400, 10, "0.0637674689546455119248447078292"), ("1", 400, 10, "0.0729096120666356304233394168568"),
    ("1.5", 16, 3, "0.325363241706926036538656203144"),
]  # fmt: skip


@pytest.mark.parametrize(("gamma", "d", "length", "reference"), OPTIMAL)
def test_optimal_lambdas_hold_the_references_and_are_lowest_in_their_range(gamma, d, length, reference):
    found = te.predict("marion2025.optimal-lambda", certified=True, digits=25, gamma=gamma, d=d, L=length)
    check(found, reference, 28)
    assert "global-in-box" in {status for status, _ in found.certificate.claims}


def test_the_minimum_of_erf_holds_the_reference_and_is_called_local():
    found = te.predict("duranthon2026.minimal-risk", certified=True, digits=25, task="spiked", nu=5, L=10,
                       activation="erf")  # fmt: skip
    check(found, "0.457643565997954044265656279233213", 30)
    assert found.certificate.status == "local"
    with mp.workdps(40):
        for name, reference in (("m_kk", "0.915783021180434810916546628598"),
                                ("shift", "-1.92998448433410302428086160486")):  # fmt: skip
            assert abs(found.outputs[name] - mp.mpf(reference)) <= found.errors[name] + mp.mpf(10) ** -29


def test_eigenvalues_are_ordered_and_multiple_ones_are_enclosed():
    matrix = sympy.Matrix([[2, 1, 0], [1, 2, 0], [0, 0, 1]])  # 3, 1, 1
    with ctx.workprec(100):
        spectrum = Eigenvalues(matrix)
        found = BACKEND.function([], [spectrum.real(i) for i in range(3)])()
        assert found[0].contains(3)
        assert found[1].contains(1)
        assert found[2].contains(1)
        turn = Eigenvalues(sympy.Matrix([[0, -2], [2, 0]]))
        real, up, down = BACKEND.function([], [turn.real(0), turn.imaginary(0), turn.imaginary(1)])()
        assert real.contains(0)
        assert up.contains(2)
        assert down.contains(-2)


def test_a_linear_descent_is_followed_in_balls():
    found = te.predict("marion2025.pgd", certified=True, kappa="0.5", nu="0.3", theta=0, eta=0, rho=0, lam="0.05",
                       gamma="sqrt(1/2)", d=400, L=10, alpha="0.01", steps=20)  # fmt: skip
    other = te.predict("marion2025.pgd", digits=25, kappa="0.5", nu="0.3", theta=0, eta=0, rho=0, lam="0.05",
                       gamma="sqrt(1/2)", d=400, L=10, alpha="0.01", steps=20)  # fmt: skip
    for name in ("kappa", "nu", "risk"):
        with mp.workdps(40):
            assert abs(found.outputs[name] - other.outputs[name]) <= found.errors[name] + mp.mpf(10) ** -24
