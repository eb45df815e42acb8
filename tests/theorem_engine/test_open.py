"""What comes from outside: a domain, a value, an operator with its lowerings, rules; the engine stays as it is."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
import sympy
from mpmath import mp
from scipy import special

import theorem_engine as te
from theorem_engine import ABSENT, POSITIVE, Limit, Source, lemma
from theorem_engine.asking.fingerprint import fingerprint
from theorem_engine.asking.random_point import draw_point
from theorem_engine.backends import get_backend
from theorem_engine.base.errors import (
    BadNumber,
    DeclarationError,
    Infeasible,
    MissingParameter,
    NotAvailable,
    OutOfDomain,
    ValidityWarning,
)
from theorem_engine.base.exact import NotANumber, as_float, read_number
from theorem_engine.language import catalogue
from theorem_engine.language.domains import Domain, Rejected, Structured
from theorem_engine.language.functions import OpenFunction
from theorem_engine.language.letters import Letter
from theorem_engine.language.operators.base import Operator
from theorem_engine.language.operators.gaussian_mean import GaussianMean
from theorem_engine.language.rules import Caution, Failure, Requirement, Rule
from theorem_engine.validators.simulator import simulator

# A domain of numbers, and one of values that are more than a number


@dataclass(frozen=True)
class Degrees(Domain):
    """An angle below a right one, as "30deg"."""

    def read(self, given):
        """Degrees as an exact number."""
        if isinstance(given, Fraction):
            return given
        if not isinstance(given, str) or not given.endswith("deg"):
            raise NotANumber("is no angle")
        value = read_number(given.removesuffix("deg"))
        if not 0 < as_float(value) < 90:
            raise Rejected(f"is not {self.describe()}")
        return value

    def describe(self):
        """In words."""
        return "an angle between 0deg and 90deg"

    def assumptions(self):
        """Its sign."""
        return {"positive": True}

    def draw(self, rng, typical):
        """A whole number of degrees."""
        low, high = typical or (1, 89)
        return f"{int(rng.integers(low, high + 1))}deg"


@dataclass(frozen=True)
class Span(Structured):
    """Two exact ends."""

    low: Fraction
    high: Fraction
    stacks = False

    def plain(self):
        """Two numbers."""
        return (float(self.low), float(self.high))

    def as_number(self, real, complex_of):
        """Itself; the operator below reads its ends."""
        return self

    def __str__(self):
        return f"{self.low}..{self.high}"


@dataclass(frozen=True)
class Spans(Domain):
    """Ranges such as "1..2"."""

    def read(self, given):
        """Both ends."""
        if isinstance(given, Span):
            return given
        if not isinstance(given, str) or given.count("..") != 1:
            raise NotANumber("is no range")
        return Span(*(Fraction(end) for end in given.split("..")))

    def describe(self):
        """In words."""
        return "a range low..high"

    def draw(self, rng, typical):
        """A range of length one."""
        low = int(rng.integers(1, 5))
        return f"{low}..{low + 1}"


# An operator that this module itself lowers, for two backends


class Agm(Operator):
    """The arithmetic-geometric mean of a number and the middle of a range."""

    lowerings = {"float64": __name__, "multiprecision": __name__}  # noqa: RUF012

    def __new__(cls, a, span):
        """Two arguments."""
        return sympy.Expr.__new__(cls, a, span)

    def partial(self, symbol):
        """None in closed form."""
        return sympy.Derivative(self, symbol)


class Unlowered(Agm):
    """The same, and nobody evaluates it."""

    lowerings = {}  # noqa: RUF012


def lower(operators, parameters, backend):
    """Iterate both means until they meet; ``backend`` says which numbers are asked for."""
    (operator,) = operators
    span_at = parameters.index(operator.args[1])
    first = backend.function([p for p in parameters if p != operator.args[1]], [operator.args[0]])
    half, root = (mp.mpf(1) / 2, mp.sqrt) if backend.name == "multiprecision" else (0.5, np.sqrt)

    def evaluate(*values):
        span = values[span_at]
        a = first(*(v for i, v in enumerate(values) if i != span_at))[0]
        middle = (span.low + span.high) / 2
        b = half * 0 + (mp.mpf(middle.numerator) / middle.denominator if half != 0.5 else float(middle))
        for _ in range(12):
            a, b = half * (a + b), root(a * b)
        return [a]

    return evaluate


# A function whose numbers this module gives


class envelope(OpenFunction):  # noqa: N801
    """1/(1 + x^2)."""

    nargs = 1
    meanings = {"float64": f"{__name__}:falling", "multiprecision": f"{__name__}:falling"}  # noqa: RUF012


class unmeant(OpenFunction):  # noqa: N801
    """A function that nobody evaluates."""

    nargs = 1


class erfcx(OpenFunction):  # noqa: N801
    """A function with the name of one of the engine's."""

    nargs = 1
    meanings = {"float64": f"{__name__}:falling"}  # noqa: RUF012


