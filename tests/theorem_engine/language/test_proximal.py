"""Proximal points of any objective: minimality, derivatives, machine code against NumPy, kinks, refusals."""

from functools import cache

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

import theorem_engine as te
from theorem_engine import Output, Proximal, Source, TokenLogSum, TokenSum
from theorem_engine.backends import get_backend
from theorem_engine.backends.float64 import proximal_code
from theorem_engine.base.errors import DeclarationError, NotAvailable
from theorem_engine.language import catalogue
from theorem_engine.language.declaration import lemma
from theorem_engine.language.letters import Letter

QUICK = get_backend("float64")
x, u, c, d, y, mark = (Letter(name, "test") for name in ("x", "u", "c", "d", "y", "mark"))
V, W = (Letter(name, "test", domain=te.POSITIVE) for name in ("V", "W"))
WIDTHS = st.tuples(st.floats(0.05, 8), st.floats(0.05, 4))
#: How the numbers x of the tokens weigh the numbers u.
WEIGHTS = {"linear": 1 + x, "softmax": sympy.exp(x - TokenLogSum(x))}


def weighted_loss(name):
    """Half the squared distance of y from a weighted sum, and from two centres."""
    gaps = TokenSum((x - c) ** 2) / (2 * V) + TokenSum((u - d) ** 2) / (2 * W)
    return gaps + (y - TokenSum(WEIGHTS[name] * u)) ** 2 / 2


def weighted(name, length):
    """Its proximal point."""
    middle = TokenSum(c) / length
    near = 6 * (mark - sympy.Rational(1, length))
    starts = () if name == "linear" else ({x: middle}, {x: middle + near})
    return Proximal(weighted_loss(name), over=(x, u), starts=starts, each=mark)


def function(point, *more):
    """Numbers of a point for c, d, y, V and W."""
    return QUICK.function([c, d, y, V, W], [point.at(x), point.at(u), point.height, point.jumps, *more])


@cache
def linear(length):
    return function(weighted("linear", length))


def samples(length, count=300, seed=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, length)), 0.8 * rng.normal(size=(count, length)), rng.normal(size=(count, 1))


def height(name, a, b, centre_a, centre_b, label, width_a, width_b):
    share = np.exp(a - np.max(a, axis=-1, keepdims=True))
    weights = 1 + a if name == "linear" else share / np.sum(share, axis=-1, keepdims=True)
    miss = label - np.sum(weights * b, axis=-1, keepdims=True)
    gaps = [np.sum((p - q) ** 2, axis=-1, keepdims=True) for p, q in ((a, centre_a), (b, centre_b))]
    return gaps[0] / (2 * width_a) + gaps[1] / (2 * width_b) + miss**2 / 2


@pytest.fixture
def numpy_only(monkeypatch):
    """No machine code for what is compiled from now on."""

    def switch():
        monkeypatch.setattr(proximal_code, "loops", lambda: None)

    return switch


# points


@pytest.mark.parametrize("length", [2, 3, 6])
@given(widths=WIDTHS)
def test_the_point_of_one_multiplier_is_below_every_other_point(length, widths):
    given = samples(length, 40)
    a, b, least, jumps = linear(length)(*given, *widths)
    here = height("linear", a, b, *given, *widths)
    assert least == pytest.approx(here, rel=1e-10, abs=1e-12)
    assert not jumps.any()
    rng = np.random.default_rng(1)
    for size in (1e-3, 0.1, 1.0, 5.0):
        moved = (p + size * rng.normal(size=p.shape) for p in (a, b))
        assert np.all(here <= height("linear", *moved, *given, *widths) + 1e-12)


@pytest.mark.parametrize("length", [2, 3, 5])
def test_the_point_is_the_best_of_many_searches(length):
    given = samples(length, 25, seed=8)
    widths = 4.0, 1.5
    a, b, least, _ = function(weighted("softmax", length))(*given, *widths)
    assert least == pytest.approx(height("softmax", a, b, *given, *widths), rel=1e-12)
    rng = np.random.default_rng(2)
    for i in range(len(a)):

        def level(p, i=i):
            one = (q[i : i + 1] for q in given)
            return float(height("softmax", p[None, :length], p[None, length:], *one, *widths)[0, 0])

        for _ in range(6):
            start = np.concatenate([given[0][i] + 4 * rng.normal(size=length), given[1][i]])
            assert least[i, 0] <= minimize(level, start, method="BFGS").fun + 1e-7
    # weights do not change when all numbers move alike, so that the point keeps the mean of its centre
    assert np.sum(a, axis=1) == pytest.approx(np.sum(given[0], axis=1), abs=1e-10)


