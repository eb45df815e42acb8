"""Token means: against sampling, against each other's forms, against closed forms, and their derivatives."""

import math

import numpy as np
import pytest
import sympy
from mpmath import mp
from scipy.special import ndtr
from sympy import Rational, exp

import theorem_engine as te
from theorem_engine.backends import get_backend
from theorem_engine.backends.float64 import token_mean
from theorem_engine.base.errors import BadNumber, NotAvailable, OutOfDomain
from theorem_engine.language.lengths import Distribution
from theorem_engine.language.operators.token_layout import make_layout
from theorem_engine.language.operators.token_mean import Hardmax, LengthMean, TokenMean, Tokens
from theorem_engine.numerics.laplace import sums as laplace
from theorem_engine.numerics.quadrature import trapezoid_line

L = sympy.Symbol("L", positive=True)
x, z, w, p, s, c, m = sympy.symbols("x z w p s c m", positive=True)
FLOAT = get_backend("float64")


def fixed(n):
    return Distribution(((n, 1),))


def value(expression, **letters):
    symbols = sorted(expression.free_symbols, key=str)
    return float(FLOAT.function(symbols, [expression])(*[letters[str(q)] for q in symbols])[0])


def weights_of(scores):
    kernel = np.exp(scores - scores.max(axis=1, keepdims=True))
    return kernel / kernel.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n", [1, 2, 5, 40, 10**6, 10**12])
@pytest.mark.parametrize("slope", [0.1, 0.7, 3.0, 30.0])
def test_all_weights_sum_to_one(n, slope):
    """Through the hidden token and the sum over the others, with a shifted hidden token."""
    tokens = Tokens(L, (x,), {w: (s * x, s * x + c)})
    total = tokens.mean(hidden=w) + tokens.mean(hidden=1, each=(w,))
    assert value(total, s=slope, c=1.5, L=fixed(n)) == pytest.approx(1, rel=1e-13)


