"""Conditions of applied entries: decided by constants, by the applying entry, by the point, or at each evaluation."""

import math

import pytest
import sympy
from scipy.integrate import quad

import theorem_engine as te
from tests.theorem_engine.language.test_entry import HOME, declare, x, y
from theorem_engine import Flow, GaussianMean, LengthMean, Output, Source
from theorem_engine.base.errors import DeclarationError
from theorem_engine.language import catalogue
from theorem_engine.language.declaration import lemma
from theorem_engine.language.letters import Letter

time = Letter("time", "test", meaning="a time")


@pytest.fixture
def branching():
    """sin(x)/x as an author may write it: another expression at zero."""
    te.entries()

    def body(x, *, at_zero):
        """A statement."""
        return {"value": sympy.Integer(1) if at_zero else sympy.sin(x) / x}

    body.__module__ = HOME
    entry = lemma(
        "gaussian.test-branching", title="T", source=Source("2410.01537", "Lemma 98"), given=(x,),
        outputs={"value": Output("v")}, cases={"at_zero": sympy.Eq(x, 0)},
    )(body)  # fmt: skip
    yield entry.id
    catalogue.forget(entry)


def applying(body, branching, **changes):
    catalogue.add_entry(entry := declare(body, needs={"inner": branching}, **changes))
    return entry


@pytest.fixture
def user(branching):
    made = []

    def make(body, **changes):
        made.append(applying(body, branching, **changes))
        return lambda **point: float(te.predict(made[-1].id, **point))

    yield make
    for entry in made:
        catalogue.forget(entry)


def test_constants_decide(user):
    def body(x, *, inner):
        """A statement."""
        return {"value": inner(0) + x}

    assert user(body)(x=2) == 3


def test_the_point_decides_what_hangs_on_given_letters(user):
    def body(x, y, *, inner):
        """A statement."""
        return {"value": inner(x - y)}

    value = user(body, given=(x, y))
    assert value(x="0.3", y="0.3") == 1
    assert value(x=1, y=0) == pytest.approx(0.8414709848078965)


def test_an_operator_that_moves_the_letter_asks_at_each_evaluation(user):
    """dx/dt = sin(x)/x from zero: the first rate is one."""

    def body(x, time, *, inner):
        """A statement."""
        return {"value": Flow.of({x: inner(x)}, None, time).at(x)}

    value = user(body, given=(x, time))
    # t = x + x^3/18 + 7 x^5/1800 + ..., the inverse of the integral of x/sin(x)
    end = value(x=0, time="0.1")
    assert end + end**3 / 18 + 7 * end**5 / 1800 == pytest.approx(0.1, abs=1e-9)


def test_places_of_an_array_are_decided_one_by_one(user):
    """The mean of sin(x)/x at the lengths 0 and 1, moved by one, of a distribution."""

    def body(x, *, inner):
        """A statement."""
        return {"value": LengthMean(inner(n - 1), x, n)}

    lengths = Letter("x", "test", meaning="a length", domain=te.Lengths())
    n = Letter("n", "test", meaning="a length", domain=te.Lengths())
    value = user(body, given=(lengths,))
    assert value(x={1: "0.5", 2: "0.5"}) == pytest.approx((1 + math.sin(1)) / 2)


def test_pages_and_explanations_need_no_point(user):
    def body(x, y, *, inner):
        """A statement."""
        return {"value": inner(x - y)}

    user(body, given=(x, y))
    entry = te.entry("gaussian.test-entry")
    assert "Rests on" in repr(entry)
    assert entry.statement(entry.default_options()) is entry.statement()
    assert "given" in str(te.explain("gaussian.test-entry"))


def test_an_application_inside_an_operator_is_not_taken_for_one_outside(user):
    """sin(x)/x times the mean of sin(u)/u at u = 2 + cos z, the latter by adaptive quadrature."""

    def body(x, *, inner):
        """A statement."""
        return {"value": GaussianMean(inner(x, at_zero=False) * inner(2 + sympy.cos(y), at_zero=False), y)}

    def weighted(z):
        u = 2 + math.cos(z)
        return math.sin(u) / u * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    mean = quad(weighted, -9, 9)[0]
    assert user(body)(x=2) == pytest.approx(math.sin(2) / 2 * mean, rel=1e-9)


def test_conditions_on_quantities_are_decided_where_they_have_values(user):
    """The entry applied is written differently at zero; whether its argument is zero is known when the plan is run."""

    def body(x, *, inner):
        """A statement."""
        return {y: x - 1, "value": inner(y)}

    value = user(body)
    assert value(x=1) == 1.0
    assert value(x=3) == pytest.approx(math.sin(2) / 2, rel=1e-15)
    found = te.predict("gaussian.test-entry", x=3)
    assert 0 < found.error < 1e-15
    assert float(te.predict("gaussian.test-entry", x=3, digits=30)) == pytest.approx(math.sin(2) / 2, rel=1e-15)

    def said(x, *, inner):
        """A statement."""
        return {y: sympy.cos(x), "value": inner(y, at_zero=False)}

    label = Source("2410.01537", "Lemma 97")
    assert user(said, id="gaussian.test-said", source=label)(x=0) == pytest.approx(0.8414709848078965)


def test_what_is_said_against_the_arguments_is_refused(user):
    def body(x, *, inner):
        """A statement."""
        return {"value": inner(0, at_zero=False) + x}

    with pytest.raises(DeclarationError, match="decides it otherwise"):
        user(body)(x=1)


def test_a_condition_that_never_changes_is_no_condition():
    """SymPy takes a positive letter that may be infinite for infinite."""

    def body(x, *, always):
        """A statement."""
        return {"value": x}

    with pytest.raises(DeclarationError, match="whatever the letters are"):
        declare(body, cases={"always": sympy.true})