def falling(x):
    """For numbers of any kind."""
    return 1 / (1 + x * x)


# A rule, a requirement and a caution


@dataclass(frozen=True)
class AtLeastOne(Rule):
    """One of two letters, or both."""

    names: tuple

    def check(self, entry, given):
        """Neither is an error."""
        if not any(name in given for name in self.names):
            raise MissingParameter(f"{entry.id} needs {self.text()}")

    def text(self):
        """In words."""
        return " or ".join((*self.names, "both"))

    def wants(self, name, entry, given):
        """The first, always."""
        return True if name == self.names[0] else None


@dataclass(frozen=True)
class Whole(Requirement):
    """A letter's double is a whole number."""

    letter: object

    def expressions(self):
        """The letter, twice."""
        return [2 * self.letter]

    def failure(self, values):
        """It is not."""
        return None if float(values[0]).is_integer() else Failure(f"{self.text()} fails", self.letters())

    def text(self):
        """In words."""
        return f"2 {self.letter} is whole"


@dataclass(frozen=True)
class Steep(Caution):
    """An angle beyond a level."""

    letter: object

    def parts(self, options, view):
        """The angle."""
        return [self.letter]

    def told(self, values):
        """If it is steep."""
        return "that is steep" if values[0] > 80 else None

    def text(self):
        """In words."""
        return "steep angles are not meant"


angle = Letter("angle", "test", meaning="an angle", domain=Degrees())
span = Letter("span", "test", meaning="a range", domain=Spans())
scale = Letter("scale", "test", meaning="a factor", domain=POSITIVE, default=1)
left = Letter("left", "test", meaning="one of two", domain=POSITIVE, default=ABSENT)


@pytest.fixture
def entry():
    """An entry made of all of these, forgotten afterwards."""

    def body(angle, span, scale, left):
        """The mean of the tangent and the middle of the range."""
        return {"value": scale * Agm(sympy.tan(angle * sympy.pi / 180), span)}

    @simulator(variants={"law": ("plain", "odd")})
    def same(point, rng, count):
        a, b = np.tan(np.deg2rad(point["angle"])), np.mean(point["span"])
        for _ in range(12):
            a, b = (a + b) / 2, np.sqrt(a * b)
        return {"value": point["scale"] * a + 0.01 * rng.standard_normal(count)}

    yield from _declared("test.open", body, checks=(same,), regime=Limit(grows=("D",)))


@pytest.fixture
def unlowered():
    """An entry whose operator no backend evaluates."""

    def body(angle, span, scale, left):
        """The same, in vain."""
        return {"value": Unlowered(angle * scale, span)}

    yield from _declared("test.unlowered", body)


def _declared(id, body, **more):
    body.__module__ = "theorem_engine.registry.marion2025.risk"
    te.entry("marion2025.risk")
    made = lemma(
        id, title="t", source=Source("2410.01537"), given=(angle, span, scale, left), outputs={"value": "a mean"},
        given_rules=(AtLeastOne(("scale", "left")),), requires=(Whole(angle),), warns=(Steep(angle),), **more,
    )(body)  # fmt: skip
    yield made
    catalogue.forget(made)


POINT = {"angle": "45deg", "span": "3/2..5/2", "scale": 1}
#: agm(1, 2) to 40 digits, as tabled.
AGM = "1.456791031046906869186432383265081974974"