@pytest.mark.parametrize("widths", [(0.5, 1.0), (5.0, 2.0), (80.0, 0.4)])
@pytest.mark.parametrize("length", [2, 4])
@pytest.mark.parametrize("name", ["linear", "softmax"])
def test_machine_code_and_numpy_find_the_same_point(name, length, widths, numpy_only):
    pytest.importorskip("numba")
    given = samples(length, 500)
    quick = function(weighted(name, length))(*given, *widths)
    numpy_only()
    plain = function(weighted(name, length))(*given, *widths)
    # a point whose Hessian is nearly singular is known less well than the step that ends a search
    for one, other in zip(quick, plain, strict=True):
        assert np.max(np.abs(one - other)) <= 1e-9


def test_a_few_samples_are_found_without_machine_code(monkeypatch):
    monkeypatch.setattr(proximal_code, "load_module", lambda source: pytest.fail("nothing is compiled"))
    few, many = samples(3, 10), [np.tile(a, (30, 1)) for a in samples(3, 10)]
    for name in ("linear", "softmax"):
        function(weighted(name, 3))(*few, 1.0, 1.0)
        with pytest.raises(pytest.fail.Exception, match="nothing is compiled"):
            function(weighted(name, 3))(*many, 1.0, 1.0)


@pytest.mark.parametrize("name", ["linear", "softmax"])
def test_the_comparison_of_both_codes_can_fail(name):
    """A width off by 1e-6 moves the points by more than the tolerance of the comparison."""
    given = samples(3, 200)
    find = function(weighted(name, 3))
    assert np.max(np.abs(find(*given, 1.0, 1.0)[0] - find(*given, 1.000001, 1.0)[0])) > 1e-8


def test_a_letter_that_could_be_eliminated_need_not_be():
    """Without the assumption that its width is positive nothing is eliminated; the point is the same."""
    given, widths = samples(3, 50), (0.7, 0.6)
    free = Letter("free", "test")
    whole = Proximal(weighted_loss("softmax").xreplace({W: free}), over=(x, u))
    reduced = Proximal(weighted_loss("softmax"), over=(x, u))
    found = QUICK.function([c, d, y, V, free], [whole.at(x), whole.at(u)])(*given, *widths)
    for one, other in zip(found, function(reduced)(*given, *widths), strict=False):
        assert np.max(np.abs(one - other)) < 1e-10


def test_a_jump_is_marked_where_the_minimum_of_the_centre_is_not_the_lowest():
    given, widths = samples(2, 1000), (30.0, 1.0)
    _, _, lowest, jumps = function(weighted("softmax", 2))(*given, *widths)
    _, _, first, none = function(Proximal(weighted_loss("softmax"), over=(x, u)))(*given, *widths)
    assert 0.01 < np.mean(jumps) < 0.2
    assert not none.any()
    assert np.all(lowest[jumps == 1] < first[jumps == 1] - 1e-7)
    assert lowest[jumps == 0] == pytest.approx(first[jumps == 0], abs=2e-7)


@pytest.mark.parametrize("copies", [1, 300], ids=["NumPy", "machine code"])
def test_a_descent_that_creeps_past_a_vanished_minimum_ends_at_a_minimum(copies):
    """Steps are short for more than a hundred of them here; what they end at is where the slope is zero."""
    centre = [
        -1.32172588822910, 0.28869548101248, 2.75334808833526, 0.06884590078176, 0.39364972339025, -0.93404466619853,
        -0.21260109977508, 0.80129117929427,
    ]  # fmt: skip
    other = [
        0.22049857110021, 0.49929065721638, -0.73682713838011, 0.82751362421334, 1.06934788104056, 0.55580101592811,
        -0.49414268008495, -0.12262515493464,
    ]  # fmt: skip
    given = [np.tile(a, (copies, 1)) for a in (centre, other, [1.26110818164826])]
    widths = 5.100026251507886, 2.0996099625248372
    a, b, least, _ = function(Proximal(weighted_loss("softmax"), over=(x, u)))(*given, *widths)
    assert least[0, 0] == pytest.approx(0.65887783368, abs=1e-10)
    step = 1e-5
    for move in step * np.eye(8):
        sides = [height("softmax", a + sign * move, b, *given, *widths)[0, 0] for sign in (1, -1)]
        assert abs(sides[0] - sides[1]) / (2 * step) < 1e-8