@pytest.mark.parametrize("few", [0, 10_000])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("slope", [0.4, -1.0, 4.0, 25.0])
def test_the_lattice_form_equals_the_dense_form(slope, stride, few, monkeypatch):
    """Brackets of an exponential kernel, with and without a factor, from negligible to overwhelming v.

    Both ways of summing: a window of the nodes, and all of them.
    """
    monkeypatch.setattr(laplace, "FEW", few)
    u = (np.arange(-120 // stride, 120 // stride) * stride + 0.375) * laplace.H
    asked = [(0, 0), (1, 0), (2, 0), (1, 1)]
    lattice = laplace.LatticeToken(slope, 0.8, -12.0, 12.0, lambda x: [x**2], asked)(u)
    step = laplace.H / max(abs(slope), 1)
    nodes = np.arange(-int(12 / step), int(12 / step) + 1) * step
    factors = [None, nodes**2]
    weights = laplace.normal_weights(nodes, step)
    dense = laplace.DenseToken(nodes, weights, 0.8 + slope * nodes, [(k, factors[f]) for k, f in asked])(u)
    for a, b in zip([lattice.survival, lattice.complement, *lattice.values],
                    [dense.survival, dense.complement, *dense.values], strict=True):  # fmt: skip
        assert np.allclose(a, b, rtol=1e-11, atol=1e-18)


@pytest.mark.parametrize("slope", [0.05, 0.37, 1.3, 6.0])
def test_a_search_for_the_nodes_that_count_changes_nothing(slope, monkeypatch):
    """Sums over all nodes and over those a search has left, from flat to steep exponential kernels."""
    tokens = Tokens(L, (x,), {w: (s * x, s * x + c)})
    means = [tokens.mean(hidden=w**2 * x), tokens.mean(hidden=1, each=(w * x, w * x)), tokens.mean(hidden=w)]
    found = []
    for most in (0, 10**9):
        monkeypatch.setattr(token_mean, "UNSEARCHED", most)
        found.append(FLOAT.function([L, s, c], means)(fixed(4), slope, 2.0))
    assert np.allclose(*found, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("slope", [0.05, 0.37])
def test_flat_exponential_kernels_have_the_digits_of_multiprecision(slope):
    mean = Tokens(L, (x,), {w: (s * x, s * x + c)}).mean(hidden=w**2 * x)
    slow = get_backend("multiprecision").function([L, s, c], [mean])
    with mp.workdps(20):
        exact = slow(fixed(3), mp.mpf(slope), mp.mpf("1.5"))[0]
    assert value(mean, s=slope, c=1.5, L=fixed(3)) == pytest.approx(float(exact), rel=1e-13)


def test_the_first_halving_of_the_trapezoid_rule_may_be_one_call():
    """The same integrals, stacked or listed, from one call less."""
    sizes = []

    def integrand(u):
        sizes.append(u.size)
        return np.stack([np.exp(-(u**2)), u * np.exp(-((u - 1) ** 2))])

    ((stacked, errors),) = trapezoid_line(lambda u: [integrand(u)], -8.0, 9.0, 0.5, in_one_call=True)
    assert len(sizes) == 1
    listed = trapezoid_line(lambda u: list(integrand(u)), -8.0, 9.0, 0.5)
    assert len(sizes) == 3
    assert sizes[0] == sizes[1] + sizes[2]
    assert np.allclose(stacked, [v for v, _ in listed], rtol=1e-15)
    assert np.allclose(stacked, math.sqrt(math.pi), rtol=1e-14)
    assert (errors < 1e-14).all()


def test_two_tokens_have_a_closed_form():
    """E sech^2(nu z / sqrt 2)/2 for two equal tokens, by direct quadrature."""
    grid = np.linspace(-12, 12, 200001)
    direct = np.trapezoid(np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi) / np.cosh(1.7 * grid / np.sqrt(2)) ** 2 / 2, grid)
    assert value(Tokens(L, (x,), {w: s * x}).mean(each=(w, w)), s=1.7, L=fixed(2)) == pytest.approx(direct, rel=1e-12)


@pytest.mark.parametrize(
    ("factors", "sample"),
    [
        ({"hidden": w}, lambda t, x: t[:, 0]),
        ({"hidden": w**2 * x}, lambda t, x: t[:, 0] ** 2 * x[:, 0]),
        ({"hidden": 1, "each": (w**2,)}, lambda t, x: (t[:, 1:] ** 2).sum(axis=1)),
        ({"hidden": x, "each": (w * x,)}, lambda t, x: x[:, 0] * (t * x)[:, 1:].sum(axis=1)),
        (
            {"hidden": 1, "each": (w * x, w * x)},
            lambda t, x: (t * x)[:, 1:].sum(axis=1) ** 2 - ((t * x)[:, 1:] ** 2).sum(axis=1),
        ),
    ],
)
def test_one_weight_agrees_with_sampling(factors, sample):
    """False alarms: five cases at five standard errors, 3e-6 in all."""
    rng = np.random.default_rng(5)
    normal = rng.standard_normal((200_000, 4))
    scores = 1.3 * normal
    scores[:, 0] += 0.9
    values = sample(weights_of(scores), normal)
    exact = value(Tokens(L, (x,), {w: (s * x, s * x + c)}).mean(**factors), s=1.3, c=0.9, L=fixed(4))
    assert abs(values.mean() - exact) < 5 * values.std() / math.sqrt(len(values))


def test_two_weights_agree_with_sampling():
    """False alarms: three cases at five standard errors, 2e-6 in all."""
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((2, 200_000, 4))
    soft, other = weights_of(2 * a), weights_of(0.9 * a + 0.7 * b)
    tokens = Tokens(L, (x, z), {p: 2 * x, w: Rational(9, 10) * x + Rational(7, 10) * z})
    cases = [
        (tokens.mean(each=(p * w,)), (soft * other).sum(axis=1)),
        (tokens.mean(each=(p * w * z * x,)), (soft * other * a * b).sum(axis=1)),
        (
            tokens.mean(each=(p * z, w * x)),
            (soft * b).sum(axis=1) * (other * a).sum(axis=1) - (soft * b * other * a).sum(axis=1),
        ),
    ]
    for mean, values in cases:
        exact = value(mean, L=fixed(4))
        assert abs(values.mean() - exact) < 5 * values.std() / math.sqrt(len(values))


@pytest.mark.parametrize(("slope", "n"), [(1.0, 3), (5.0, 10), (5.0, 10**6)])
def test_two_equal_weights_are_one_weight(slope, n):
    pair = Tokens(L, (x,), {p: s * x, w: m * x}).mean(each=(p, w))
    single = Tokens(L, (x,), {w: s * x}).mean(each=(w, w))
    assert value(pair, s=slope, m=slope, L=fixed(n)) == pytest.approx(value(single, s=slope, L=fixed(n)), rel=1e-12)


def test_the_argmax_is_the_limit_of_a_steep_weight():
    hard = value(Tokens(L, (x,), {p: Hardmax(x), w: 2 * x}).mean(each=(p * w,)), L=fixed(3))
    errors = [
        abs(value(Tokens(L, (x,), {p: s * x, w: 2 * x}).mean(each=(p * w,)), s=steep, L=fixed(3)) - hard)
        for steep in (10.0, 20.0)
    ]
    assert errors[1] < 0.3 * errors[0]
    assert errors[0] < 0.02


def test_the_mean_maximum_of_normals_is_known():
    mean = Tokens(L, (x,), {p: Hardmax(x)}).mean(each=(p * x,))
    assert value(mean, L=fixed(2)) == pytest.approx(1 / math.sqrt(math.pi), rel=1e-13)
    assert value(mean, L=fixed(3)) == pytest.approx(1.5 / math.sqrt(math.pi), rel=1e-13)


def test_a_vanishing_kernel_gives_no_weight():
    """Normalised positive parts: all tokens negative has probability 2^-L, and then nobody is attended."""
    y = sympy.Symbol("y", real=True)
    tokens = Tokens(L, (y,), {w: sympy.Piecewise((sympy.log(y), y > 0), (-sympy.oo, True))}, breaks=(0, 0))
    assert value(tokens.mean(each=(w,)), L=fixed(3)) == pytest.approx(7 / 8, rel=1e-12)


def test_a_constant_in_the_sum_takes_its_share():
    """Softmax plus one against sampling; false alarm 6e-7."""
    rng = np.random.default_rng(7)
    kernel = np.exp(0.8 * rng.standard_normal((200_000, 3)))
    values = kernel[:, 0] / (1 + kernel.sum(axis=1))
    exact = value(Tokens(L, (x,), {w: (s * x, s * x)}, extra=1).mean(hidden=w), s=0.8, L=fixed(3))
    assert abs(values.mean() - exact) < 5 * values.std() / math.sqrt(len(values))


@pytest.mark.parametrize("letter", [s, c])
@pytest.mark.parametrize(
    "factors", [{"hidden": w}, {"hidden": 1, "each": (w**2,)}, {"hidden": w * x, "each": (w * x,)}]
)
def test_derivatives_of_one_weight_are_derivatives(letter, factors):
    mean = Tokens(L, (x,), {w: (s * x, s * x + c)}).mean(**factors)
    here = {"s": 1.1, "c": 0.6, "L": fixed(5)}
    step = 1e-4
    up, down, far_up, far_down = (
        value(mean, **{**here, letter.name: here[letter.name] + k * step}) for k in (1, -1, 2, -2)
    )
    numeric = (8 * (up - down) - (far_up - far_down)) / (12 * step)
    assert value(mean.diff(letter), **here) == pytest.approx(numeric, rel=1e-9, abs=1e-11)


def test_derivatives_of_two_weights_are_derivatives():
    mean = Tokens(L, (x, z), {p: 2 * x, w: m * x + s * z}).mean(each=(p * w,))
    here = {"m": 0.8, "s": 0.5, "L": fixed(4)}
    for letter in (m, s):
        up, down = (value(mean, **{**here, letter.name: here[letter.name] + k * 1e-4}) for k in (1, -1))
        assert value(mean.diff(letter), **here) == pytest.approx((up - down) / 2e-4, rel=1e-6)


def test_a_distribution_of_lengths_is_a_mean_of_lengths():
    mean = Tokens(L, (x,), {w: s * x}).mean(each=(w, w))
    alone = [value(mean, s=1.4, L=fixed(n)) for n in (1, 2, 5)]
    mixed = Distribution(((1, Rational(1, 4)), (2, Rational(1, 4)), (5, Rational(1, 2))))
    assert value(mean, s=1.4, L=mixed) == pytest.approx((alone[0] + alone[1]) / 4 + alone[2] / 2, rel=1e-14)


def test_means_over_lengths_nest():
    n, k = sympy.symbols("n k", positive=True)
    double = LengthMean(LengthMean(n * k / (n + k - 1), L, n), L, k)
    uniform = Distribution(tuple((i, Rational(1, 3)) for i in (1, 2, 3)))
    direct = sum(i * j / (i + j - 1) for i in (1, 2, 3) for j in (1, 2, 3)) / 9
    assert value(double, L=uniform) == pytest.approx(direct, rel=1e-15)


def test_many_digits_agree_with_double_precision_and_with_more_digits():
    tokens = Tokens(L, (x,), {w: (s * x, s * x + c)})
    means = [tokens.mean(hidden=1, each=(w,)), tokens.mean(hidden=w * x**2)]
    symbols = [L, c, s]
    slow = get_backend("multiprecision").function(symbols, means)
    quick = FLOAT.function(symbols, means)(fixed(6), 0.75, 1.25)
    found = []
    for digits in (25, 40):
        with mp.workdps(digits):
            found.append(slow(fixed(6), mp.mpf("0.75"), mp.mpf("1.25")))
    for a, b, q in zip(*found, quick, strict=True):
        assert abs(a - b) < mp.mpf(10) ** -23
        assert float(b) == pytest.approx(float(q), rel=1e-14)


def test_a_curved_kernel_has_many_digits_too():
    kernel = te.log_softplus(s * x)
    mean = Tokens(L, (x,), {w: (kernel, kernel)}).mean(hidden=w**2)
    slow = get_backend("multiprecision").function([L, s], [mean])
    with mp.workdps(20):
        exact = slow(fixed(3), mp.mpf("0.9"))[0]
    assert value(mean, s=0.9, L=fixed(3)) == pytest.approx(float(exact), rel=1e-14)


def test_the_cost_does_not_grow_with_the_length(monkeypatch):
    """Entries of the tables, counted: the exponent of the cost in L is below 0.1."""
    counts = []
    original = laplace.LatticeToken.__call__

    def counting(self, u):
        counts.append(u.size)
        return original(self, u)

    monkeypatch.setattr(laplace.LatticeToken, "__call__", counting)
    mean = Tokens(L, (x,), {w: (s * x, s * x + c)}).mean(hidden=1, each=(w,))
    totals = []
    for n in (10, 10**4, 10**8, 10**12):
        counts.clear()
        value(mean, s=math.sqrt(5), c=5.0, L=fixed(n))
        totals.append(sum(counts))
    slope = np.polyfit(np.log([10, 10**4, 10**8, 10**12]), np.log(totals), 1)[0]
    assert slope < 0.1


def test_brackets_share_what_derivatives_have_in_common():
    mean = Tokens(L, (x,), {w: (s * x, s * x + c)}).mean(hidden=w)
    everything = sorted((mean + mean.diff(s) + mean.diff(c)).atoms(TokenMean), key=str)
    layout = make_layout(everything)
    assert len(layout.brackets[0]) + len(layout.brackets[1]) <= 8


def test_factors_must_be_polynomials_in_the_weights():
    mean = Tokens(L, (x,), {w: s * x}).mean(each=(exp(w),))
    with pytest.raises(TypeError, match="polynomial"):
        make_layout([mean])


def test_running_integrals_are_integrals():
    from theorem_engine.numerics.laplace.argmax import Panels

    panels = Panels(np.linspace(-9, 9, 37))
    density = np.exp(-(panels.x**2) / 2) / np.sqrt(2 * np.pi)
    assert np.max(np.abs(panels.cumulative(density) - ndtr(panels.x))) < 1e-14


@pytest.mark.parametrize("kernel", [-sympy.Symbol("t"), exp(-sympy.Symbol("t"))])
def test_a_kernel_that_is_negative_or_falls_is_refused(kernel):
    with pytest.raises(OutOfDomain, match="kernel"):
        te.Normalised(kernel)


def test_a_kernel_is_checked_where_the_tokens_reach():
    """Positive around zero, negative far left: fine for narrow scores, refused for wide ones."""
    t = sympy.Symbol("t")
    activation = te.Normalised(t + 5)
    tokens = [Tokens(L, (x,), {w: activation.log_at(k * x)}).mean(each=(w**2,)) for k in (Rational(1, 5), 2)]
    assert 0 < value(tokens[0], L=fixed(3)) < 1
    with pytest.raises(OutOfDomain, match="not positive"):
        value(tokens[1], L=fixed(3))


def test_expressions_of_two_letters_or_with_binary_numbers_are_refused():
    with pytest.raises(BadNumber):
        te.Normalised(x * z)
    with pytest.raises(BadNumber):
        te.ElementWise(0.5 * x)


def test_an_argmax_beside_another_weight_has_no_more_digits_than_doubles():
    mean = Tokens(L, (x,), {p: Hardmax(x), w: 2 * x}).mean(each=(p * w,))
    with pytest.raises(NotAvailable, match="argmax"):
        get_backend("multiprecision").function([L], [mean])


def test_a_kernel_that_is_negative_somewhere_has_no_digits():
    mean = Tokens(L, (x,), {w: te.Normalised(sympy.Symbol("t") + 5).log_at(2 * x)}).mean(each=(w**2,))
    with mp.workdps(20), pytest.raises(OutOfDomain, match="not positive"):
        get_backend("multiprecision").function([L], [mean])(fixed(3))


def test_the_hidden_token_may_be_held_fixed_for_many_points_at_once():
    y = sympy.Symbol("y")
    mean = Tokens(L, (x,), {w: (2 * x, 2 * y)}).mean(hidden=w)
    run = FLOAT.function([L, y], [mean])
    many = run(fixed(5), np.array([-1.0, 0.3, 2.0]))[0]
    alone = [float(run(fixed(5), v)[0]) for v in (-1.0, 0.3, 2.0)]
    assert np.allclose(many, alone, rtol=1e-13, atol=0)
