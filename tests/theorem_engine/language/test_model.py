"""Models: several ways to describe a setting, one set of letters that statements see."""

import math

import pytest
import sympy

import theorem_engine as te
from theorem_engine import (
    ABSENT,
    NONNEGATIVE,
    POSITIVE,
    REAL,
    Alternatives,
    Choice,
    GaussianMean,
    Holds,
    Integers,
    Model,
    OnlyWith,
    Source,
    Total,
    given,
    notation,
    shorthand,
)
from theorem_engine.base.errors import DeclarationError, Infeasible, MissingParameter, UnknownParameter

var = notation("modeltest")
c = var("c", "c", "ratio", POSITIVE, default=ABSENT)
p = var("p", "p", "rows", Integers(1), default=ABSENT)
n = var("n", "n", "columns", Integers(1), default=ABSENT)
f = var("f", "f", "a function", Choice(("square", "odd")), default=ABSENT)
a1 = var("a1", "a_1", "slope", REAL, default=ABSENT)
rest = var("rest", "b", "rest", NONNEGATIVE, default=ABSENT)
u = var("u", "u", "length of a vector", NONNEGATIVE, default=0)
v = var("v", "v", "product of two vectors", REAL, default=0)
word = var("word", "W", "shorthand for the vectors", Choice(("unit", "none")), default=ABSENT)
gamma = var("gamma", r"\gamma", "penalty", POSITIVE)
x = var("x", "x", "a normal variable")
t = var("t", "t", "a letter of the statement")


def moments(m):
    """An even function has no slope, and that is exact."""
    if m.f == "square":
        return {a1: 0, rest: 2}
    return {a1: GaussianMean(x * sympy.tanh(x), x), rest: 1}


MODEL = Model(
    ratio=Alternatives(given(c), given(p, n, defines={c: p / n}), to=[c]),
    moments=Alternatives(given(a1, rest), given(f, defines=moments), to=[a1, rest]),
    vectors=Alternatives(
        given(u, v), shorthand(word, {"unit": {u: 1, v: c}, "none": {u: 0, v: 0}}), to=[u, v]
    ),
)  # fmt: skip
SOURCE = Source("2410.01537")


@pytest.fixture
def declare(declared):
    """Entries of one letter, unless others are named."""
    return lambda id, body, **facts: declared(id, body, **{"given": (gamma,), **facts})


def inner_body(m):
    """A statement of the canonical letters, other without slope."""
    return {"value": m.gamma + m.rest if m.when(sympy.Eq(m.a1, 0)) else m.gamma / m.a1 + m.c}


@pytest.fixture
def inner(declare):
    return declare("modeltest.inner", inner_body, model=MODEL.only("ratio", "moments"))


def test_every_way_comes_to_the_same_letters(inner):
    direct = te.predict("modeltest.inner", c=0.5, a1=2, rest=1, gamma=3)
    assert float(direct) == 2.0
    assert float(te.predict("modeltest.inner", p=10, n=20, a1=2, rest=1, gamma=3)) == 2.0
    by_function = te.predict("modeltest.inner", c=0.5, f="odd", gamma=3)
    assert float(by_function) == pytest.approx(3 / 0.605705509602 + 0.5, rel=1e-11)


def test_conditions_are_decided_by_the_point_or_by_what_a_way_says(inner):
    assert float(te.predict("modeltest.inner", c=0.5, a1=0, rest=1, gamma=3)) == 4.0
    assert float(te.predict("modeltest.inner", c=0.5, f="square", gamma=3)) == 5.0


def test_the_point_shows_only_the_way_taken_and_what_follows(inner, declare):
    declare("modeltest.vectors", lambda m: {"value": m.u + 2 * m.v + m.gamma}, model=MODEL.only("ratio", "vectors"))
    found = te.predict("modeltest.vectors", p=1, n=4, word="unit", gamma=1)
    assert float(found) == 2.5
    assert list(found.point) == ["p", "n", "word", "gamma"]
    assert found.point.canonical == {"c": 0.25, "u": 1.0, "v": 0.25}
    assert "that is c=0.25, u=1, v=0.25" in str(found)
    assert found.to_json()["canonical"] == {"c": 0.25, "u": 1.0, "v": 0.25}
    silent = te.predict("modeltest.vectors", c=0.5, gamma=1)
    assert float(silent) == 1.0
    assert "that is" not in str(silent)


def test_ways_exclude_each_other(inner):
    with pytest.raises(UnknownParameter, match="c, p, n were given together"):
        te.predict("modeltest.inner", c=0.5, p=2, n=3, a1=1, rest=1, gamma=1)
    with pytest.raises(MissingParameter, match="needs c, or p and n"):
        te.predict("modeltest.inner", p=2, a1=1, rest=1, gamma=1)


