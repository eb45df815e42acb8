"""Interpolation error of attention whose weights are any multiple of the identity plus any finite rank."""

from sympy import Eq, Integer, Piecewise, diag

from theorem_engine import Exceeds, OneOf, Source, result
from theorem_engine.registry.liao2026.bulk import Changes, bulk, interpolation, rank_part
from theorem_engine.registry.liao2026.finite_size import (
    EPS2,
    MEANING,
    REFINED,
    SAYS,
    STIFF,
    at_this_size_of_rank,
    shift_level,
)
from theorem_engine.registry.liao2026.model import ASSUMED, FILE_SIZE, LIMIT, MODEL
from theorem_engine.registry.liao2026.notation import (
    A,
    a1,
    b2,
    diagonal,
    gamma,
    keys,
    queries,
    rank_file,
    scale,
)
from theorem_engine.registry.liao2026.resolvent import ERROR

OURS = Source.unpublished("an extension of arXiv 2506.18656 v2, derived for this registry")
#: Letters of the weights, and what goes together.
WEIGHTS = (scale, keys, queries, rank_file)
WEIGHT_RULES = (
    OneOf((("keys", "queries"), ("weights_file",)), required=False, whole=True),
    OneOf((("scale",), ("weights_file",)), required=False),
)
SIGNAL = (
    "X = mu y^T + Z with Z standard normal; W_K^T W_Q = s I + sum k_r q_r^T with s != 0 and finitely many parts of "
    "order one; w absorbs W_V"
)
ASSUMES = (SIGNAL, *ASSUMED[1:])
ROWS = (
    "keys='1, 0; 0, 1/2' and queries='...' are rows k_1; k_2; .. and q_1; q_2; .. in orthonormal coordinates of the "
    "span of mu and the weights, the first coordinate along mu. Only the matrix sum k_r q_r^T counts, not its rows.",
    "The multiple s makes f(t) into f(s t), whose moments are used, and the rank part into sum k_r q_r^T/s: the error "
    "stays as it is under f(t) -> f(t/a), s -> a s, k_r -> a k_r. With s = 0 attention has no bulk of this kind.",
)
X0 = (
    "The bulk acts on vectors independent of it as a 3 x 3 matrix G (x) I, from the resolvent on pure noise. Signal "
    "and weights are of finite rank: u = (y, 0, 0) - change (G u), and the error is -gamma^2 sum (dG_ij/dgamma) "
    "<u_i, u_j>."
)


def shift(m):
    """eps2 = tr(N Sigma N^T Sigma)/p with N = s I + sum k_r q_r^T; a file has its own p."""
    file = m.weights_file
    size = m.p if m.p is not None or file is None else Integer(file.size)
    if size is None or (file is not None and not file.is_near):
        return None
    part = rank_part(m)
    scaled, spread = part.change * part.scale, diag(1 + m.snr, *[1] * (part.size - 1))
    found = (scaled * spread * scaled.T * spread).trace() / size
    return found if part.keys else Piecewise((0, Eq(m.snr, 0)), (found, True))


FAR_RANK = Exceeds(shift, shift_level, EPS2 + SAYS, MEANING, refined=at_this_size_of_rank, says=REFINED)
#: Of what is not the error on the context, or has no finite-size equation.
FAR_OTHER = Exceeds(shift, shift_level, EPS2 + SAYS + "; see liao2026.finite-size-error", MEANING)


@result(
    "liao2026.finite-rank-error",
    title="Interpolation error of attention with weights of any finite rank",
    source=OURS,
    model=MODEL.only("ratio", "moments", "signal"),
    given=(gamma, diagonal, *WEIGHTS),
    outputs={"error": ERROR, "A": "limit of y^T Q y/n"},
    needs={"noise": "liao2026.noise-resolvent"},
    zeros=(a1, b2, diagonal),
    given_rules=WEIGHT_RULES,
    requires=(FILE_SIZE,),
    assumes=ASSUMES,
    regime=LIMIT,
    warns=(FAR_RANK, STIFF),
    checks=("liao2026_extensions.extended_error",),
    marks="DVN",
    notes=(
        *ROWS, X0, "With one part and s = 1 this is the interpolation error of Theorem 1. Parts whose keys and queries "
        "are all orthogonal to mu have no effect.",
    ),
)  # fmt: skip
def finite_rank_error(m, *, noise):
    """Training error of ridge regression on attention features where W_K^T W_Q = s I + sum k_r q_r^T.

    The tokens along the weights' directions join the labels in a system of 3 (1 + d) linear equations, d being the
    number of coordinates that mu and the weights span.
    """
    part = rank_part(m)
    changes = Changes(m, (), part.size)
    equations, u, x = changes.solved(changes.linear(part.change))
    return {
        **bulk(m, noise),
        **equations,
        A: x[0].dot(changes.along("y")),
        "error": interpolation(m, u),
        "A": A,
    }
