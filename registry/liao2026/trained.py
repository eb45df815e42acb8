"""Interpolation error with the weights of a file: a multiple of the identity, finite-rank parts, and all the rest."""

from sympy import Matrix, Rational, S, sqrt

from theorem_engine import GaussianMean, Interval, Output, Start, Total, result
from theorem_engine.base.errors import OutOfDomain
from theorem_engine.language.unchecked import Unchecked
from theorem_engine.registry.liao2026.bulk import Changes, G, bulk, interpolation, rank_part
from theorem_engine.registry.liao2026.finite_rank import ASSUMES, FAR_OTHER, OURS
from theorem_engine.registry.liao2026.finite_size import STIFF
from theorem_engine.registry.liao2026.model import FILE_SIZE, LIMIT, MODEL, multiple
from theorem_engine.registry.liao2026.moments import moments_of
from theorem_engine.registry.liao2026.notation import a1, b2, diagonal, gamma, kap, lam, rank_file, var, xi
from theorem_engine.registry.liao2026.resolvent import ERROR
from theorem_engine.registry.liao2026.written import written

common = var("x_common", "x", "what two mirrored entries share of the argument of f, standard normal")
slope = var("wide_a1", "a_1^+", "slope of f on an argument that the rest widens")
variance = var("wide_b2", "b_+^2", "what that slope leaves of the variance of f")
mirrored = var("mirrored", "b_-^2", "covariance of what it leaves in an entry and in its mirror image")


def symmetric(name, latex, meaning):
    """A symmetric 3 x 3 matrix of letters."""
    letters = {
        (i, j): var(f"{name}{i + 1}{j + 1}", f"{latex}_{{{i + 1}{j + 1}}}", f"entry {i + 1}, {j + 1} of {meaning}")
        for i in range(3)
        for j in range(i, 3)
    }
    return Matrix(3, 3, lambda i, j: letters[min(i, j), max(i, j)])


#: The bulk's matrix on the directions of R^n and of R^p, the inverse of lam times the first, and what H and X invert.
H, X, K, OVER_H, OVER_X = (
    symmetric("wide_G", "G^+", "the bulk's matrix with the rest"),
    symmetric("wide_X", "X^+", "the bulk's matrix on the directions of R^p"),
    symmetric("wide_K", "K^+", "the inverse of lam G+"),
    symmetric("over_G", "(G^+)^{-1}", "the inverse of G+"),
    symmetric("over_X", "(X^+)^{-1}", "the inverse of X+"),
)
OF_H, OF_OVER_H, OF_OVER_X = (
    var(f"det_{name}", rf"\det {latex}", f"determinant of {latex}")
    for name, latex in (("G", "G^+"), ("over_G", "(G^+)^{-1}"), ("over_X", "(X^+)^{-1}"))
)
#: A rest of this root mean square is rounding.
ROUNDED = Rational(1, 10**10)
UPPER = [(i, j) for i in range(3) for j in range(i, 3)]


def equal(letters, matrix):
    """Equations of the entries of a symmetric matrix."""
    return {letters[place]: matrix[place] for place in UPPER}


def determinant(matrix):
    """The determinant of a symmetric 3 x 3 matrix, of few operations."""
    first, second, third = (matrix[0, k] for k in range(3))
    return (
        first * (matrix[1, 1] * matrix[2, 2] - matrix[1, 2] ** 2)
        - second * (second * matrix[2, 2] - matrix[1, 2] * third)
        + third * (second * matrix[1, 2] - matrix[1, 1] * third)
    )


def inverse(matrix, letter=None):
    """The inverse of a symmetric 3 x 3 matrix, with the letter of its determinant; plain products, not simplified."""
    over = determinant(matrix) if letter is None else letter
    found = {}
    for i, j in UPPER:
        (a, b), (c, d) = ([k for k in range(3) if k != place] for place in (i, j))
        minor = matrix[a, c] * matrix[b, d] - matrix[a, d] * matrix[b, c]
        found[i, j] = (-minor if (i + j) % 2 else minor) / over
    return Matrix(3, 3, lambda i, j: found[min(i, j), max(i, j)])


def covariances(matrix, here, across):
    """E[V M V] of the off-diagonal blocks V of a kernel with these variances and covariances of mirror images."""
    return Matrix([
        [here * matrix[1, 1], across * matrix[0, 1], 0], [across * matrix[0, 1], here * matrix[0, 0], 0], [0, 0, 0]
    ])  # fmt: skip


def rows(numbers):
    """Exact numbers of a matrix that a file gives."""
    return Matrix([[Rational(x) for x in row] for row in numbers])


def has_rest(m):
    """Whether there is more in a file than identity, rank parts and rounding."""
    return m.weights_file is not None and m.weights_file.spread > ROUNDED


def widened(m, file):
    """Moments of f on an argument that the rest widens, and of an entry with its mirror image."""
    if m.nonlinearity is None:
        raise OutOfDomain(
            "two moments of f do not say what it does on an argument that the weights beside identity and rank parts "
            "widen; give the nonlinearity"
        )
    wide, share = 1 + Rational(file.spread) ** 2, (1 + Rational(file.square)) / (1 + Rational(file.spread) ** 2)
    if share <= 0:
        raise OutOfDomain("the weights beside identity and rank parts are larger than the identity")
    width = multiple(m) * sqrt(wide)
    found = moments_of(m.nonlinearity, m.level, m.r, width)
    given_common = written(m.nonlinearity, m.level, m.r).mean(
        S.One, xi, width * sqrt(share) * common, width * sqrt(1 - share)
    )
    both = GaussianMean((given_common - found.mean) ** 2, common)
    return {
        slope: found.a1 / sqrt(wide),
        variance: found.rest,
        # of a symmetric rest entries and their mirror images are one
        mirrored: both - share * found.a1**2 if share < 1 - Rational(1, 10**9) else found.rest,
    }


