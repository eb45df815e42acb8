"""Labels of unequal frequency together with a signal, and tokens of any third and fourth moment."""

from dataclasses import replace

from sympy import Eq, Matrix, Rational, sqrt

from theorem_engine import Alternatives, Holds, given, numbers_of, result
from theorem_engine.base.errors import OutOfDomain
from theorem_engine.registry.liao2026.bulk import Changes, bulk, interpolation, rank_part
from theorem_engine.registry.liao2026.finite_rank import (
    ASSUMES,
    FAR_RANK,
    OURS,
    ROWS,
    WEIGHT_RULES,
    WEIGHTS,
    X0,
)
from theorem_engine.registry.liao2026.finite_size import STIFF_FIXED
from theorem_engine.registry.liao2026.model import CUBIC, FILE_SIZE, FUNCTION_RULES, LIMIT, MODEL, multiple
from theorem_engine.registry.liao2026.moments import moments_of
from theorem_engine.registry.liao2026.notation import (
    A,
    a1,
    a2,
    a3,
    b2,
    fourth,
    gamma,
    label_mean,
    lam,
    level,
    nonlinearity,
    ones,
    r,
    third,
    var,
    xi,
)
from theorem_engine.registry.liao2026.resolvent import ERROR
from theorem_engine.registry.liao2026.written import written

tau = var("tau", r"\tau", "strength of the part of the kernel that the tokens' lengths make")


def coefficients(m):
    """The first two Hermite coefficients of f at the weights' multiple of its argument, and what the first leaves."""
    found = moments_of(m.nonlinearity, m.level, m.r, multiple(m))
    return {a1: found.a1, b2: found.rest, a2: found.a2}


def three_coefficients(m):
    """The same with the third."""
    f = written(m.nonlinearity, m.level, m.r)
    return {**coefficients(m), a3: f.mean((xi**3 - 3 * xi) / sqrt(6), xi, width=multiple(m))}


def curved(defines, to):
    """The model with a nonlinearity of which more than two moments are needed."""
    way = given(nonlinearity, also=(level, r), defines=defines, rules=FUNCTION_RULES, requires=(CUBIC,))
    return MODEL.only("ratio", "signal").also(moments=Alternatives(way, to=to))


CURVED = curved(coefficients, [a1, b2, a2])
LENGTHS = (
    "Given its own token, the mean of f is (a2/sqrt(2)) (|z_i|^2/p - 1): with labels of mean m != 0 the kernel has one "
    "more part tau (gh 1h^T + 1h gh^T), tau = a2/c, gh the normalised |z_i|^2 - p and 1h the normalised ones."
)
SLOW = replace(
    LIMIT,
    correction=LIMIT.correction
    + "; of order 1/sqrt(p) and of either sign where neither the labels' mean nor a1 nor a2 "
    "vanishes",
)


def with_lengths(m, part, names=(), size=None):
    """Directions for labels of mean m, and the vector of ones in them."""
    changes = Changes(m, ("o", *names), size or part.size)
    all_ones = m.imbalance * changes.along("y") + sqrt(1 - m.imbalance**2) * changes.along("o")
    return changes, all_ones


@result(
    "liao2026.imbalanced-error",
    title="Interpolation error with unbalanced labels, signal and weights",
    source=OURS,
    model=CURVED,
    given=(gamma, label_mean, *WEIGHTS),
    outputs={"error": ERROR, "A": "limit of y^T Q y/n"},
    needs={"noise": "liao2026.noise-resolvent"},
    zeros=(a1, b2, a2),
    given_rules=WEIGHT_RULES,
    requires=(FILE_SIZE,),
    assumes=ASSUMES[:2],
    regime=SLOW,
    warns=(FAR_RANK, STIFF_FIXED),
    checks=("liao2026_extensions.extended_error",),
    marks="DVN",
    notes=(
        *ROWS, X0, LENGTHS,
        "Nothing changes where the mean of the labels or a2 vanishes; m and -m are alike. Without signal this is "
        "class-imbalance. With signal the effect is smaller than on noise: the labels' own part is fitted already.",
    ),
)  # fmt: skip
def imbalanced_error(m, *, noise):
    """Training error of attention where the labels have a mean, the tokens a signal and the weights any finite rank."""
    part = rank_part(m)
    changes, all_ones = with_lengths(m, part, ("g",))
    lengths = changes.along("g")
    kernel = changes.linear(part.change) + tau * (lengths * all_ones.T + all_ones * lengths.T)
    equations, u, x = changes.solved(kernel)
    return {
        **bulk(m, noise),
        tau: m.a2 * lam,
        **equations,
        A: x[0].dot(changes.along("y")),
        "error": interpolation(m, u),
        "A": A,
    }


