"""Letters of attention regressed on its own labels (arXiv 2506.18656).

Labels y in {-1, 1}^n, tokens X = mu y^T + Z (p x n, Z standard normal), attention matrix
K = f(X^T (I + w_K w_Q^T) X / sqrt(p)) / sqrt(p) entry by entry, features X K, ridge penalty n gamma.
Rows of K pair with w_K, columns with w_Q; p/n -> c while |mu|, |w_K| and |w_Q| stay of order one.
"""

from sympy import Rational

from theorem_engine import (
    ABSENT,
    NONNEGATIVE,
    POSITIVE,
    REAL,
    Choice,
    Expression,
    Fixed,
    Integers,
    Interval,
    Vectors,
    notation,
)
from theorem_engine.registry.liao2026.methods import RankFile
from theorem_engine.registry.liao2026.readers import WeightsFile

var = notation(
    "liao2026",
    conventions=(
        "gamma is the ridge penalty over n: the penalty is n gamma |w|^2. Other papers use gamma for a standard "
        "deviation.",
        "c = p/n is dimension over tokens, the ratio of the Marchenko-Pastur law is n/p = 1/c; nu is the second moment "
        "of f.",
        "The letter d is the diagonal of the attention matrix, not a dimension; that is p.",
    ),
)
WORK = "2506.18656"

c = var("c", "c", "ratio p/n of dimension to tokens", POSITIVE, default=ABSENT, typical=(0.2, 5))
p = var("p", "p", "dimension of a token", Integers(1), default=ABSENT, typical=(200, 1600))
n = var("n", "n", "number of tokens", Integers(1), default=ABSENT, typical=(200, 1600))
gamma = var("gamma", r"\gamma", "ridge penalty over n", POSITIVE, typical=(0.1, 30))

NAMES = ("tanh", "clip", "cos", "sin", "exp-clip", "cubic-clip", "sign", "relu", "softmax", "linear")
nonlinearity = var(
    "nonlinearity", "f", "entry-wise nonlinearity, centred by its mean", Expression(NAMES), default=ABSENT
)
level = var("level", r"\ell", "level at which the nonlinearity is clipped", POSITIVE, default=ABSENT, typical=(1, 3))
r = var("r", "r", "share of the linear part in the clipped cubic", Interval(0, 1), default=ABSENT, typical=(0, 1))
a1 = var("a1", "a_1", "first Hermite coefficient E[xi f(xi)]", REAL, default=ABSENT, typical=(-1, 1))
second_moment = var(
    "second_moment", r"\nu", "second moment of the centred nonlinearity", NONNEGATIVE, default=ABSENT, typical=(1, 3)
)
a2 = var("a2", "a_2", "second Hermite coefficient E[f(xi) (xi^2 - 1)]/sqrt(2)", REAL, default=ABSENT, typical=(-1, 1))
diagonal = var(
    "diagonal", "d", "diagonal of the attention matrix at finite size", Interval(-(10**6), 10**6), default=0,
    typical=(-1, 1),
)  # fmt: skip

snr = var("snr", r"|\mu|^2", "squared norm of the signal mu", NONNEGATIVE, default=0, typical=(0, 2))
key_norm2 = var("key_norm2", "|w_K|^2", "squared norm of w_K", NONNEGATIVE, default=0, typical=(0, 2))
query_norm2 = var("query_norm2", "|w_Q|^2", "squared norm of w_Q", NONNEGATIVE, default=0, typical=(0, 2))
mu_key = var("mu_key", r"\mu^\top w_K", "inner product of mu and w_K", REAL, default=0, typical=(0, 1))
mu_query = var("mu_query", r"\mu^\top w_Q", "inner product of mu and w_Q", REAL, default=0, typical=(0, 1))
key_query = var("key_query", "w_K^\\top w_Q", "inner product of w_K and w_Q", REAL, default=0, typical=(0, 1))
weights = var(
    "weights", "W", "shorthand for the directions of w_K and w_Q",
    Choice(("aligned", "unit-aligned", "orthogonal", "none")), default=ABSENT,
)  # fmt: skip

weights_file = var(
    "weights_file",
    r"\mathrm{file}",
    "file whose W_K^T W_Q is read as identity plus rank one",
    WeightsFile(),
    default=ABSENT,
)