def test_an_operator_from_outside_is_evaluated_in_double_precision_and_to_many_digits(entry):
    assert te.predict(entry.id, **POINT).value == pytest.approx(float(AGM), rel=1e-15)
    found = te.predict(entry.id, **POINT, digits=38).value
    with mp.workdps(40):
        assert abs(found - mp.mpf(AGM)) < mp.mpf(10) ** -37


def test_an_operator_that_nobody_lowers_says_so(unlowered):
    with pytest.raises(NotAvailable, match="Unlowered is not evaluated"):
        te.predict(unlowered.id, **POINT)


def test_a_function_from_outside_is_evaluated_by_the_backends_it_names():
    x = sympy.Symbol("x", real=True)
    run = get_backend("float64").function([x], [2 * envelope(3 * x), GaussianMean(envelope(x * span), span)])
    value, mean = run(np.array([1.0, 2.0]))
    assert value == pytest.approx([2 / 10, 2 / 37], rel=1e-15)
    # E 1/(1 + z^2) = sqrt(pi e/2) erfc(1/sqrt 2)
    assert mean[0] == pytest.approx(np.sqrt(np.pi * np.e / 2) * special.erfc(np.sqrt(0.5)), rel=1e-12)
    with mp.workdps(40):
        assert get_backend("multiprecision").function([x], [envelope(x)])(mp.mpf(2))[0] == mp.mpf(1) / 5


def test_a_function_that_nobody_evaluates_and_one_with_a_name_in_use_are_refused():
    x = sympy.Symbol("x", real=True)
    with pytest.raises(NotAvailable, match="unmeant is not evaluated"):
        get_backend("float64").function([x], [unmeant(x)])
    with pytest.raises(DeclarationError, match="the name of another"):
        get_backend("float64").function([x], [erfcx(x)])


def test_the_code_that_gives_a_function_its_numbers_is_part_of_its_fingerprint():
    x = sympy.Symbol("x", real=True)
    assert fingerprint(envelope(x)) != fingerprint(type("envelope", (OpenFunction,), {"__module__": __name__})(x))


def test_values_from_outside_are_swept_in_groups_that_share_them(entry):
    data = te.sweep(entry.id, angle=["45deg", "30deg"], span=["3/2..5/2", "1..3", "1..2"], scale=2)
    assert data["value"].shape == (2, 3)
    assert data["value"].values[0, 0] == data["value"].values[0, 1] == pytest.approx(2 * float(AGM), rel=1e-15)


def test_a_domain_from_outside_reads_refuses_draws_and_is_described(entry):
    with pytest.raises(BadNumber, match="an angle between 0deg and 90deg"):
        te.predict(entry.id, **{**POINT, "angle": 45})
    with pytest.raises(OutOfDomain, match="90deg"):
        te.predict(entry.id, **{**POINT, "angle": "91deg"})
    point = draw_point(entry, np.random.default_rng(1))
    assert point["angle"].endswith("deg")
    assert te.predict(entry.id, **{**point, "angle": "20deg"}).value > 0
    assert "an angle between 0deg and 90deg" in repr(entry)


def test_a_domain_that_cannot_draw_says_so():
    with pytest.raises(TypeError, match="no way to draw from Domain"):
        Domain().draw(np.random.default_rng(0), None)


def test_rules_requirements_and_cautions_from_outside_are_checked_and_shown(entry):
    with pytest.raises(MissingParameter, match="scale or left or both"):
        te.predict(entry.id, angle="45deg", span="1..2")
    with pytest.raises(Infeasible, match="2 angle is whole fails"):
        te.predict(entry.id, **{**POINT, "angle": "45.3deg"})
    with pytest.warns(ValidityWarning, match="that is steep"):
        te.predict(entry.id, **{**POINT, "angle": "85deg"})
    page = repr(entry)
    assert all(text in page for text in ("scale or left or both", "2 angle is whole", "steep angles are not meant"))


def test_all_of_it_is_simulated_and_explained(entry):
    drawn = te.simulate(entry.id, **POINT, samples=400)
    assert abs(drawn["value"] - float(AGM)) < 5 * drawn.error
    assert "agm" in str(te.explain(entry.id, **POINT)).lower()