def test_no_other_start_is_tried_where_the_first_minimum_is_certain():
    """With a condition that always holds the marks vanish: it is believed."""
    given, widths = samples(2, 1000), (30.0, 1.0)
    starts = ({x: TokenSum(c) / 2 + 6 * (mark - sympy.Rational(1, 2))},)

    def marked(certain):
        point = Proximal(weighted_loss("softmax"), over=(x, u), starts=starts, each=mark, certain=certain)
        return np.sum(function(point)(*given, *widths)[3])

    assert marked(None) == marked(lambda height: height < 0) > 0
    assert marked(lambda height: height >= 0) == 0


# responses


@pytest.mark.parametrize("name", ["linear", "softmax"])
def test_responses_are_the_derivatives_of_the_point(name):
    length, widths, step, count = 4, (0.9, 0.7), 1e-5, 6
    given = samples(length, count)
    point = weighted(name, length)
    parts = [point.response(moved, centre) for moved in ((x - c) / V, (u - d) / W) for centre in (c, d)]
    pairs = [(i, j) for i in range(4) for j in range(i, 4)]
    find = function(point, *(parts[i].dot(parts[j]) for i, j in pairs))

    def f(*at):
        a, b = find(*at, *widths)[:2]
        return (a - at[0]) / widths[0], (b - at[1]) / widths[1]

    blocks = np.zeros((2, 2, count, length, length))
    for j in range(length):
        move = step * np.eye(length)[j]
        for column in range(2):
            up, down = list(given), list(given)
            up[column], down[column] = given[column] + move, given[column] - move
            for row, (plus, minus) in enumerate(zip(f(*up), f(*down), strict=True)):
                blocks[row, column, :, :, j] = (plus - minus) / (2 * step)
    matrices = blocks.reshape(4, count, length, length)
    for (i, j), stated in zip(pairs, find(*given, *widths)[4:], strict=True):
        # differences of a root known to 1e-12 or so
        assert np.sum(matrices[i] * matrices[j], axis=(1, 2)) == pytest.approx(stated[:, 0], abs=2e-6)


def test_responses_do_not_depend_on_which_matrix_is_inverted(monkeypatch):
    """Of each token with a few dyads, or the whole Hessian."""
    from theorem_engine.numerics.proximal import response

    given, point = samples(3, 200), weighted("softmax", 3)
    one, two = point.response(x - c, d), point.response(u - d, c)
    find = function(point, one.square, one.dot(two))
    usual = find(*given, 2.0, 0.7)[4:]
    monkeypatch.setattr(response, "NEARLY_SINGULAR", 2.0)
    for a, b in zip(usual, find(*given, 2.0, 0.7)[4:], strict=True):
        assert np.max(np.abs(a - b) / (1 + np.abs(a))) < 1e-9


# losses of one number


@pytest.fixture
def declared():
    """Makes entries of c, y and V, taken out of the registry after use."""
    te.entries()
    made = []

    def make(body, *names):
        body.__module__ = "theorem_engine.registry.gaussian.error_function"
        outputs = {name: Output(name) for name in names}
        source = Source("2410.01537", "Lemma 99")
        made.append(lemma("gaussian.test-proximal", title="T", source=source, given=(c, y, V), outputs=outputs)(body))
        return lambda **point: te.predict("gaussian.test-proximal", **point).outputs

    yield make
    for entry in made:
        catalogue.forget(entry)