# weights of any multiple of the identity and any finite rank
scale = var(
    "scale", r"\varsigma", "multiple of the identity in W_K^T W_Q", Fixed(Rational(1, 1000), 1000, either_sign=True),
    default=ABSENT, typical=(0.4, 1.6),
)  # fmt: skip
keys = var(
    "keys", "k_r", "rows k_1; k_2; .. of the rank part sum k_r q_r^T, in orthonormal coordinates of which the first is "
    "along mu", Vectors(), default=ABSENT,
)  # fmt: skip
queries = var(
    "queries", "q_r", "rows q_1; q_2; .. of that rank part, in the same coordinates", Vectors(), default=ABSENT
)
rank_file = var(
    "weights_file", r"\mathrm{file}", "file whose W_K^T W_Q is read as a multiple of the identity plus finite rank",
    RankFile(), default=ABSENT,
)  # fmt: skip
label_mean = var("imbalance", r"\bar m", "mean of the labels", Interval(-1, 1), default=0, typical=(-0.9, 0.9))
third = var("third", r"\kappa_3", "third moment of the tokens' noise", REAL, default=0, typical=(-1, 1))
fourth = var("fourth", r"\kappa_4", "fourth moment of the tokens' noise", Interval(1, 10**6), default=3, typical=(2, 5))
ones = var(
    "ones", "o", "components of (1, .., 1)/sqrt(p) along the coordinates of mu, keys and queries", Vectors(most=1),
    default=ABSENT,
)  # fmt: skip

# what the ways to describe the model come to, beside letters above
a3 = var("a3", "a_3", "third Hermite coefficient E[f(xi) (xi^3 - 3 xi)]/sqrt(6)", REAL, default=ABSENT)
b2 = var("b2", "b^2", "variance of the nonlinear part, second moment less a1^2", NONNEGATIVE, default=ABSENT)
key_along = var("key_along", "k_1", "component of w_K along mu", REAL, default=ABSENT)
query_along = var("query_along", "q_1", "component of w_Q along mu", REAL, default=ABSENT)

# quantities of the statements
xi = var("xi", r"\xi", "a standard normal variable")
T = var("T", "T", "where the clipped cubic meets its level", POSITIVE)
s = var("s", "s", "eigenvalue of X^T X/p", NONNEGATIVE)
lam = var("lam", r"\lambda", "ratio n/p of tokens to dimension", POSITIVE)
penalty = var("penalty", r"\gamma", "the ridge penalty, as the fixed point sees it", POSITIVE)
kap = var("kap", r"\kappa", "linear part of the attention matrix, sqrt(c) a1")
eta0 = var("eta0", r"\eta_0", "start of eta: minus sqrt(c) (a1 - d)")
g = var("g", "g", "effective penalty gamma + b^2 delta", POSITIVE)
e = var("e", "e", "b^2 times the normalised trace of the resolvent", NONNEGATIVE)
eta = var("eta", r"\eta", "effective constant part, eta0 + b^2 beta")
I0 = var("I0", "I_0", "mean of (1 + e s)/P")
I1 = var("I1", "I_1", "mean of s/P")
I2 = var("I2", "I_2", "mean of s B/P")
alpha = var("alpha", r"\alpha", "limit of tr Q/n")
beta = var("beta", r"\beta", "minus sqrt(c) times the limit of tr(Q K S)/n")
delta = var("delta", r"\delta", "limit of (tr S - c tr(S K Q K S))/n")
theta = var("theta", r"\theta", "length of mu over sqrt(c)", NONNEGATIVE)
A = var("A", r"\mathcal A", "limit of y^T Q y/n")
A0 = var("A0", r"\mathcal A_0", "that limit without weights")
v1 = var("v1", "v_1", "first entry of the correction's vector")
v2 = var("v2", "v_2", "second entry of the correction's vector")
M11 = var("M11", "M_{11}", "correction's matrix, query against query")
M12 = var("M12", "M_{12}", "correction's matrix, key against query")
M22 = var("M22", "M_{22}", "correction's matrix, key against key")
w = var("w", "w", "gamma + c - 1")
Delta = var("Delta", r"\Delta", "discriminant of the ridge quadratic", POSITIVE)
root = var("root", "A", "positive root of the ridge quadratic", POSITIVE)
lin = var("lin", r"\mathcal E_{\mathrm{LR},0}", "error of ridge on pure noise")
penalised = var("penalised", r"\gamma A", "gamma times that root", POSITIVE)
unseen = var("unseen", "u", "1/(1 + (1 + |mu|^2) A)", POSITIVE)