def test_an_entry_is_applied_at_the_same_model(inner, declare):
    """Conditions, ways and derivatives pass through without a word of the author."""

    def outer_body(m, *, inner):
        """Twice the inner one, its derivative, and the inner one elsewhere."""
        here = inner.at(m)
        return {t: here, "value": 2 * t, "slope": Total(t, gamma), "moved": inner.at(m, gamma=2 * m.gamma)}

    declare(
        "modeltest.outer", outer_body, model=MODEL, needs={"inner": "modeltest.inner"},
        outputs={"value": "v", "slope": "s", "moved": "m"},
    )  # fmt: skip
    steep = te.predict("modeltest.outer", p=1, n=2, a1=2, rest=1, gamma=3, word="unit")
    assert steep.outputs == {"value": 4.0, "slope": 0.5, "moved": 3.5}
    flat = te.predict("modeltest.outer", c=0.5, f="square", gamma=3)
    assert flat.outputs == {"value": 10.0, "slope": 1.0, "moved": 8.0}
    zero = te.predict("modeltest.outer", c=0.5, a1=0, rest=2, gamma=3)
    assert zero.outputs == flat.outputs


def test_conditions_inside_an_operator_are_decided_at_each_evaluation(declare):
    """The mean of a function that is written differently on both sides of zero; known in closed form."""

    def bent_body(m):
        """Steeper on the right."""
        return {"value": -m.a1 if m.when(m.a1 < 0) else 2 * m.a1}

    def mean_body(m, *, bent):
        """The mean over a normal slope."""
        return {"value": m.gamma * GaussianMean(bent.at(m, a1=x), x, breaks=(0,))}

    slopes = Model(moments=Alternatives(given(a1), to=[a1]))
    declare("modeltest.bent", bent_body, model=slopes, given=())
    declare("modeltest.mean", mean_body, needs={"bent": "modeltest.bent"})
    assert float(te.predict("modeltest.bent", a1=-2)) == 2.0
    assert float(te.predict("modeltest.mean", gamma=2)) == pytest.approx(2 * 3 / math.sqrt(2 * math.pi), rel=1e-12)


def test_a_way_that_defines_too_little_is_refused():
    with pytest.raises(DeclarationError, match="does not define rest"):
        Alternatives(given(a1, rest), given(f, defines={a1: 0}), to=[a1, rest])


def test_letters_that_go_with_an_option_have_their_own_rule(declare):
    level = var("level", "l", "level", POSITIVE, default=ABSENT)
    model = Model(
        moments=Alternatives(given(a1), given(f, also=(level,), defines=lambda m: {a1: m.level or 1}), to=[a1])
    )
    declare(
        "modeltest.level", lambda m: {"value": m.a1 * m.gamma}, model=model,
        given_rules=(OnlyWith("level", "f", ("odd",)),),
    )  # fmt: skip
    assert float(te.predict("modeltest.level", f="odd", level=3, gamma=2)) == 6.0
    assert float(te.predict("modeltest.level", f="square", gamma=2)) == 2.0
    with pytest.raises(MissingParameter, match="needs level with f='odd'"):
        te.predict("modeltest.level", f="odd", gamma=2)


def test_the_page_is_written_in_canonical_letters(inner):
    page = str(te.entry("modeltest.inner")) + repr(te.entry("modeltest.inner"))
    assert "⎩ c + γ/a₁   otherwise" in page
    assert "ABSENT" not in page


def test_a_definition_may_hang_on_a_condition(declare):
    """A component along a vector of no length is zero; no one divides by it."""
    along = var("along", "k", "component", REAL, default=ABSENT)
    part = Alternatives(
        given(u, v, defines=lambda m: {along: 0 if m.when(sympy.Eq(u, 0)) else v / u}), to=[u, along]
    )  # fmt: skip
    declare("modeltest.along", lambda m: {"value": m.gamma + m.along}, model=Model(vectors=part))
    assert float(te.predict("modeltest.along", u=2, v=3, gamma=1)) == 2.5
    none = te.predict("modeltest.along", u=0, v=3, gamma=1)
    assert float(none) == 1.0
    assert none.point.canonical == {"along": 0.0}


def test_a_way_may_change_what_was_given(declare):
    """The function then sees what was made of the letter, and so does an entry that it applies."""
    sign = var("sign", "s", "a sign", Choice(("minus", "plus")), default="plus")
    changed = given(a1, also=(sign,), defines=lambda m: {a1: -a1} if m.sign == "minus" else {})
    model = Model(moments=Alternatives(changed, to=[a1]))
    declare("modeltest.plain", lambda m: {"value": m.gamma / m.a1}, model=MODEL.only("moments"))
    declare(
        "modeltest.turned", lambda m, *, plain: {"value": m.a1 * m.gamma, "other": plain.at(m, rest=0)}, model=model,
        needs={"plain": "modeltest.plain"}, outputs={"value": "v", "other": "o"},
    )  # fmt: skip
    assert te.predict("modeltest.turned", a1=4, gamma=2).outputs == {"value": 8.0, "other": 0.5}
    turned = te.predict("modeltest.turned", a1=4, sign="minus", gamma=2)
    assert turned.outputs == {"value": -8.0, "other": -0.5}
    assert turned.point.canonical == {"a1": -4.0}