@pytest.mark.parametrize("width", ["0.3", "2", "25"])
@pytest.mark.parametrize("form", ["written", "softplus"])
def test_an_entry_states_a_logistic_loss(declared, form, width):
    """Against a bracketed root; at a width above eleven Newton's method alone would cycle."""

    def body(c, y, V):
        """A proximal point and its derivatives."""
        loss = sympy.log(1 + sympy.exp(-y * x)) if form == "written" else te.softplus(-y * x)
        point = Proximal((x - c) ** 2 / (2 * V) + loss, over=(x,))
        at, least = point.at(x), point.height
        return {
            "point": at,
            "slope": sympy.diff(at, c),
            "in_width": sympy.diff(at, V),
            "envelope": sympy.diff(least, V),
        }

    predict = declared(body, "point", "slope", "in_width", "envelope")
    v, step = float(width), 1e-5

    def root(at, v=v):
        return brentq(lambda t: (t - at) / v - 1 / (1 + np.exp(t)), at, at + v, xtol=1e-14, rtol=1e-14)

    for centre in (-3.0, 0.2, 4.0):
        found = predict(c=centre, y=1, V=width)
        assert found["point"] == pytest.approx(root(centre), abs=1e-11)
        assert predict(c=-centre, y=-1, V=width)["point"] == pytest.approx(-root(centre), abs=1e-11)
        assert found["slope"] == pytest.approx((root(centre + step) - root(centre - step)) / (2 * step), abs=1e-7)
        moved = (root(centre, v + step) - root(centre, v - step)) / (2 * step)
        assert found["in_width"] == pytest.approx(moved, abs=1e-7)
        assert found["envelope"] == pytest.approx(-((root(centre) - centre) ** 2) / (2 * v**2), abs=1e-11)


def test_an_entry_states_an_absolute_loss(declared):
    """The soft threshold: exactly zero within the width, one slope outside and none inside."""

    def body(c, y, V):
        """A soft threshold around y."""
        point = Proximal((x - c) ** 2 / (2 * V) + sympy.Abs(x - y), over=(x,))
        return {"point": point.at(x), "slope": sympy.diff(point.at(x), c), "with_y": sympy.diff(point.at(x), y)}

    predict = declared(body, "point", "slope", "with_y")
    for centre in (-3.0, -1.2, 0.0, 0.7, 1.6, 5.0):
        found = predict(c=centre, y="0.25", V="1.5")
        gap = centre - 0.25
        assert found["point"] == pytest.approx(0.25 + np.sign(gap) * max(abs(gap) - 1.5, 0), abs=1e-13)
        assert (found["slope"], found["with_y"]) == ((1, 0) if abs(gap) > 1.5 else (0, 1))
    assert predict(c="0.7", y=0, V="1.5")["point"] == 0


@pytest.mark.parametrize("label", [1.0, -1.0])
@pytest.mark.parametrize("hinge", [te.positive_part(1 - y * x), sympy.Max(0, 1 - y * x)], ids=["part", "maximum"])
def test_a_hinge_moves_by_its_width_up_to_the_margin(hinge, label):
    point = Proximal((x - c) ** 2 / (2 * V) + hinge, over=(x,))
    at = point.at(x)
    find = QUICK.function([c, y, V], [at, sympy.diff(at, c), sympy.diff(at, V), point.height])
    centre = label * np.array([-4.0, -1.2, -0.3, 0.5, 0.99, 1.01, 3.0])
    at, slope, in_width, least = find(centre, label, 1.7)
    margin = label * centre
    exact = np.where(margin >= 1, margin, np.where(margin > 1 - 1.7, 1.0, margin + 1.7))
    assert at == pytest.approx(label * exact, abs=1e-13)
    assert np.array_equal(slope, np.where((margin >= 1) | (margin < -0.7), 1.0, 0.0))
    assert in_width == pytest.approx(label * np.where(margin < -0.7, 1.0, 0.0), abs=1e-14)
    assert least == pytest.approx((at - centre) ** 2 / 3.4 + np.maximum(0, 1 - label * at), abs=1e-13)


def test_two_kinks_and_a_curve_beside_them():
    """|x| + |x - 1| + x^4: against a fine grid."""
    point = Proximal((x - c) ** 2 / (2 * V) + sympy.Abs(x) + sympy.Abs(x - 1) + x**4, over=(x,))
    grid = np.linspace(-3, 3, 600_001)
    for centre in (-4.0, 0.3, 2.0, 9.0):
        least = (grid - centre) ** 2 / 1.4 + np.abs(grid) + np.abs(grid - 1) + grid**4
        found, level = QUICK.function([c, V], [point.at(x), point.height])(centre, 0.7)
        assert found == pytest.approx(grid[np.argmin(least)], abs=1e-5)
        assert level <= np.min(least) + 1e-12