POSSIBLE = Holds(fourth >= 1 + third**2, "a fourth moment is at least one plus the square of the third")


def components_of_ones(m, size):
    """Coordinates of (1, .., 1)/sqrt(p) in the span, and what is left of its length outside."""
    along = () if m.ones is None else tuple(Rational(x) for x in numbers_of(m.ones))
    if len(along) > size:
        raise OutOfDomain(f"ones has {len(along)} components where mu and the weights have {size} coordinates")
    left = 1 - sum(x**2 for x in along)
    if left < 0:
        raise OutOfDomain("ones has components of a vector longer than one")
    return (*along, *[Rational(0)] * (size - len(along))), sqrt(left)


@result(
    "liao2026.token-moments-error",
    title="Interpolation error for tokens of any third and fourth moment",
    source=OURS,
    model=curved(three_coefficients, [a1, b2, a2, a3]),
    given=(gamma, label_mean, third, fourth, ones, *WEIGHTS),
    outputs={"error": ERROR, "A": "limit of y^T Q y/n"},
    needs={"noise": "liao2026.noise-resolvent"},
    zeros=(a1, b2),
    given_rules=WEIGHT_RULES,
    requires=(FILE_SIZE, POSSIBLE),
    assumes=(
        "X = mu y^T + Z, the entries of Z independent of one law with mean 0, variance 1 and finite eighth moment; mu, "
        "keys and queries are spread over many coordinates; W_K^T W_Q = s I + sum k_r q_r^T with s != 0",
        ASSUMES[1],
    ),
    regime=replace(
        SLOW, correction=SLOW.correction + "; with a third moment of order 1/sqrt(p), changing its sign with mu; slow "
        "where the eighth moment is infinite (Student 5: 0.014 and 0.007 at p = 600 and 1300)",
    ),
    warns=(FAR_RANK, STIFF_FIXED),
    checks=("liao2026_extensions.extended_error",),
    marks="DVN",
    notes=(
        *ROWS, LENGTHS,
        "Symmetric tokens: a2 becomes a2 sqrt((k4 - 1)/2) and nothing else changes, so that for random signs (k4 = 1) "
        "unbalanced labels have no effect. With balanced labels no moment has any.",
        "With a third moment k3 the lengths lean on the noise along (1, .., 1)/sqrt(p), by k3/sqrt(k4 - 1), and the "
        "kernel has one more part k3^2 a3/(sqrt(6) c) 1h 1h^T; `ones` are that vector's coordinates beside mu, keys "
        "and queries: ones=1 where mu is along it, nothing where it is orthogonal to all.",
    ),
)  # fmt: skip
def token_moments_error(m, *, noise):
    """Training error of attention where the tokens' noise is not Gaussian: two more of its moments are seen.

    They are seen with unbalanced labels only, through the tokens' lengths.
    """
    part = rank_part(m)
    along, outside = components_of_ones(m, part.size)
    size = part.size + (1 if outside else 0)
    changes, all_ones = with_lengths(m, part, ("g",), size)
    change = Matrix(size, size, lambda i, j: part.change[i, j] if max(i, j) < part.size else int(i == j))
    is_sign = m.when(Eq(m.fourth, 1))
    lean = 0 if is_sign else m.third / sqrt(m.fourth - 1)
    noise_along_ones = sum(
        (x * changes.along(f"z{k + 1}") for k, x in enumerate((*along, outside)[:size])), 0 * changes.along("y")
    )
    lengths = lean * noise_along_ones + (0 if is_sign else sqrt(1 - lean**2)) * changes.along("g")
    skew = m.third**2 * m.a3 / sqrt(6) * lam
    kernel = changes.linear(change) + tau * (lengths * all_ones.T + all_ones * lengths.T)
    equations, u, x = changes.solved(kernel + skew * all_ones * all_ones.T)
    return {
        **bulk(m, noise),
        tau: m.a2 * sqrt((m.fourth - 1) / 2) * lam,
        **equations,
        A: x[0].dot(changes.along("y")),
        "error": interpolation(m, u),
        "A": A,
    }