def with_rest(m, file):
    """Equations of the bulk with the rest, and of what signal and weights make of it; the error and y^T Q y/n."""
    spread, square = Rational(file.spread) ** 2, Rational(file.square)
    coupled = slope / sqrt(lam)
    joined = Matrix([[0, coupled, 0], [coupled, 0, 0], [0, 0, 1]])
    own = (m.diagonal - slope) / sqrt(lam)
    local = Matrix([[m.gamma, own, 0], [own, 0, -1], [0, -1, 0]])
    part = rank_part(m)
    changes = Changes(m, (), part.size)
    change = part.change + rows(file.within)
    equations, u, x = changes.solved(slope * changes.tokens * change * changes.tokens.T, bulk=H)
    # what the rest takes out of the span of signal and weights and brings back
    onto, into, twice = (rows(part) for part in (file.onto, file.into, file.twice))
    seen = [changes.tokens.T * x[k] for k in range(2)]

    def returned(matrix):
        return [
            matrix[1, 1] * into * seen[0] + matrix[0, 1] * twice.T * seen[1],
            matrix[0, 1] * twice * seen[0] + matrix[0, 0] * onto * seen[1],
        ]

    for block, back in enumerate(returned(X)):
        for letter, more in zip(u[block], coupled**2 * changes.tokens * back, strict=True):
            equations[letter] += more
    moving = returned(X.applyfunc(lambda entry: Total(entry, m.gamma)))
    through = sum(coupled**2 * seen[k].dot(moving[k]) for k in range(2))
    return {
        **widened(m, file),
        OF_H: determinant(H),
        **equal(K, inverse(H, OF_H) / lam),
        **equal(OVER_X, K + joined - coupled**2 * covariances(X, spread, square)),
        OF_OVER_X: determinant(OVER_X),
        **equal(X, inverse(OVER_X, OF_OVER_X)),
        **equal(OVER_H, local + K - K * X * K - covariances(H, variance, mirrored)),
        OF_OVER_H: determinant(OVER_H),
        **equal(H, inverse(OVER_H, OF_OVER_H)),
        **equations,
    }, interpolation(m, u, H) - m.gamma**2 * through


def starts(m):
    """The bulk without the rest, from which that with it is not far."""
    if not has_rest(m):
        return {}
    bare = inverse(inverse(lam * G) + Matrix([[0, kap, 0], [kap, 0, 0], [0, 0, 1]]))
    found = {H[place]: Start(G[place]) for place in UPPER}
    return found | {X[place]: Start(bare[place]) for place in UPPER if 2 not in place}


@result(
    "liao2026.trained-weights-error",
    title="Interpolation error with the weights of a file, without and with what is left of them",
    source=OURS,
    model=MODEL.only("ratio", "moments", "signal"),
    given=(gamma, diagonal, rank_file),
    outputs={
        "error": ERROR,
        "with_rest": Output("the error with the rest of the weights, to second order in it", ERROR.range),
        "moved": Output("with_rest less error", Interval(-1, 1)),
    },
    needs={"ranked": "liao2026.finite-rank-error", "noise": "liao2026.noise-resolvent"},
    recipe=starts,
    zeros=(a1, b2, diagonal),
    requires=(FILE_SIZE,),
    assumes=ASSUMES,
    regime=LIMIT,
    warns=(FAR_OTHER, STIFF),
    costly=True,
    checks=(
        "liao2026_extensions.file_error",
        Unchecked("moved", because="the difference of two outputs, both of which are measured"),
    ),
    marks="DVN",
    notes=(
        "W_K^T W_Q = s (I + sum k_r q_r^T/s + R) is read from the file: the parts are singular values that stand out "
        "of the bulk of R, at most eight; the point of the prediction says what they are. error leaves R out.",
        "R widens the argument of f by sqrt(1 + t^2), t^2 = tr(R R^T)/p, decorrelates mirrored entries if it is not "
        "symmetric, k = tr(R^2)/p, and stands in the linear part a1+ X^T (I + R) X/p. For that part the resolvent has "
        "one more matrix X+, on the directions of R^p: X+ = (K + J - c (a1+)^2 D(X+))^(-1) with K = (lam G+)^(-1) "
        "and D as for the other noise of f, variance t^2 and covariance k; then G+ = (L + K - K X+ K - D_f(G+))^(-1).",
        "That is exact in the limit if R is a Gaussian matrix with independent pairs of mirrored entries. For every R "
        "it is right to second order on noise: orders one and two see tr R = 0, t^2 and k only. With signal and rank "
        "parts the entries of R between their directions count at first order, and what R takes out of these and "
        "brings back at second; both are read from the file.",
        "Higher orders of a structured R are not known: its third order sees tr R^3/p and tr R^2 R^T/p. A bound that "
        "always holds, but is above one unless R is small beside sqrt(gamma): |sqrt(error with R) - sqrt(error)| <= "
        "|X (K_R - K)|/sqrt(n gamma) in the operator norm, for a residual moves by no more than its features.",
    ),
)
def trained_weights_error(m, *, ranked, noise):
    """The error of finite-rank-error for the weights of a file, and the same with the rest of them."""
    error = ranked.at(m)
    if not has_rest(m):
        return {"error": error, "with_rest": error, "moved": 0}
    equations, whole = with_rest(m, m.weights_file)
    return {**bulk(m, noise), **equations, "error": error, "with_rest": whole, "moved": whole - error}