def test_a_part_may_be_the_same_in_every_query(inner, declare):
    model = MODEL.only("ratio").also(moments=Alternatives(given(defines={a1: 2, rest: 1}), to=[a1, rest]))
    declare("modeltest.fixed", lambda m, *, inner: {"value": inner.at(m)}, model=model,
             needs={"inner": "modeltest.inner"})  # fmt: skip
    assert float(te.predict("modeltest.fixed", c=0.5, gamma=3)) == 2.0


def test_letters_that_vanish_are_zero_where_that_is_declared(declare):
    def vanishing_body(m):
        """A statement with a pole, and what is left without it."""
        return {"value": m.gamma / m.a1 if m.a1 else m.gamma}

    entry = declare("modeltest.vanishing", vanishing_body, model=MODEL.only("moments"), zeros=(a1,))
    assert float(te.predict("modeltest.vanishing", a1=0, rest=1, gamma=3)) == 3.0
    assert float(te.predict("modeltest.vanishing", a1=2, rest=1, gamma=3)) == 1.5
    assert float(te.predict("modeltest.vanishing", f="square", gamma=3)) == 3.0
    declare("modeltest.above", lambda m, *, inner: {"value": inner.at(m, a1=m.gamma - 1, rest=0)},
             needs={"inner": entry.id})  # fmt: skip
    assert float(te.predict("modeltest.above", gamma=1)) == 1.0
    assert float(te.predict("modeltest.above", gamma=3)) == 1.5


def test_what_a_function_makes_vanishes_only_where_it_is_written_so(declare):
    """Equations between transcendental functions of the letters are not asked of numbers."""
    model = Model(moments=Alternatives(given(u, defines={a1: sympy.erf(u)}), to=[a1]))
    entry = declare("modeltest.made", lambda m: {"value": m.gamma + m.a1}, model=model, zeros=(a1,))
    point = te.predict("modeltest.made", u=0, gamma=1)
    assert float(point) == 1.0
    assert not any("Eq" in str(key) for key in entry._conditions)


def test_rules_and_requirements_go_with_their_way(declare):
    level = var("level", "l", "level", POSITIVE, default=ABSENT)
    model = Model(
        ratio=Alternatives(given(c), given(p, n, defines={c: p / n}), to=[c]),
        moments=Alternatives(
            given(a1, requires=(Holds(a1 < 3, "a1 is below three"),)),
            given(f, also=(level,), defines=lambda m: {a1: m.level or 1}, rules=(OnlyWith("level", "f", ("odd",)),)),
            to=[a1],
        ),
    )
    declare("modeltest.ruled", lambda m: {"value": m.a1 * m.c * m.gamma}, model=model,
             requires=(Holds(c < 2, "c is below two"),))  # fmt: skip
    assert float(te.predict("modeltest.ruled", c=1, f="odd", level=4, gamma=1)) == 4.0
    with pytest.raises(Infeasible, match="a1 is below three"):
        te.predict("modeltest.ruled", c=1, a1=4, gamma=1)
    with pytest.raises(MissingParameter, match="needs level with f='odd'"):
        te.predict("modeltest.ruled", c=1, f="odd", gamma=1)
    with pytest.raises(Infeasible, match="c is below two"):
        te.predict("modeltest.ruled", p=6, n=3, a1=1, gamma=1)


def test_applications_print_as_calls(inner, declare):
    entry = declare("modeltest.caller", lambda m, *, inner: {t: inner.at(m), "value": t, "slope": Total(t, gamma)},
                     model=MODEL, needs={"inner": "modeltest.inner"}, outputs={"value": "v", "slope": "s"})  # fmt: skip
    assert "t = inner\n  Arguments that are not named are the letters of the same name here." in repr(entry)
    assert str(entry.statement().equations[t].diff(gamma)) == "d(inner)/d(gamma)(c, a1, rest, gamma)"


def test_an_explanation_takes_options_that_are_ways(inner):
    told = te.explain("modeltest.inner", f="odd")
    assert told.options["f"] == "odd"
    assert "canonical" not in str(told)
    assert {"c", "gamma"} == {q.name for q in told.quantities if q.role == "given"}


def test_the_only_way_to_describe_a_part_is_asked_for_though_its_letter_may_be_left_out_elsewhere():
    with pytest.raises(MissingParameter, match="nonlinearity"):
        te.predict("liao2026.token-moments-error", c=1, gamma=1, snr=0)
