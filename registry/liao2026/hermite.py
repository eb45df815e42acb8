"""What the theory needs to know of a nonlinearity: its mean and its first Hermite coefficients."""

from sympy import sqrt

from theorem_engine import NONNEGATIVE, Limit, OneOf, Output, Source, definition, lemma
from theorem_engine.registry.liao2026.model import CUBIC, FUNCTION_RULES, MODEL
from theorem_engine.registry.liao2026.moments import moments_of
from theorem_engine.registry.liao2026.notation import WORK, b2, level, nonlinearity, r


@definition(
    "liao2026.hermite",
    title="Hermite data of the nonlinearity",
    source=Source(WORK, "assumption on f", version="v2", guessed=True),
    given=(nonlinearity, level, r),
    outputs={
        "mean": "E f(xi), taken off by every entry",
        "a1": "first Hermite coefficient E[xi f(xi)]",
        "second_moment": Output("E f(xi)^2 of the centred f", NONNEGATIVE),
        "a2": "second Hermite coefficient E[f(xi) (xi^2 - 1)]/sqrt(2)",
    },
    given_rules=(OneOf((("nonlinearity",),)), *FUNCTION_RULES),
    requires=(CUBIC,),
    assumes=("xi is standard normal", "f has a finite second moment"),
    checks=("liao2026_matrices.sampled_moments",),
    marks="AV",
    aliases=("liao2026.definition-1",),
    notes=(
        "Definition 1, entry-wise attention: K = f(X^T W_K^T W_Q X/sqrt(p))/sqrt(p) entry by entry, with features X K; "
        "of f the limit sees these numbers.",
        "clip is min(max(t, -level), level); exp-clip is min(level, e^t); cubic-clip is r t + sqrt(1 - r^2) (t^3 - 3 t)"
        "/sqrt(6) clipped at +-level; softmax stands for e^(t - 1/2) - 1, the masked row-wise softmax in the limit.",
        "Clipping at 5 changes the cubic a lot: r = 0.2, 0.5, 0.8 give a1 = 0.1274, 0.4267, 0.7532, not r.",
        "For an expression of the user's own polynomials are exact, the rest Gaussian quadrature between its kinks.",
    ),
)
def hermite(nonlinearity, level, r):
    """The three numbers of a nonlinearity that survive in the limit, and its mean, which does not.

    All entries centre f by its mean; for balanced labels the mean itself is harmless.
    """
    data = moments_of(nonlinearity, level, r)
    return {"mean": data.mean, "a1": data.a1, "second_moment": data.second_moment, "a2": data.a2}


@lemma(
    "liao2026.gaussian-equivalent",
    title="Gaussian equivalent of the attention matrix",
    source=Source(WORK, "behind Proposition 1", version="v2", guessed=True),
    model=MODEL.only("moments"),
    outputs={"b": Output("standard deviation of the nonlinear part", NONNEGATIVE)},
    zeros=(b2,),
    regime=Limit(
        grows=("n", "p"), fixed=("p/n",), orders=(1,), words="n, p -> oo with p/n fixed", correction="of order 1/p"
    ),
    checks=("liao2026_matrices.nonlinear_part",),
    marks="DV",
    notes=(
        "The part -I_n is there because the diagonal of K tends to zero while that of X^T X/p tends to one.",
        "Hermite components of order two and more act together as W; only with unbalanced labels does the second "
        "leave a trace of its own (class-imbalance).",
    ),
)
def gaussian_equivalent(m):
    """K behaves as a1 (X^T (I + w_K w_Q^T) X/p - I_n) + b W, W a symmetric Gaussian matrix of variance 1/p.

    W is independent of the tokens; b^2 is the second moment of the centred f less a1^2.
    """
    return {"b": sqrt(m.b2)}