def test_a_loss_of_a_sum_without_a_closed_form(numpy_only):
    """The logistic loss of a sum over tokens, by machine code and by NumPy, against a general search."""
    point = Proximal(TokenSum((x - c) ** 2) / (2 * V) + te.softplus(-y * TokenSum(d * x)), over=(x,))
    given = samples(4, 300)
    quick = QUICK.function([c, d, y, V], [point.at(x), point.height])(*given, 3.0)
    numpy_only()
    plain = QUICK.function([c, d, y, V], [point.at(x), point.height])(*given, 3.0)
    for i in range(20):
        a, b, label = (p[i] for p in given)

        def level(t, a=a, b=b, label=label):
            return np.sum((t - a) ** 2) / 6 + np.logaddexp(0, -label[0] * t @ b)

        found = minimize(level, a, tol=1e-12)
        assert quick[0][i] == pytest.approx(found.x, abs=1e-5)
        assert quick[1][i, 0] == pytest.approx(found.fun, abs=1e-10)
    assert np.max(np.abs(quick[0] - plain[0])) < 1e-10


def test_arrays_of_any_shape_have_an_objective_for_each_number():
    point = Proximal((x - c) ** 2 / (2 * V) + te.softplus(-x), over=(x,))
    find = QUICK.function([c, V], [point.at(x)])
    whole = find(np.linspace(-2, 2, 6).reshape(2, 3), np.array([[0.5], [2.0]]))[0]
    assert whole.shape == (2, 3)
    assert whole[1, 2] == pytest.approx(find(2.0, 2.0)[0], abs=1e-14)


# what is refused


def lowered(objective, over=(x,), **words):
    return QUICK.function([c, d, y, V, W], [Proximal(objective, over=over, **words).at(x)])


@pytest.mark.parametrize(
    ("objective", "sentence"),
    [
        (TokenSum((x - c) ** 2) + sympy.Abs(y - TokenSum(x)), "with kinks is over one letter, without sums"),
        ((x - c) ** 2 + sympy.Abs(x**2 - 1), "that of a line in x"),
        ((x - c) ** 2 + sympy.sign(x) * x, "the function sign, which is not smooth"),
        ((x - c) ** 2 + sympy.Piecewise((x, x > 0), (0, True)), "Piecewise, which is not smooth"),
        ((x - c) ** 2 + x * TokenSum(x), "x stands in a sum over tokens and outside"),
        (sympy.exp(x) - c * x, "needs a quadratic term"),
    ],
    ids=["kink of a sum", "kink of a parabola", "sign", "cases", "mixed", "no centre"],
)
def test_objectives_that_are_not_served_are_refused_with_the_reason(objective, sentence):
    with pytest.raises(DeclarationError, match=sentence):
        lowered(objective)


def test_declarations_are_checked():
    with pytest.raises(DeclarationError, match="at least one letter"):
        Proximal(x**2, over=())
    with pytest.raises(DeclarationError, match="has all the letters"):
        Proximal(x**2, over=(x, u))
    with pytest.raises(DeclarationError, match="start of a Proximal is given for u"):
        Proximal((x - c) ** 2, over=(x,), starts=({u: 1},))
    point = weighted("linear", 2)
    with pytest.raises(DeclarationError, match="of one proximal point"):
        point.response(x, c).dot(weighted("softmax", 2).response(x, c))


def test_responses_are_those_to_letters_of_tokens():
    point = weighted("linear", 2)
    with pytest.raises(DeclarationError, match="responds to letters that tokens have"):
        function(point, point.response(x, y).square)
    with pytest.raises(NotAvailable, match="with sums over tokens"):
        function(point, sympy.diff(point.at(x), V))
    single = Proximal((x - c) ** 2 / (2 * V) + x**4, over=(x,))
    with pytest.raises(NotAvailable, match="without sums over tokens"):
        QUICK.function([c, V], [single.response(x, c).square])


def test_a_letter_outside_the_sums_has_one_value_for_each_sample():
    with pytest.raises(NotAvailable, match="y stands outside of the sums of an objective and has 3 values"):
        function(weighted("linear", 3))(*samples(3, 5)[:2], np.ones((5, 3)), 1.0, 1.0)


def test_more_digits_are_refused():
    with pytest.raises(NotAvailable):
        get_backend("multiprecision").function([c, V], [Proximal((x - c) ** 2 / (2 * V) + x**4, over=(x,))])


def test_a_point_prints_as_mathematics():
    point = weighted("softmax", 3)
    assert sympy.latex(point).startswith(r"\operatorname{argmin}_{x, u}")
    assert r"\left|\frac{\partial" in sympy.latex(point.response(x, c).square)
